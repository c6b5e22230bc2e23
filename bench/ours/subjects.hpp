// Our subjects: the ways in which a program can allocate rows, from the local handle of a unique heap to the manager.
// Each has a limit, and a link count in each row unless its set says otherwise.
#pragma once

#include <harness/counted_over.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <memory_resource>
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
// Sized: the release gets the row's size, too.
template <class Way, bool Sized> struct any_size_user : row_user<Way> {
    BENCH_INLINE void release(void* row, std::size_t bytes) noexcept {
        if constexpr (Sized) this->way.release(row, bytes);
        else this->way.release(row);
    }
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
template <class Set, bool Sized = false> struct local_rows_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    using managed<Set>::managed;

    using way = any_size_user<allot::local_rows<Set>, Sized>;
    struct user : way {
        explicit user(local_rows_subject& of) : way{{of.rows.local()}} {}
    };
};

// rows.allocate, rows.release
template <class Set, bool Sized = false> struct manager_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    using managed<Set>::managed;

    using way = any_size_user<allot::row_manager<Set>&, Sized>;
    struct user : way {
        explicit user(manager_subject& of) noexcept : way{{of.rows}} {}
    };
};

// A std::pmr::memory_resource over the manager, called as containers call it. 16 bytes of alignment are the fallback of
// a memory_resource, and what malloc has.
template <class Set, std::size_t Align = alignof(std::max_align_t)> struct pmr_face_subject : managed<Set> {
    static constexpr bool any_size = true, threads = true;
    static bool fits(const job& what) noexcept { return what.of->id != work::single; } // the limit is an exception
    explicit pmr_face_subject(const job& what) : managed<Set>(what), resource(this->rows) {}
    allot::adapt::memory_resource<allot::row_manager<Set>> resource;

    struct user {
        explicit user(pmr_face_subject& of) noexcept : resource(&of.resource) {}
        BENCH_INLINE void* allocate(std::size_t bytes) { return resource->allocate(bytes, Align); }
        BENCH_INLINE void release(void* row, std::size_t bytes) { resource->deallocate(row, bytes, Align); }
        std::pmr::memory_resource* resource;
    };
};

// Rows of a set without a count, with the count that a program writes in front of them, as in the rows of peers.
template <class Subject> struct with_program_count : Subject {
    static constexpr bool constants = false;
    static bool fits(const job& what) noexcept { return what.of->id != work::single; }
    explicit with_program_count(const job& what) : Subject(larger(what)) {}

    struct user : counted_over<true, typename Subject::user> {
        explicit user(with_program_count& of) : counted_over<true, typename Subject::user>(of) {}
    };

  private:
    static job larger(job what) noexcept {
        if (!what.mixed()) what.bytes += user::header;
        return what;
    }
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
