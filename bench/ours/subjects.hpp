// Our subjects: the ways in which a program can allocate rows, from the local handle of a unique heap to the manager.
// Each has a limit, and a link count in each row unless its set says otherwise.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace bench {

using namespace allot::literals;

template <class Set> struct managed {
    static constexpr bool hands_over = true, any_order = true, one_size = true, constants = true;
    explicit managed(const job& what)
        : rows(allot::limit{what.limit()}, allot::page_bytes{1_MiB}, allot::name{"bench"}) {}
    allot::row_manager<Set> rows;
};

// What all users do; `Way` is a reference to a handle, a heap or a manager, or a handle itself.
template <class Way> struct row_user {
    using type = std::remove_reference_t<Way>;
    BENCH_INLINE void release(void* row, std::size_t) noexcept { way.release(row); }
    BENCH_INLINE void link(void* row) noexcept
        requires requires(type& w, void* p) { w.link(p); }
    {
        way.link(row);
    }
    Way way;
};
template <class Way> struct one_size_user : row_user<Way> {
    BENCH_INLINE void* allocate(std::size_t) { return this->way.allocate(); }
    BENCH_INLINE void* try_allocate(std::size_t) { return this->way.try_allocate(); }
};
// Tells the size at release, as a program that knows it would.
template <class Way> struct any_size_user : row_user<Way> {
    BENCH_INLINE void release(void* row, std::size_t bytes) noexcept { this->way.release(row, bytes); }
    BENCH_INLINE void* allocate(std::size_t bytes) { return this->way.allocate(bytes); }
    BENCH_INLINE void* try_allocate(std::size_t bytes) { return this->way.try_allocate(bytes); }
};

// heap(as<Answers...>, bytes).local()
template <class Set, class... Answers> struct local_heap_subject : managed<Set> {
    static constexpr bool any_size = false;
    using heap_type = decltype(managed<Set>::rows.heap(allot::as<Answers...>, 8));
    static constexpr bool threads = !heap_type::unique;
    explicit local_heap_subject(const job& what)
        : managed<Set>(what), heap(this->rows.heap(allot::as<Answers...>, what.bytes)) {}
    heap_type heap;

    using handle = decltype(std::declval<heap_type&>().local());
    struct user : one_size_user<handle> {
        explicit user(local_heap_subject& of) : one_size_user<handle>{{of.heap.local()}} {}
    };
};

// heap(as<Answers...>, bytes), without a handle: any thread, but where the heap is blocked
template <class Set, class... Answers> struct heap_subject : managed<Set> {
    static constexpr bool any_size = false;
    using heap_type = decltype(managed<Set>::rows.heap(allot::as<Answers...>, 8));
    static constexpr bool threads = !heap_type::blocked;
    explicit heap_subject(const job& what)
        : managed<Set>(what), heap(this->rows.heap(allot::as<Answers...>, what.bytes)) {}
    heap_type heap;

    struct user : one_size_user<heap_type&> {
        explicit user(heap_subject& of) noexcept : one_size_user<heap_type&>{{of.heap}} {}
    };
};

// rows.local()
template <class Set> struct local_rows_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    using managed<Set>::managed;

    struct user : any_size_user<allot::local_rows<Set>> {
        explicit user(local_rows_subject& of) : any_size_user<allot::local_rows<Set>>{{of.rows.local()}} {}
    };
};

// rows.allocate, rows.release
template <class Set> struct manager_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    using managed<Set>::managed;

    struct user : any_size_user<allot::row_manager<Set>&> {
        explicit user(manager_subject& of) noexcept : any_size_user<allot::row_manager<Set>&>{{of.rows}} {}
    };
};

// allot::link, allot::release: rows by their address alone, as row_ptr does it
template <class Set> struct free_functions_subject : manager_subject<Set> {
    using manager_subject<Set>::manager_subject;
    struct user : manager_subject<Set>::user {
        explicit user(free_functions_subject& of) noexcept : manager_subject<Set>::user(of) {}
        BENCH_INLINE void link(void* row) noexcept { allot::link(row); }
        BENCH_INLINE void release(void* row, std::size_t) noexcept { allot::release(row); }
    };
};

} // namespace bench
