// Stubs for refused products: every member of the library, accepting anything, so that one mistake gives one error.
//
// A product of a refused set derives from refused<Set, Product> (core/diagnose.hpp) and has these members; a refused
// heap is `anything`. Only declarations are needed, because the program does not compile. Add each new public member of
// a product here, or its use is a second error.
// Source: the all-convertible `error` of foonathan/memory's allocator_traits, 2015.
#pragma once

#include <allot/config.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace detail {

struct anything;
struct any_object;

template <class T> struct stub_pointer {
    T* operator->() const noexcept;
    T& operator*() const noexcept;
    T* get() const noexcept;
    template <class Other> operator Other() const noexcept;
};

// For a parameter that callers pass as a braced list, too.
struct any_argument {
    template <class... As> any_argument(As&&...) noexcept;
};

struct stub_members {
    // rows and bytes
    template <class... As> anything allocate(As&&...) const noexcept;
    template <class... As> anything try_allocate(As&&...) const noexcept;
    template <class... As> anything allocate_for(As&&...) const noexcept;
    template <class... As> anything deallocate(As&&...) const noexcept;
    template <class... As> anything link(As&&...) const noexcept;
    template <class... As> anything release(As&&...) const noexcept;
    template <class... As> anything finalize(As&&...) const noexcept;
    template <class... As> anything is_shared(As&&...) const noexcept;
    template <class... As> anything capacity(As&&...) const noexcept;
    template <class... As> anything capacity_for(As&&...) const noexcept;
    template <class T, class... As> stub_pointer<T> make(As&&...) const noexcept;
    template <class... As> anything heap(As&&...) const noexcept;
    template <class... As> anything local(As&&...) const noexcept;
    template <class... As> anything release_all(As&&...) const noexcept;
    template <class... As> anything release_empty_pages(As&&...) const noexcept;
    template <class... As> anything flush(As&&...) const noexcept;
    template <class... As> anything try_resize(As&&...) const noexcept;
    anything compact(any_argument rows = {}, any_argument budget = {}) const noexcept;
    // arrays of rows, compactors
    template <class... As> anything push_back(As&&...) const noexcept;
    template <class... As> anything try_push_back(As&&...) const noexcept;
    template <class... As> anything reserve(As&&...) const noexcept;
    template <class... As> anything try_reserve(As&&...) const noexcept;
    template <class... As> anything shrink_to_fit(As&&...) const noexcept;
    template <class... As> anything clear(As&&...) const noexcept;
    template <class... As> anything size(As&&...) const noexcept;
    template <class... As> anything empty(As&&...) const noexcept;
    template <class... As> anything read(As&&...) const noexcept;
    template <class... As> anything lock(As&&...) const noexcept;
    template <class... As> anything try_lock(As&&...) const noexcept;
    template <class... As> anything try_lock_to_evict(As&&...) const noexcept;
    template <class... As> anything rows(As&&...) const noexcept;
    template <class... As> anything take_front(As&&...) const noexcept;
    template <class... As> anything add(As&&...) const noexcept;
    template <class... As> anything remove(As&&...) const noexcept;
    template <class... As> anything last(As&&...) const noexcept;
    void** begin() const noexcept;
    void** end() const noexcept;
    // pages
    template <class... As> anything take(As&&...) const noexcept;
    template <class... As> anything give(As&&...) const noexcept;
    template <class... As> anything grow_up(As&&...) const noexcept;
    template <class... As> anything trim(As&&...) const noexcept;
    template <class... As> anything returned(As&&...) const noexcept;
    template <class... As> anything contains(As&&...) const noexcept;
    template <class... As> anything page_bytes(As&&...) const noexcept;
    template <class... As> anything page_shift(As&&...) const noexcept;
    template <class... As> anything page_kind(As&&...) const noexcept;
    template <class... As> anything arena(As&&...) const noexcept;
    // chunks
    template <class... As> anything resize(As&&...) const noexcept;
    template <class... As> anything chunk_bytes(As&&...) const noexcept;
    // devices
    template <class... As> anything leave(As&&...) const noexcept;
    template <class... As> anything release_captured(As&&...) const noexcept;
    template <class... As> anything visit_streams(As&&...) const noexcept;
    template <class... As> anything device(As&&...) const noexcept;
    template <class... As> anything api(As&&...) const noexcept;
    template <class... As> anything last_error(As&&...) const noexcept;
    // stats and reports
    template <class... As> anything used(As&&...) const noexcept;
    template <class... As> anything peak(As&&...) const noexcept;
    template <class... As> anything limit(As&&...) const noexcept;
    template <class... As> anything set_limit(As&&...) const noexcept;
    template <class... As> anything live_rows(As&&...) const noexcept;
    template <class... As> anything pages(As&&...) const noexcept;
    template <class... As> anything resident(As&&...) const noexcept;
    template <class... As> anything usage(As&&...) const noexcept;
    template <class... As> anything stats(As&&...) const noexcept;
    template <class... As> anything report(As&&...) const noexcept;
    template <class... As> anything usage_by_type(As&&...) const noexcept;
    template <class... As> anything usage_at_peak(As&&...) const noexcept;
    template <class... As> anything visit_pages(As&&...) const noexcept;
    template <class... As> anything visit_trace(As&&...) const noexcept;
    template <class... As> anything trace_events(As&&...) const noexcept;
    template <class... As> anything state_of(As&&...) const noexcept;
    template <class... As> anything charges(As&&...) const noexcept;
    template <class... As> anything name(As&&...) const noexcept;
    template <class... As> any_object& account(As&&...) const noexcept;
    template <class... As> anything valid(As&&...) const noexcept;
};

// The result of a stub member: it converts to any type.
struct anything : stub_members {
    template <class T> operator T() const noexcept;
    template <class... As> anything operator()(As&&...) const noexcept;
    anything operator*() const noexcept;
    const anything* operator->() const noexcept;
};

// The result of a stub member that returns a reference.
struct any_object : anything {
    template <class T> operator T&() const noexcept;
};

template <class A, class B> concept with_anything = std::is_same_v<A, anything> || std::is_same_v<B, anything>;

template <class A, class B>
    requires with_anything<A, B>
bool operator==(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
bool operator<(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
bool operator>(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
bool operator<=(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
bool operator>=(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
anything operator+(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
anything operator-(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
anything operator*(const A&, const B&) noexcept;
template <class A, class B>
    requires with_anything<A, B>
anything operator/(const A&, const B&) noexcept;

} // namespace detail

} // namespace allot::inline ALLOT_ABI
