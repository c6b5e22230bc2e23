// The pages of an arena, by number: which are taken, how they become usable memory, and how free ones are returned.
//
//   untouched  free, never committed          clean  free, holds no memory of the system
//   taken      in use, always usable memory   dirty  free, may hold memory of the system
//
// Taken and dirty pages are committed: the limit bounds them, and the payer is charged for them (page_payer.hpp). So
// a take of dirty pages costs no charge, and a page is refunded where it returns to the system.
// A page is taken under a spin lock; system calls are made outside it, so no thread waits for the call of another one,
// except when the last free pages are being trimmed. It yields until these are free, which waits for nobody: who trims
// makes one system call and refunds, and no user's code runs before (page_payer.hpp).
// Invariant: taken pages are usable; committed ones never exceed the limit.
// Cost: 1 bit and 1/64 bit per page for taken, 1 bit for dirty; 592 bytes. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_memory.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_stats.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_limit.hpp>
#include <allot/page/page_payer.hpp>
#include <allot/page/system_pages.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Runs that grow have room behind them, where that costs no other request its run, and idle memory is not much.
enum class run_use { fixed, grows };

// What a take may commit.
struct page_budget {
    std::size_t most = SIZE_MAX; // clean pages of the run: where it has more, it is not taken
    bool only_used = false;      // the run is one without clean pages, wherever it lies
    std::size_t wanted = 0;      // out: clean pages of a longer run that is better, if as many may be committed
    std::size_t clean = 0;       // out: clean pages of the run; more than `most`: it is to be taken again, with as many
};

class arena_pages {
  public:
    static constexpr std::size_t none = page_bitmap::none;

    // The first `pages` pages of a range, which may be none.
    arena_pages(const arena_range& range, std::size_t pages, const arena_tables& tables, std::size_t limit_bytes,
                shared_level& at) noexcept
        : returns_pages_(range.returns_pages), under_pressure_(range.under_pressure),
          lent_(range.out_of_band != nullptr), commits_(!range.committed && range.backing == nullptr),
          system_(range, pages), backing_(range.backing), dirty_(reinterpret_cast<word*>(tables.dirty)),
          limit_(range, pages, limit_bytes, at) {
        bitmap_.start(tables.bitmap, pages);
    }
    arena_pages(const arena_pages&) = delete;
    arena_pages& operator=(const arena_pages&) = delete;
    ~arena_pages() { // what uses the addresses next may use them
        expose(0, system_.low());
        expose(system_.high(), bitmap_.pages() - system_.high());
    }

    // Takes a run; returns its first page, or none where it is refused, or costs more than the budget. Waits only while
    // the last free pages are being trimmed.
    ALLOT_ALWAYS_INLINE std::size_t take(std::size_t pages, run_use use, page_budget& budget,
                                         memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(pages == 0)) return refuse(asked, charge_outcome::misused, 0), none;
        constexpr bool anywhere = true;
        return take_found<anywhere>(pages, use == run_use::grows, budget, asked, [&]() ALLOT_ALWAYS_INLINE_LAMBDA {
            const run found{use == run_use::grows ? place_to_grow(pages)
                            : pages == 1          ? bitmap_.find_one()
                                                  : bitmap_.find_run(pages),
                            pages};
            budget.clean = clean_pages(found);
            return found;
        });
    }
    // Takes these pages, which lie behind a taken run; false where one of them is taken, or on lack of memory.
    bool take_at(std::size_t first, std::size_t n, page_budget& budget, memory_request& asked) noexcept {
        return n == 0 || take_beside(n, budget, asked, [&](run& found) {
                             found = {bitmap_.are_free(first, n) ? first : none, n};
                             return budget.clean = clean_pages(found), true;
                         }) != none;
    }
    // Takes pages in front of a run, at least new_pages - pages, of which only these are counted; returns how many, 0:
    // the limit, the address space or the system refuses. The others return uncounted, from either end.
    std::size_t slide(std::size_t first, std::size_t pages, std::size_t new_pages, page_budget& budget,
                      memory_request& asked) noexcept {
        const std::size_t more = new_pages - pages;
        const std::size_t start = take_beside(more, budget, asked, [&](run& found) {
            const std::size_t free = bitmap_.free_before(first, first);
            budget.clean = 0;
            if (free < more) return false;
            const std::size_t by = more + room_for(new_pages, free - more);
            found = {first - by, by};
            budget.wanted = budget.clean = clean_pages(found);
            if (budget.clean > budget.most || limit_.beyond(budget.clean) != 0) // without room
                found = {first - more, more}, budget.clean = clean_pages(found);
            return true;
        });
        return start != none ? first - start : 0;
    }
    // Never waits, makes no system call.
    ALLOT_ALWAYS_INLINE void give(std::size_t first, std::size_t n) noexcept {
        poison(first, n);
        mark_dirty(first, n);
        limit_.unconfirm(n);
        put_back(first, n, n);
    }
    void give_uncounted(std::size_t first, std::size_t n) noexcept {
        poison(first, n);
        mark_dirty(first, n);
        bitmap_.give(first, n);
        full_fence();
        limit_.gave();
    }

    // Returns free pages to the system, up to its first refusal, and `most` bytes; those last that takes find first. In
    // bytes.
    ALLOT_OUTLINE_WARM std::size_t trim(std::size_t most = SIZE_MAX) noexcept {
        if (!returns_pages_) return 0;
        std::size_t bytes = 0;
        const auto trim_word = [&](std::size_t w) { // false: no more
            while (const std::uint64_t idle = bytes < most ? free_and_dirty(w) : 0) {
                if (!return_pages(w, high_part(idle, most - bytes), bytes)) return false;
                if (backing_ != nullptr) break; // free pages whose unit has a taken page stay
            }
            return bytes < most;
        };
        const std::size_t low = backing_ != nullptr ? 0 : ceil_div(system_.low(), std::size_t{64});
        for (std::size_t w = low; w-- != 0;)
            if (!trim_word(w)) return bytes;
        bitmap_.visit_used(backing_ != nullptr ? 0 : max(low, system_.high() / 64), trim_word);
        return bytes;
    }
    // The same at a shortage of `bytes`, where the retain rule allows it: some more, so that the next requests need not
    // ask. Where it finds none, it waits for pages that other threads return, and looks again: they mark those beside
    // them, too.
    ALLOT_OUTLINE_WARM std::size_t trim_at_shortage(std::size_t bytes) noexcept {
        constexpr std::size_t least = std::size_t{1} << 20;
        if (!under_pressure_) return 0;
        for (;;) {
            const std::size_t before = returned(), kept = system_.bytes_of(limit_.kept());
            const std::size_t mine = kept != 0 ? trim(max(max(bytes, least), kept / 8)) : 0;
            if (mine != 0 || (!is_in_trim() && returned() == before)) return mine;
            yield();
        }
    }
    // Free pages that a shortage returns.
    std::size_t unused() const noexcept { return under_pressure_ ? limit_.kept() : 0; }
    void set_payer(page_payer& payer) noexcept {
        commits_ = commits_ || system_.are_preallocated();
        if (!commits_) return;
        payer_ = &payer;
        if (payer.is_limited() || system_.are_preallocated()) system_.ask_by_unit();
    }
    bool has_payer() const noexcept { return payer_ != nullptr; }

    bool takes_clean_plain_pages() const noexcept {
        return limit_.keeps_none() && commits_ && system_.is_plain_at_low();
    }
    bool is_taken(std::size_t page) const noexcept { return bitmap_.is_taken(page); }
    page_state state_of(std::size_t page) const noexcept {
        if (bitmap_.is_taken(page)) return page_state::taken;
        if (is_dirty(page)) return page_state::dirty;
        return system_.are_usable(page, 1) ? page_state::clean : page_state::untouched;
    }
    // Whether a taken page may hold bytes of an earlier use. False: it holds zeros.
    bool was_used(std::size_t page) const noexcept { return lent_ || is_dirty(page); }
    void set_used(std::size_t first, std::size_t n) noexcept { mark_dirty(first, n); }
    bool are_locked() const noexcept { return system_.are_locked(); }
    const page_limit& limit() const noexcept { return limit_; }
    std::size_t largest_free_run() const noexcept { return bitmap_.largest_free_run().pages; }
    // In bytes, as the next three.
    std::size_t committed() const noexcept {
        if (backing_ != nullptr) return backing_->committed_bytes();
        std::size_t used = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            used += static_cast<std::size_t>(std::popcount(taken_pages(w) | dirty_[w].load()));
        return system_.bytes_of(used);
    }
    std::size_t returned() const noexcept { return returned_.load(std::memory_order_relaxed); }
    std::size_t resident() const noexcept {
        return backing_ != nullptr ? backing_->committed_bytes() : system_.resident();
    }
    // For tests. No other thread may use the arena meanwhile.
    bool valid() const noexcept {
        std::size_t taken = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            taken += static_cast<std::size_t>(std::popcount(taken_pages(w)));
        return limit_.valid(taken, commits_ ? committed() >> system_.shift() : 0) && bitmap_.valid();
    }

  private:
    using word = std::atomic<std::uint64_t>;
    struct run {
        std::size_t first = none, pages = 0;
    };

    bool is_dirty(std::size_t page) const noexcept {
        return (dirty_[page / 64].load(std::memory_order_relaxed) >> page % 64 & 1) != 0;
    }
    // Mask of the pages of a word that exist: the last word may have fewer than 64.
    std::uint64_t existing_pages(std::size_t w) const noexcept {
        return page_bitmap::run_mask(0, min(bitmap_.pages() - w * 64, std::size_t{64}));
    }
    std::uint64_t taken_pages(std::size_t w) const noexcept { return bitmap_.taken_in_word(w) & existing_pages(w); }

    // Requires lock_. Pages for room behind a run that grows, of `free` ones in front of it: half of those that are not
    // needed for the largest run that the limit allows beside it; without a limit, of half of the range.
    std::size_t room_for(std::size_t pages, std::size_t free) const noexcept {
        const std::size_t most = limit_.most();
        const std::size_t others = most < bitmap_.pages() ? most - min(pages, most) : bitmap_.pages() / 2;
        return free > others ? (free - others) / 2 : 0;
    }
    // Requires lock_, as the next two. A place at the end of the largest free run, but with room behind it; where that
    // commits pages while many are idle, one among those.
    std::size_t place_to_grow(std::size_t pages) const noexcept {
        const page_bitmap::free_run gap = bitmap_.largest_free_run();
        if (gap.pages < pages) return none;
        const std::size_t free = gap.pages - pages, at = gap.first + free - room_for(pages, free);
        const std::size_t idle = limit_.kept(), taken = limit_.taken();
        if (idle <= taken / 8 || clean_pages({at, pages}) == 0) return at;
        if (const std::size_t used = find_used(pages); used != none) return used;
        return idle <= taken / 2 ? at : bitmap_.find_run(pages);
    }
    // Those that are to be committed.
    ALLOT_ALWAYS_INLINE std::size_t clean_pages(const run& of) const noexcept {
        if (of.first == none || !commits_) return 0;
        return of.pages == 1 ? !is_dirty(of.first) : count_clean(of);
    }
    ALLOT_OUTLINE std::size_t count_clean(const run& of) const noexcept {
        std::size_t n = 0;
        page_bitmap::for_words(of.first, of.pages, [&](std::size_t w, std::uint64_t bits) {
            const std::uint64_t clean = bits & ~dirty_[w].load(std::memory_order_relaxed);
            if (ALLOT_UNLIKELY(clean != 0))
                n += static_cast<std::size_t>(std::popcount(clean)); // a call without POPCNT
        });
        return n;
    }
    // A free run without clean pages. Complexity: O(committed pages / 64).
    std::size_t find_used(std::size_t pages) const noexcept {
        if (limit_.kept() < pages) return none;
        const auto busy = [this](std::size_t w) { return ~free_and_dirty(w); };
        const std::size_t low = system_.low(), high = max(low, system_.high());
        const std::size_t found = pages == 1 ? none : page_bitmap::find_run(pages, high, bitmap_.pages(), busy);
        if (found != none) return found;
        const std::size_t single = page_bitmap::find_run(pages, 0, low, busy);
        return single != none || pages != 1 ? single : page_bitmap::find_run(pages, high, bitmap_.pages(), busy);
    }
    // Takes what find() finds under the lock, with `counted` of its pages in the limit; `budget.clean`: of all of them.
    // `Anywhere`: where its clean pages are too many, a run without them will do.
    template <bool Anywhere = false, class Find>
    ALLOT_ALWAYS_INLINE std::size_t take_found(std::size_t counted, bool grows, page_budget& budget,
                                               memory_request& asked, Find find) noexcept {
        for (bool in_vain = false;;) {
            run found;
            huge_units whole;
            std::size_t beyond = 0;
            {
                const lock_guard hold(lock_);
                if (ALLOT_UNLIKELY(!limit_.admits(counted)))
                    return refuse(asked, charge_outcome::over_limit, counted), none;
                found = find();
                beyond = limit_.beyond(budget.clean);
                if (Anywhere && ALLOT_UNLIKELY(budget.clean != 0 && (budget.only_used || beyond != 0)))
                    if (const std::size_t used = find_used(counted); used != none)
                        found.first = used, budget.clean = beyond = 0;
                if (ALLOT_UNLIKELY(budget.clean != 0 && system_.asks_by_unit(found.first + found.pages)))
                    whole = units_of(found, budget);
                if (budget.clean > budget.most) return none;
                if (ALLOT_LIKELY(found.first != none && beyond == 0)) {
                    bitmap_.take(found.first, found.pages);
                    limit_.take(counted, budget.clean);
                    if (ALLOT_UNLIKELY(whole.rest != 0)) hold_rest(found, whole);
                } else if (in_trim_ == 0 && (beyond == 0 || in_vain || !trims_by_itself())) {
                    return refuse(asked, beyond == 0 ? charge_outcome::no_address_space : charge_outcome::over_limit,
                                  counted),
                           none;
                }
            }
            if (ALLOT_LIKELY(beyond == 0 && found.first != none && !whole.asks &&
                             system_.are_usable(found.first, found.pages)))
                return limit_.confirm(counted), taken(found);
            if (beyond != 0 && trims_by_itself()) in_vain = trim_at_shortage(system_.bytes_of(beyond)) == 0;
            else if (found.first == none || beyond != 0) yield(); // pages that are being trimmed become free again
            else if (ALLOT_UNLIKELY(whole.asks)) return take_units(found, whole, counted, grows, budget, asked);
            else if (!confirm_or_put_back(is_usable(found.first, found.pages, grows), found, counted, budget.clean,
                                          asked))
                return none;
            else return taken(found);
        }
    }
    // Pages beside a run that grows.
    ALLOT_OUTLINE std::size_t take_beside(std::size_t counted, page_budget& budget, memory_request& asked,
                                          attempt_with<run> find) noexcept {
        return take_found(counted, true, budget, asked, [&] {
            run found;
            static_cast<void>(find(found));
            return found;
        });
    }
    // Pages that were given are poisoned until they are taken; the host never touches those of a device.
    std::size_t taken(const run& of) const noexcept {
        expose(of.first, of.pages);
        return of.first;
    }
    void expose(std::size_t first, std::size_t n) const noexcept {
        if (backing_ == nullptr) sys::expose_pages(system_.at(first), system_.bytes_of(n));
    }
    void poison(std::size_t first, std::size_t n) const noexcept {
        if (backing_ == nullptr) sys::poison_pages(system_.at(first), system_.bytes_of(n));
    }
    // ---- huge OS pages, where committed pages are charged: the system fills one for the first page that is touched in
    // it. So a take that commits a page of a unit without committed pages commits all of it; the others are free and
    // dirty then, and cost the next takes nothing. Where all cannot be charged, the unit gets no huge OS page; of
    // preallocated ones, the take is refused.
    //
    // The system may make a huge OS page of a unit only while all its pages are committed, or nobody has any. The
    // order:
    //   take, of a clean unit   hold all of it; charge, fill; or ask for none; then free the rest
    //   return, of a part       hold the part; ask for none; return it to the system; uncommit; refund; free

    // The units of a run: those at its ends of which it takes a part, and the whole ones between.
    struct huge_units {
        std::size_t first = 0, end = 0; // pages of the run, and of clean units that it takes a part of
        std::size_t rest = 0;           // those that are not of the run
        bool asks = false;
    };
    // A unit that may be a huge OS page, and has no committed page.
    bool is_clean_unit(std::size_t at) const noexcept {
        const std::size_t unit = system_.unit();
        return system_.may_be_huge(at) && bitmap_.are(at, unit, false) && clean_pages({at, unit}) == unit;
    }
    // Before a part of a unit returns: else the system fills it again. Requires: the pages are marked taken. False: the
    // system refuses.
    bool leave_units(std::size_t first, std::size_t n) noexcept {
        const std::size_t unit = system_.unit(), low = align_down(first, unit), high = align_down(first + n - 1, unit);
        const auto leave = [&](std::size_t at) {
            const bool is_part = at < first || at + unit > first + n;
            return !is_part || !system_.may_be_huge(at) || system_.ask_none(at);
        };
        return leave(low) && (high == low || leave(high));
    }
    // Requires lock_. Adds to `budget.wanted` what the units have beside the run.
    huge_units units_of(const run& found, page_budget& budget) noexcept {
        const std::size_t unit = system_.unit(), end = found.first + found.pages;
        const std::size_t low = align_down(found.first, unit), high = align_up(end, unit);
        const bool is_one = low + unit == high;
        const bool takes_low = low != found.first || (is_one && high != end);
        const bool holds_low = takes_low && is_clean_unit(low);
        const bool holds_high = is_one ? holds_low : high != end && is_clean_unit(high - unit);
        huge_units of{holds_low ? low : found.first, holds_high ? high : end};
        of.rest = of.end - of.first - found.pages;
        if (system_.are_preallocated()) { // the system fills them whole, whatever is asked for
            budget.clean += of.rest;
            if (budget.clean > budget.most) return {};
            mark_rest(found, of, [this](std::size_t at, std::size_t n) { mark_committed(at, n); });
            return {};
        }
        budget.wanted = max(budget.wanted, budget.clean + of.rest);
        of.asks = of.rest != 0 || found.pages >= unit;
        return of;
    }
    template <class Mark> static void mark_rest(const run& of, const huge_units& all, Mark mark) noexcept {
        const std::size_t end = of.first + of.pages;
        if (all.first != of.first) mark(all.first, of.first - all.first);
        if (all.end != end) mark(end, all.end - end);
    }
    void mark_committed(std::size_t first, std::size_t n) noexcept {
        mark_dirty(first, n);
        bitmap_.note_used(first, n);
    }
    // Requires lock_. The rest is marked taken until the unit is a huge OS page, or will be none.
    void hold_rest(const run& got, const huge_units& of) noexcept {
        sys::enter_section();
        in_trim_ += of.rest;
        mark_rest(got, of, [this](std::size_t at, std::size_t n) { bitmap_.take(at, n); });
    }
    void free_rest(const run& got, const huge_units& of, bool is_committed) noexcept {
        const lock_guard hold(lock_);
        if (is_committed) limit_.commit(of.rest);
        mark_rest(got, of, [&](std::size_t at, std::size_t n) {
            if (is_committed) mark_committed(at, n);
            bitmap_.give(at, n);
        });
        in_trim_ -= of.rest;
        sys::leave_section(); // but for the lock's
    }
    // Commits a run, and what its units have beside it if that is charged. A unit that it has a part of is a huge OS
    // page then, or will be none; those between may become some when they are touched.
    ALLOT_NOINLINE std::size_t take_units(const run& got, const huge_units& of, std::size_t counted, bool grows,
                                          page_budget& budget, memory_request& asked) noexcept {
        const std::size_t unit = system_.unit(), end = got.first + got.pages;
        const bool slow = grows && sys::host_takes_free_memory();
        bool is_right = is_usable(got.first, got.pages, grows);
        const bool all = is_right && of.rest != 0 && budget.most >= budget.clean + of.rest &&
                         is_usable(of.first, of.end - of.first, grows);
        const auto settle = [&](std::size_t at) {
            if (!all) return system_.ask_none(at);
            if (!slow) system_.fill(at);
            return true;
        };
        const bool has_low = of.first != got.first;
        if (is_right && has_low) is_right = settle(of.first);
        if (is_right && of.end != end && !(has_low && of.first + unit == of.end)) is_right = settle(of.end - unit);
        if (of.rest != 0) free_rest(got, of, all && is_right);
        if (!confirm_or_put_back(is_right, got, counted, budget.clean, asked)) return none;
        if (all) budget.clean += of.rest;
        const std::size_t from = align_up(got.first, unit);
        if (!slow && system_.may_be_huge(from)) system_.ask_later(from, align_down(end, unit));
        return taken(got);
    }

    // A request that has a payer trims as a step of its ladder: refunds call listeners.
    bool trims_by_itself() const noexcept { return under_pressure_ && payer_ == nullptr; }
    bool is_in_trim() noexcept {
        const lock_guard hold(lock_);
        return in_trim_ != 0;
    }
    ALLOT_COLD void refuse(memory_request& asked, charge_outcome why, std::size_t pages) const noexcept {
        limit_.refuse(asked, why, pages);
    }
    // Counts taken pages in the peak; puts them back where the system has refused memory.
    bool confirm_or_put_back(bool are_usable, const run& got, std::size_t counted, std::size_t clean,
                             memory_request& asked) noexcept {
        if (ALLOT_LIKELY(are_usable)) return limit_.confirm(counted), true;
        limit_.uncommit(clean);
        put_back(got.first, got.pages, counted);
        return refuse(asked, charge_outcome::no_memory, counted), false;
    }
    bool is_usable(std::size_t first, std::size_t n, bool grows) noexcept {
        return ALLOT_LIKELY(system_.are_usable(first, n)) || commit(first, n, grows) ||
               (trims_by_itself() && trim() != 0 && commit(first, n, grows));
    }
    // Marks pages free, of which some are counted.
    void put_back(std::size_t first, std::size_t n, std::size_t counted) noexcept {
        [[maybe_unused]] const bool were_taken = bitmap_.give(first, n);
        ALLOT_ASSERT(were_taken, "pages were given back to an arena twice: give each page back once");
        limit_.put_back(counted);
    }
    void mark_dirty(std::size_t first, std::size_t n) noexcept {
        page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            if ((dirty_[w].load(std::memory_order_relaxed) & bits) != bits)
                dirty_[w].fetch_or(bits, std::memory_order_acq_rel);
        });
    }
    // A backing marks no pages as usable for good, so every take of its pages comes here.
    ALLOT_COLD bool commit(std::size_t first, std::size_t n, bool grows) noexcept {
        return backing_ != nullptr ? backing_->commit(first, n) : system_.commit(first, n, grows);
    }
    std::uint64_t free_and_dirty(std::size_t w) const noexcept {
        return ~bitmap_.taken_in_word(w) & dirty_[w].load(std::memory_order_acquire);
    }
    // The highest of these pages of a word that have as many bytes.
    std::uint64_t high_part(std::uint64_t pages, std::size_t bytes) const noexcept {
        const std::size_t keep = ((bytes - 1) >> system_.shift()) + 1;
        for (auto n = static_cast<std::size_t>(std::popcount(pages)); n > keep; --n) pages &= pages - 1;
        return pages;
    }
    // Free pages that are marked taken while they are returned to the system.
    struct trimmed_run final : page_payer::returned_run {
        trimmed_run(arena_pages& arena, std::size_t f, std::size_t count) noexcept : of(arena), first(f), n(count) {}
        // False: one of them is taken.
        bool begin() const noexcept {
            const lock_guard hold(of.lock_);
            if (!of.bitmap_.are_free(first, n)) return false;
            sys::enter_section(); // until they are free
            of.bitmap_.take(first, n);
            of.in_trim_ += n;
            return true;
        }
        ALLOT_OUTLINE_WARM void free() noexcept override {
            const lock_guard hold(of.lock_);
            of.bitmap_.give(first, n);
            of.in_trim_ -= n;
            sys::leave_section(); // but for the lock's
        }
        arena_pages& of;
        const std::size_t first, n;
    };
    // Returns the free ones of these pages of a word to the system, with clean neighbours in the same huge OS page, and
    // adds the bytes that were dirty to `bytes`. False where the system refuses.
    bool return_pages(std::size_t w, std::uint64_t pages, std::size_t& bytes) noexcept {
        const std::size_t beside = w ^ 1;
        const bool two_words = backing_ == nullptr && system_.huge_page_is_two_words() && beside * 64 < bitmap_.pages();
        return return_in_word(w, pages, backing_ == nullptr ? system_.in_huge_pages(pages) : pages, bytes) &&
               (!two_words || return_in_word(beside, 0, ~std::uint64_t{0}, bytes));
    }
    // The same for one word, with those neighbours that are in `in_same`; with a backing, which has no payer, whole
    // units of it, and all their pages count.
    bool return_in_word(std::size_t w, std::uint64_t pages, std::uint64_t in_same, std::size_t& bytes) noexcept {
        const std::uint64_t others = bitmap_.taken_in_word(w) | (dirty_[w].load(std::memory_order_acquire) & ~pages);
        const std::uint64_t idle = backing_ == nullptr ? in_same & ~others : whole_units(w, pages);
        for (std::uint64_t wide = idle & existing_pages(w); wide != 0;) {
            const auto low = static_cast<std::size_t>(std::countr_zero(wide));
            const auto n = static_cast<std::size_t>(std::countr_one(wide >> low));
            const std::uint64_t bits = page_bitmap::run_mask(low, n);
            wide &= ~bits;
            trimmed_run here{*this, w * 64 + low, n};
            if (!here.begin()) continue; // another thread took some of them
            if ((system_.asks_by_unit() && !leave_units(here.first, n)) ||
                !(backing_ == nullptr ? system_.return_pages(here.first, n) : backing_->decommit(here.first, n)))
                return here.free(), false;
            const std::uint64_t was = dirty_[w].fetch_and(~bits, std::memory_order_acq_rel) & bits;
            const auto were_dirty = static_cast<std::size_t>(std::popcount(was));
            const std::size_t back = system_.bytes_of(backing_ != nullptr ? n : were_dirty);
            returned_.fetch_add(back, std::memory_order_relaxed);
            bytes += back;
            if (commits_) limit_.uncommit(were_dirty);
            if (payer_ != nullptr && back != 0) payer_->refund(back, here); // which calls here.free()
            else here.free();
            if (back != 0) {
                full_fence(); // the pages are free before requests that wait are looked for
                limit_.gave();
                the_system().gave();
            }
        }
        return true;
    }
    // The units of the backing that have some of these pages of a word, and no taken page.
    std::uint64_t whole_units(std::size_t w, std::uint64_t pages) const noexcept {
        const std::size_t each = backing_->pages_per_unit();
        const std::uint64_t taken = taken_pages(w);
        std::uint64_t whole = 0;
        for (std::size_t at = 0; at < 64; at += each)
            if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0 && (taken & unit) == 0)
                whole |= unit;
        return whole;
    }

    basic_spin_lock<lock_rank::arena> lock_; // for taking pages
    const bool returns_pages_;
    const bool under_pressure_; // a take that the system refuses trims, and asks again
    const bool lent_;
    bool commits_;            // pages are committed when they are taken; preallocated ones: for the payer
    std::size_t in_trim_ = 0; // pages of trimmed_run that are marked taken; requires lock_
    page_bitmap bitmap_;

    system_pages system_;
    page_backing* const backing_;
    word* const dirty_;
    page_payer* payer_ = nullptr; // null: nobody is charged here

    alignas(64) page_limit limit_;
    std::atomic<std::size_t> returned_{0}; // bytes
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
