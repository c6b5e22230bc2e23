// any_rows: a type-erased reference to a row manager, for code that is no template.
//
// Cost: two words; one indirect call. Threads: those of the manager. Source: RMM's any_resource, 2024.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/row_type.hpp>
#include <allot/core/text.hpp>
#include <allot/row/row.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Refers to a row manager whose rows have link counts; copies refer to the same one. Members do what the manager's do.
/// Requires: the manager outlives it.
class any_rows {
  public:
    template <class Manager>
        requires(!std::same_as<std::remove_cv_t<Manager>, any_rows> &&
                 requires(Manager& m, const void* row) { m.link(row); })
    any_rows(Manager& manager) noexcept : manager_(&manager), calls_(&calls_of<Manager>) {}

    void* allocate(std::size_t bytes, const row_type& type = untyped) const {
        return calls_->allocate(manager_, bytes, type);
    }
    void* try_allocate(std::size_t bytes, const row_type& type = untyped, charge_status* why = nullptr) const noexcept {
        return calls_->try_allocate(manager_, bytes, type, why);
    }
    void release(const void* row) const noexcept { calls_->release(manager_, row); }
    void link(const void* row) const noexcept { calls_->link(manager_, row); }
    std::size_t capacity(const void* row) const noexcept { return allot::capacity(row); }
    bool is_shared(const void* row) const noexcept { return allot::is_shared(row); }
    void finalize(void* row) const noexcept { allot::finalize(row); }

    std::size_t release_empty_pages() const noexcept { return calls_->release_empty_pages(manager_); }
    std::size_t used() const noexcept { return calls_->used(manager_); }
    std::size_t limit() const noexcept { return calls_->limit(manager_); }
    std::size_t live_rows() const noexcept { return calls_->live_rows(manager_); }
    void report(text_writer& out) const noexcept { calls_->report(manager_, out); }

  private:
    struct calls {
        void* (*allocate)(void*, std::size_t, const row_type&);
        void* (*try_allocate)(void*, std::size_t, const row_type&, charge_status*) noexcept;
        void (*release)(void*, const void*) noexcept;
        void (*link)(void*, const void*) noexcept;
        std::size_t (*release_empty_pages)(void*) noexcept;
        std::size_t (*used)(void*) noexcept;
        std::size_t (*limit)(void*) noexcept;
        std::size_t (*live_rows)(void*) noexcept;
        void (*report)(void*, text_writer&) noexcept;
    };
    template <class M> static M& as(void* manager) noexcept { return *static_cast<M*>(manager); }
    template <class M> static std::size_t used_of(const M& manager) noexcept {
        if constexpr (requires { manager.used(); }) return manager.used();
        else return manager.stats().charged;
    }
    template <class M> static std::size_t limit_of(const M& manager) noexcept {
        if constexpr (requires { manager.limit(); }) return manager.limit();
        else return manager.stats().limit;
    }
    template <class M>
    static constexpr calls calls_of{
        [](void* m, std::size_t n, const row_type& type) { return as<M>(m).allocate(n, type); },
        [](void* m, std::size_t n, const row_type& type, charge_status* why) noexcept {
            return as<M>(m).try_allocate(n, type, why);
        },
        [](void* m, const void* row) noexcept { as<M>(m).release(row); },
        [](void* m, const void* row) noexcept { as<M>(m).link(row); },
        [](void* m) noexcept { return as<M>(m).release_empty_pages(); },
        [](void* m) noexcept { return used_of(as<M>(m)); },
        [](void* m) noexcept { return limit_of(as<M>(m)); },
        [](void* m) noexcept { return as<M>(m).live_rows(); },
        [](void* m, text_writer& out) noexcept { as<M>(m).report(out); },
    };

    void* manager_;
    const calls* calls_;
};

static_assert(sizeof(any_rows) == 2 * sizeof(void*));

} // namespace allot::inline ALLOT_ABI
