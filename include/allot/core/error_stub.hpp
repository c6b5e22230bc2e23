// Stubs for refused products: every member of the library, accepting anything, so that one mistake gives one error.
//
// A product of a refused set derives from refused<Set, Product> (core/diagnose.hpp) and has these members; a refused
// heap is `anything`. Only declarations are needed, because the program does not compile. The names are read from the
// classes, by tests/layers/stub_has_every_member.py --update.
// Source: the all-convertible `error` of foonathan/memory's allocator_traits, 2015.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
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
    template <class T, class... As> stub_pointer<T> make(As&&...) const noexcept;
    anything compact(any_argument rows = {}, any_argument budget = {}) const noexcept;
    void** begin() const noexcept;
    void** end() const noexcept;
    template <class... As> any_object& account(As&&...) const noexcept;
    // generated: the public functions and constants of products
    static constexpr std::size_t any = 1;
    static constexpr std::size_t blocked = 1;
    static constexpr std::size_t default_chunk_bytes = 1;
    static constexpr std::size_t host_access = 1;
    static constexpr std::size_t idle = 1;
    static constexpr std::size_t max_align = 1;
    static constexpr std::size_t max_block_bytes = 1;
    static constexpr std::size_t max_growth_step = 1;
    static constexpr std::size_t unique = 1;
    static constexpr std::size_t unit = 1;
    template <class... As> anything add(As&&...) const noexcept;
    template <class... As> anything allocate(As&&...) const noexcept;
    template <class... As> anything allocate_for(As&&...) const noexcept;
    template <class... As> anything api(As&&...) const noexcept;
    template <class... As> anything arena(As&&...) const noexcept;
    template <class... As> anything arrived(As&&...) const noexcept;
    template <class... As> anything ask_others(As&&...) const noexcept;
    template <class... As> anything ask_tenants(As&&...) const noexcept;
    template <class... As> anything asked(As&&...) const noexcept;
    template <class... As> anything calls(As&&...) const noexcept;
    template <class... As> anything capacity(As&&...) const noexcept;
    template <class... As> anything capacity_for(As&&...) const noexcept;
    template <class... As> anything capacity_resized(As&&...) const noexcept;
    template <class... As> anything charges(As&&...) const noexcept;
    template <class... As> anything chunk_bytes(As&&...) const noexcept;
    template <class... As> anything clear(As&&...) const noexcept;
    template <class... As> anything climb(As&&...) const noexcept;
    template <class... As> anything close(As&&...) const noexcept;
    template <class... As> anything coming(As&&...) const noexcept;
    template <class... As> anything contains(As&&...) const noexcept;
    template <class... As> anything cost(As&&...) const noexcept;
    template <class... As> anything deallocate(As&&...) const noexcept;
    template <class... As> anything describe(As&&...) const noexcept;
    template <class... As> anything describe_failure(As&&...) const noexcept;
    template <class... As> anything device(As&&...) const noexcept;
    template <class... As> anything empty(As&&...) const noexcept;
    template <class... As> anything end_pause(As&&...) const noexcept;
    template <class... As> anything failed(As&&...) const noexcept;
    template <class... As> anything finalize(As&&...) const noexcept;
    template <class... As> anything flush(As&&...) const noexcept;
    template <class... As> anything freed(As&&...) const noexcept;
    template <class... As> anything frees_alone(As&&...) const noexcept;
    template <class... As> anything give(As&&...) const noexcept;
    template <class... As> anything give_slid(As&&...) const noexcept;
    template <class... As> anything grow_up(As&&...) const noexcept;
    template <class... As> anything has_payer(As&&...) const noexcept;
    template <class... As> anything headers_out_of_band(As&&...) const noexcept;
    template <class... As> anything heap(As&&...) const noexcept;
    template <class... As> anything helps(As&&...) const noexcept;
    template <class... As> anything is_shared(As&&...) const noexcept;
    template <class... As> anything is_taken(As&&...) const noexcept;
    template <class... As> anything kept(As&&...) const noexcept;
    template <class... As> anything last(As&&...) const noexcept;
    template <class... As> anything last_error(As&&...) const noexcept;
    template <class... As> anything leave(As&&...) const noexcept;
    template <class... As> anything lender_to(As&&...) const noexcept;
    template <class... As> anything level(As&&...) const noexcept;
    template <class... As> anything limit(As&&...) const noexcept;
    template <class... As> anything link(As&&...) const noexcept;
    template <class... As> anything live_rows(As&&...) const noexcept;
    template <class... As> anything local(As&&...) const noexcept;
    template <class... As> anything lock(As&&...) const noexcept;
    template <class... As> anything locked(As&&...) const noexcept;
    template <class... As> anything name(As&&...) const noexcept;
    template <class... As> anything nanoseconds(As&&...) const noexcept;
    template <class... As> anything owner_of(As&&...) const noexcept;
    template <class... As> anything page_bytes(As&&...) const noexcept;
    template <class... As> anything page_count(As&&...) const noexcept;
    template <class... As> anything page_kind(As&&...) const noexcept;
    template <class... As> anything page_mask(As&&...) const noexcept;
    template <class... As> anything page_shift(As&&...) const noexcept;
    template <class... As> anything pages(As&&...) const noexcept;
    template <class... As> anything peak(As&&...) const noexcept;
    template <class... As> anything push_back(As&&...) const noexcept;
    template <class... As> anything read(As&&...) const noexcept;
    template <class... As> anything reclaim(As&&...) const noexcept;
    template <class... As> anything reclaimable(As&&...) const noexcept;
    template <class... As> anything release(As&&...) const noexcept;
    template <class... As> anything release_all(As&&...) const noexcept;
    template <class... As> anything release_captured(As&&...) const noexcept;
    template <class... As> anything release_empty_pages(As&&...) const noexcept;
    template <class... As> anything remove(As&&...) const noexcept;
    template <class... As> anything report(As&&...) const noexcept;
    template <class... As> anything reserve(As&&...) const noexcept;
    template <class... As> anything reserve_for(As&&...) const noexcept;
    template <class... As> anything resident(As&&...) const noexcept;
    template <class... As> anything resize(As&&...) const noexcept;
    template <class... As> anything returned(As&&...) const noexcept;
    template <class... As> anything rows(As&&...) const noexcept;
    template <class... As> anything set_limit(As&&...) const noexcept;
    template <class... As> anything set_owner(As&&...) const noexcept;
    template <class... As> anything set_payer(As&&...) const noexcept;
    template <class... As> anything set_used(As&&...) const noexcept;
    template <class... As> anything shrink_to_fit(As&&...) const noexcept;
    template <class... As> anything size(As&&...) const noexcept;
    template <class... As> anything slide_down(As&&...) const noexcept;
    template <class... As> anything state_of(As&&...) const noexcept;
    template <class... As> anything stats(As&&...) const noexcept;
    template <class... As> anything take(As&&...) const noexcept;
    template <class... As> anything take_front(As&&...) const noexcept;
    template <class... As> anything take_to_grow(As&&...) const noexcept;
    template <class... As> anything taken(As&&...) const noexcept;
    template <class... As> anything takes_clean_plain_pages(As&&...) const noexcept;
    template <class... As> anything trace_events(As&&...) const noexcept;
    template <class... As> anything tries_again_at(As&&...) const noexcept;
    template <class... As> anything trim(As&&...) const noexcept;
    template <class... As> anything trim_for(As&&...) const noexcept;
    template <class... As> anything try_allocate(As&&...) const noexcept;
    template <class... As> anything try_allocate_zeroed(As&&...) const noexcept;
    template <class... As> anything try_lock(As&&...) const noexcept;
    template <class... As> anything try_lock_to_evict(As&&...) const noexcept;
    template <class... As> anything try_push_back(As&&...) const noexcept;
    template <class... As> anything try_reserve(As&&...) const noexcept;
    template <class... As> anything try_resize(As&&...) const noexcept;
    template <class... As> anything unused(As&&...) const noexcept;
    template <class... As> anything usage(As&&...) const noexcept;
    template <class... As> anything usage_at_peak(As&&...) const noexcept;
    template <class... As> anything usage_by_type(As&&...) const noexcept;
    template <class... As> anything used(As&&...) const noexcept;
    template <class... As> anything valid(As&&...) const noexcept;
    template <class... As> anything view(As&&...) const noexcept;
    template <class... As> anything visit_pages(As&&...) const noexcept;
    template <class... As> anything visit_streams(As&&...) const noexcept;
    template <class... As> anything visit_trace(As&&...) const noexcept;
    template <class... As> anything was_used(As&&...) const noexcept;
    template <class... As> anything zero(As&&...) const noexcept;
    // end of what is generated
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
