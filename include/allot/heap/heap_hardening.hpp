// What a heap's guard keeps and does: canaries, encoded links, quarantine, wiping, and the damage log.
//
// Its functions are passed the layout of the heap's slots. For guard::none it is empty and has no code.
// Invariant: damage found under a lock is logged, and reported once the lock is released.
// Cost: that of guard/canary.hpp, guard/quarantine.hpp, guard/damage_log.hpp and slots/link_code.hpp.
// Threads: any, unless a member says otherwise.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/guard/canary.hpp>
#include <allot/guard/damage_log.hpp>
#include <allot/guard/encoded_links.hpp>
#include <allot/guard/quarantine.hpp>
#include <allot/heap/heap_layout.hpp>
#include <allot/heap/heaplet.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/poison.hpp>
#include <allot/sys/secret.hpp>
#include <allot/sys/wipe.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `Guard` has the constants of category::guard. If one of them is on it also has `report(config, kind, type, row)` and
// `type_of(config, page, row)`.
template <class Slots, class Guard, class Location = header_in_page> class heap_hardening {
    using page = heaplet<Slots, Guard, Location>;
    static_assert(!Location::on_device || (Guard::row_bytes == 0 && Guard::waits == 0 && !Guard::wipes),
                  "allot: this guard writes to rows, which the host must not touch here; use guard::none");
    static constexpr bool encodes = encodes_links<Slots, Guard>;
    static constexpr bool logs_damage = encodes || Guard::waits != 0;

  public:
    explicit heap_hardening(std::size_t slots_of_page) noexcept : quarantine_(slots_of_page) {
        if constexpr (has_canary<Guard>) canary_.secret = static_cast<std::uint32_t>(sys::object_secret(this));
    }
    heap_hardening(const heap_hardening&) = delete;
    heap_hardening& operator=(const heap_hardening&) = delete;

    // Usable bytes of a row, its type's checksum included.
    static std::size_t usable(const heap_layout& of) noexcept { return page::usable(of.cut); }
    // True if the canary behind the row is unchanged.
    bool is_intact([[maybe_unused]] const heap_layout& of, [[maybe_unused]] const std::byte* row) const noexcept {
        if constexpr (has_canary<Guard>) return canary_.intact(row, of.room(), of.in_arena(row));
        return true;
    }
    // Writes the row's canary.
    void guard_row([[maybe_unused]] const heap_layout& of, [[maybe_unused]] std::byte* row) const noexcept {
        if constexpr (has_canary<Guard>) canary_.write(row, of.room(), of.in_arena(row));
    }

    // Whether it is marked as free.
    bool is_marked([[maybe_unused]] const heap_layout& of, [[maybe_unused]] const std::byte* row) const noexcept {
        if constexpr (has_canary<Guard>) return canary_.is_marked(row, of.room(), of.in_arena(row));
        return false;
    }
    void mark_row([[maybe_unused]] const heap_layout& of, [[maybe_unused]] std::byte* row) const noexcept {
        if constexpr (has_canary<Guard>) canary_.mark(row, of.room(), of.in_arena(row));
    }

    // Call when the heap gets another config. Requires that it has no pages.
    void set_slots_of_page(std::size_t slots) noexcept { quarantine_.set_most(slots); }
    bool damage_is_reported() noexcept { return damage_.is_idle(); }

    // ---- pages and slots; requires the heap's lock ----------------------------------------------------------

    void begin_page([[maybe_unused]] const heap_layout& of, [[maybe_unused]] page& p) const noexcept {
        if constexpr (encodes) p.slots.encode(static_cast<std::uint32_t>(sys::object_secret(this) >> 32), of.cut);
        if constexpr (has_canary<Guard>) p.guarded = canary_;
    }
    // Call when a slot is handed out for the first time.
    void begin_slot(const heap_layout& of, std::byte* row) const noexcept {
        if constexpr (Guard::wipes) {
            page::expose(of.cut, row);
            sys::wipe(row, usable(of));
            page::poison(of.cut, row);
        }
        guard_row(of, row);
    }
    void log_if_broken([[maybe_unused]] const heap_layout& of, [[maybe_unused]] page& p) noexcept {
        if constexpr (encodes)
            if (ALLOT_UNLIKELY(p.is_broken())) {
                std::byte* const row = p.base() + p.slots.broken();
                damage_.add(misuse::broken_link, row, Guard::type_of(of.config, p, row));
            }
    }
    bool is_undamaged([[maybe_unused]] const heap_layout& of, [[maybe_unused]] page& p) const noexcept {
        if constexpr (has_canary<Guard>)
            for (std::uint32_t i = 0; i < p.fresh.load(std::memory_order_relaxed); ++i)
                if (!is_intact(of, p.row(i)) && !is_marked(of, p.row(i))) return false;
        return true;
    }
    // Wipes the rows of a page that is returned while rows may live in it.
    void end_rows([[maybe_unused]] const heap_layout& of, [[maybe_unused]] page& p) const noexcept {
        if constexpr (Guard::wipes) {
            const std::size_t bytes = std::size_t{p.fresh.load(std::memory_order_relaxed)} * p.cut.stride;
            if (bytes == 0) return;
            sys::expose(p.base(), of.page_bytes()); // until it returns to the arena
            sys::wipe(p.row(0), bytes - p.cut.header);
        }
    }

    // ---- quarantine -----------------------------------------------------------------------------------------

    // Fills a released row and puts it into the quarantine, and calls leave(row) for the row that it displaces. If
    // `closed` is not 0, for the row itself, too, unless the thread that set it finds the row by drain_quarantine().
    template <class Leave>
    void enter_quarantine(const heap_layout& of, std::byte* row, const std::atomic<std::uint8_t>& closed,
                          Leave leave) noexcept
        requires(Guard::waits != 0)
    {
        std::memset(row, quarantine_byte<Guard>, usable(of));
        page::poison(of.cut, row);
        std::size_t at = 0;
        std::byte* out = quarantine_.exchange(row, at);
        full_fence(); // either this thread sees `closed`, or drain_quarantine() sees the row
        if (closed.load(std::memory_order_relaxed) != 0 && quarantine_.remove(row, at)) leave(row);
        if (out == nullptr) return;
        inspect(of, out);
        leave(out);
    }
    // Takes up to n rows out of the quarantine, inspected. Returns their number. Requires the walk lock of the heap.
    std::size_t leave_quarantine([[maybe_unused]] const heap_layout& of, [[maybe_unused]] std::byte** out,
                                 [[maybe_unused]] std::size_t n) noexcept {
        std::size_t got = 0;
        if constexpr (Guard::waits != 0) {
            got = quarantine_.take(out, n);
            for (std::size_t i = 0; i != got; ++i) inspect(of, out[i]);
        }
        return got;
    }
    // Takes all rows out, inspects them, and calls then(rows, n) with the heap's lock. One thread at a time.
    template <class Lock, class Then>
    void drain_quarantine([[maybe_unused]] const heap_layout& of, [[maybe_unused]] Lock& lock,
                          [[maybe_unused]] Then then) noexcept {
        if constexpr (Guard::waits != 0) quarantine_.drain(lock, [&](std::byte* row) { inspect(of, row); }, then);
    }
    // Requires the heap's lock.
    std::size_t quarantined() const noexcept { return quarantine_.size(); }

    // ---- reports; requires that no lock is held -------------------------------------------------------------

    void report_logged_damage([[maybe_unused]] const heap_layout& of) noexcept {
        if constexpr (logs_damage)
            if (ALLOT_UNLIKELY(!damage_.empty()))
                damage_.take([&](misuse kind, const row_type* type, const std::byte* row) {
                    Guard::report(of.config, kind, type, row);
                });
    }

  private:
    // Logs damage if a row that leaves the quarantine is not filled as it was when it entered.
    void inspect(const heap_layout& of, std::byte* row) noexcept {
        page::expose(of.cut, row);
        const bool good = is_filled(row, usable(of), quarantine_byte<Guard>);
        if constexpr (Guard::wipes)
            if (!good) sys::wipe(row, usable(of));
        page::poison(of.cut, row);
        if (good) return;
        page& p = page_at<page>(of.provider.arena().view(), row);
        damage_.add(misuse::write_after_release, row, Guard::type_of(of.config, p, row));
    }

    ALLOT_NO_UNIQUE_ADDRESS page_canary<Guard> canary_;
    ALLOT_NO_UNIQUE_ADDRESS quarantine_ring<Guard::waits> quarantine_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<logs_damage, damage_log, no_damage_log> damage_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
