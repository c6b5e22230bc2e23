// Our subjects: the ways a program can reach rows, from a unique heap's local handle to the manager itself.
// Each carries a link count in every row and stands under a limit.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>

namespace bench {

using namespace allot::literals;

struct bitmap_rows : allot::policies<allot::slots::bitmap> {};
struct linked_rows : allot::policies<allot::slots::linked> {};
struct guarded_rows
    : allot::policies<allot::slots::linked, allot::guard::all<allot::guard::encoded, allot::guard::canary>> {};
struct thread_rows : allot::policies<allot::slots::bitmap, allot::heap::per_thread> {};

template <class Set> struct managed {
    static constexpr bool hands_over = true, any_order = true, one_size = true;
    allot::row_manager<Set> rows{allot::limit{2_GiB}, allot::page_bytes{1_MiB}, allot::name{"bench"}};
};

// heap(as<Answers...>, bytes).local()
template <class Set, class... Answers> struct local_heap_subject : managed<Set> {
    static constexpr bool any_size = false;
    using heap_type = decltype(managed<Set>::rows.heap(allot::as<Answers...>, 8));
    static constexpr bool threads = !heap_type::unique;
    explicit local_heap_subject(const job& what) : heap(this->rows.heap(allot::as<Answers...>, what.bytes)) {}
    heap_type heap;

    struct user {
        explicit user(local_heap_subject& of) : handle(of.heap.local()) {}
        BENCH_INLINE void* allocate(std::size_t) { return handle.allocate(); }
        BENCH_INLINE void release(void* row) noexcept { handle.release(row); }
        decltype(std::declval<heap_type&>().local()) handle;
    };
};

// heap(bytes), without a handle: any thread
template <class Set> struct heap_subject : managed<Set> {
    static constexpr bool any_size = false, threads = true;
    explicit heap_subject(const job& what) : heap(this->rows.heap(what.bytes)) {}
    decltype(managed<Set>::rows.heap(8)) heap;

    struct user {
        explicit user(heap_subject& of) noexcept : heap(of.heap) {}
        BENCH_INLINE void* allocate(std::size_t) { return heap.allocate(); }
        BENCH_INLINE void release(void* row) noexcept { heap.release(row); }
        decltype(managed<Set>::rows.heap(8))& heap;
    };
};

// rows.local()
template <class Set> struct local_rows_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    explicit local_rows_subject(const job&) {}

    struct user {
        explicit user(local_rows_subject& of) : handle(of.rows.local()) {}
        BENCH_INLINE void* allocate(std::size_t bytes) { return handle.allocate(bytes); }
        BENCH_INLINE void release(void* row) noexcept { handle.release(row); }
        allot::local_rows<Set> handle;
    };
};

// rows.allocate, rows.release
template <class Set> struct manager_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    explicit manager_subject(const job&) {}

    struct user {
        explicit user(manager_subject& of) noexcept : rows(of.rows) {}
        BENCH_INLINE void* allocate(std::size_t bytes) { return rows.allocate(bytes); }
        BENCH_INLINE void release(void* row) noexcept { rows.release(row); }
        allot::row_manager<Set>& rows;
    };
};

} // namespace bench
