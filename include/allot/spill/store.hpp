// A store: objects that leave memory for a home while nobody uses them, when requests are short, and come back.
//
//     allot::spill_files files{disk, "/var/tmp"};
//     allot::store inputs{engine, files};                    // one reclaimer of `engine`, for all that is put into it
//     allot::stored<allot::buffer> batch = inputs.put(std::move(b));
//
// A request that its account refuses, or one above or below it, has the store free what is missing: of entries that are
// not pinned, and are charged there. The first to leave is
//   1  of no task; then of the task that is last in order. The requester's own come behind all others
//   2  what is at its home already: it need not be written
//   3  what was used least recently; among the oldest eight the smallest that is large enough alone. Those marked for
//      later use are behind, and the last that was marked is first
// While it writes, other requests are served: what is on its way counts as coming, and is not asked for twice.
// Invariant: an entry's bytes are in memory or at its home, or both; entry_state.hpp has the steps. No lock is held
// while bytes move, or memory is requested or freed. A thread waits for another only while that moves an entry, and
// waits for no memory. Cost: a buffer 216 bytes, and its room at the home; a pin of what is in memory takes a lock; a
// shortage O(groups), one for each task and account. Threads: any.
// Source: Spark-RAPIDS' SpillFramework, 2024; Mars' spill of chunks, 2018, which writes one that has not changed again.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/account/top_holders.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/cancellation.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/priority.hpp>
#include <allot/spill/entry.hpp>
#include <allot/spill/entry_queues.hpp>
#include <allot/spill/entry_state.hpp>
#include <allot/spill/entry_waits.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/home_room.hpp>
#include <allot/spill/pin_request.hpp>
#include <allot/spill/spill_error.hpp>
#include <allot/spill/store_report.hpp>
#include <allot/spill/store_stats.hpp>
#include <allot/spill/write_backoff.hpp>
#include <allot/spill/write_some.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/thread.hpp>
#include <allot/tree/wait_order.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class T> class stored;
template <class T> struct storing; // stored.hpp

/// A type that a store can hold: the header is included that says how.
template <class T> concept storable = requires { typename storing<T>::held; };

/// Requires: its account and its home outlive it; it outlives its handles.
class store final : public reclaimer {
    using entry = detail::store_entry;
    using object = detail::stored_object;
    using state = spill::entry_state;
    using event = spill::detail::entry_event;
    using guard = detail::lock_guard<detail::sys::mutex>;
    using pin_kind = detail::pin_kind;
    using permit = detail::write_backoff::permit;
    using leave_step = detail::leave_step;

  public:
    static constexpr std::uint32_t default_cost = 10;

    /// Serves requests that the account refuses, or one above or below it. `cost`: as of reclaimers. Requires: the name
    /// outlives it.
    store(account& of, home& keeps, allot::name called = allot::name{"store"},
          std::uint32_t cost = default_cost) noexcept
        : reclaimer(called.text, cost, reach::below_too), of_(of), home_(keeps) {
        of_.add(*this);
    }
    ALLOT_OUTLINE ~store() {
        of_.remove(*this);
        if (ALLOT_CHECKED != 0 && stats_.entries != 0)
            detail::report_misuse({.kind = misuse::living_handle, .heap = name()});
    }

    /// Takes the object over; from now on its memory may leave. docs/spill.md has the types.
    /// Requires: it is charged to the store's account, or one below it.
    /// Throws: out_of_memory where the host has no memory for the entry, or the object cannot be stored (`misused`); it
    /// is as it was then.
    template <class T>
        requires(storable<T> && !std::is_const_v<T>)
    stored<T> put(T&& value) {
        return stored<T>(*this, value);
    }
    /// Rejected at compile time: what a store cannot take over.
    template <class T>
        requires(!storable<T> || std::is_const_v<T>)
    void put(T&&) {
        static_assert(storable<std::remove_cvref_t<T>>,
                      "allot: a store does not hold this type; include the header that says how it is stored, as "
                      "<allot/spill/stored_buffer.hpp>, or specialize allot::storing for it (docs/spill.md)");
        static_assert(!std::is_lvalue_reference_v<T> && !std::is_const_v<T>,
                      "allot: a store takes the object over; pass std::move(object)");
    }

    /// Lets entries leave, in the order above, until that many bytes are free; first ends a pause of writes.
    /// Returns: the bytes that became free.
    std::size_t spill(std::size_t bytes) noexcept {
        end_pause();
        return let_leave(bytes);
    }
    /// The same, but for what a pause of writes keeps in memory.
    std::size_t let_leave(std::size_t bytes) noexcept {
        return free({.bytes = bytes}, [](std::size_t) {}, [](std::size_t, bool) {});
    }
    /// Ends the pause after a failed write, once the disk has been mended: requests write again, also those that wait.
    void end_pause() noexcept override {
        home_.end_pause();
        const auto ends = [this] {
            const guard hold(lock_);
            return backoff_.end_pause();
        };
        if (ends()) of_.notify_unused();
    }
    account& of() const noexcept { return of_; }
    home& keeps() const noexcept { return home_; }
    ALLOT_OUTLINE store_stats stats() const noexcept {
        const guard hold(lock_);
        store_stats now = stats_;
        now.free_to_leave = queues_.bytes();
        now.paused_ns = backoff_.left();
        return now;
    }

    // ---- for requests that are short --------------------------------------------------------------------------------

    bool helps(const shortage&) const noexcept override { return queues_.bytes() != 0; }
    bool frees_alone() const noexcept override { return true; }
    std::uint64_t tries_again_at() const noexcept override { return backoff().tries_at(); }
    ALLOT_OUTLINE std::size_t reclaimable(const account& at) const noexcept override {
        const guard hold(lock_);
        return queues_.bytes_at(at);
    }
    ALLOT_OUTLINE void describe(text_writer& out) const noexcept override { detail::write_store(out, home_, stats()); }
    ALLOT_OUTLINE void describe_failure(text_writer& out) const noexcept override {
        detail::write_failure(out, name(), home_, backoff());
    }
    /// Frees what is missing where the request was refused.
    ALLOT_OUTLINE bool reclaim(const shortage& s) noexcept override {
        const unsigned more = s.in_vain < 6 ? s.in_vain : 6; // others take what becomes free
        const std::size_t missing = s.missing();
        const detail::freed_for what{.bytes = missing << more >> more == missing ? missing << more : SIZE_MAX,
                                     .at = s.why.by == refuser::account ? s.why.at : nullptr,
                                     .requester = s.requester,
                                     .task = s.task};
        const auto begins = [&](std::size_t bytes) { comes(bytes), s.let_others_go_on(); };
        const auto ends = [&](std::size_t bytes, bool has_left) { has_left ? arrived(bytes) : failed(bytes); };
        return free(what, begins, ends) != 0;
    }

  private:
    template <class T> friend class stored; // a handle: it calls what follows, up to state_of()

    // ---- for handles ------------------------------------------------------------------------------------------------

    // An entry that is away, or that begin() follows for. Throws: std::bad_alloc.
    ALLOT_OUTLINE void add(entry& e) {
        detail::judged_thread* const thread = detail::judged_thread_of(e.by.node());
        const detail::judge::standing now = thread != nullptr ? thread->now() : detail::judge::standing{};
        const oom::task_id task = now.task;
        const oom::priority place = task != oom::no_id ? now.place : oom::priority{0, UINT64_MAX};
        std::unique_ptr<detail::entry_group> fresh;
        while (!try_add(e, task, place, fresh))
            fresh.reset(new detail::entry_group{.by = &e.by, .task = task, .place = place});
    }
    // It has its object.
    void begin(entry& e) noexcept {
        account& by = e.by;
        {
            const guard hold(lock_);
            stats_.in_memory += e.object->charged;
            queues_.push(e);
        }
        by.notify_unused(); // requests that wait may ask for it
    }
    // Ends it, behind a thread that moves it.
    ALLOT_OUTLINE void end(entry& e) noexcept {
        std::unique_ptr<detail::entry_group> emptied;
        {
            const guard hold(lock_);
            if (ALLOT_CHECKED != 0 && e.pins != 0) detail::report_misuse({.kind = misuse::living_pin, .heap = name()});
            if (moves(e)) { // inside a call of a user's code
                e.is_orphan = true;
                return;
            }
            while (e.is_moved()) wait_for_mover(e);
            emptied = take_out(e);
        }
        finish(e);
    }
    // Pins it in memory; in that of `to`, where it is away.
    // Throws: as a request for memory; spill_error. It is where it was then.
    ALLOT_OUTLINE void pin(entry& e, account& to, pin_kind how) {
        static constexpr wait_limit until_judged{forever};
        home_status why;
        const bool waits = detail::judged_thread_of(to.node()) != nullptr;
        if (pin_for(e, {to, waits ? &until_judged : nullptr}, how, why)) return;
        if (why.how != home_status::outcome::refused) raise(spill_error(name(), why));
        to.raise_verdict(why.why);
        detail::raise_refused(to.node(), why.why);
    }
    // The same; false: `why`. Throws: what the type's own code throws.
    ALLOT_OUTLINE bool pin_for(entry& e, const pin_request& memory, pin_kind how, home_status& why) {
        if (try_pin(e, memory.to, how, why)) return true;
        if (why.how != home_status::outcome::refused || why.why.outcome == charge_outcome::misused) return false;
        while (pin_in_memory(e, how) != found::here) {
            cancellation made_elsewhere{memory.ended_by()};
            const detail::entry_waits::of_pin wait{waits_, lock_, e, made_elsewhere};
            kept_bytes part;
            if (!share(e, part)) continue; // it is in memory
            object* const made = e.restore(part, memory.ended_also_by(made_elsewhere), why);
            if (made != nullptr) {
                if (pin_made(e, *made, how)) return true;
                delete made; // another thread has made it
            } else if (is_verdict(why.why.outcome) || pin_in_memory(e, how) != found::here) {
                const bool again = why.why.outcome == charge_outcome::cancelled && !memory.is_cancelled();
                if (!again) return note_failure(why), false;
            } else {
                return true;
            }
        }
        return true;
    }
    // The same; takes free memory alone, and waits for none. False: `why`.
    ALLOT_OUTLINE bool try_pin(entry& e, account& to, pin_kind how, home_status& why) noexcept {
        for (;;) {
            const found at = pin_in_memory(e, how);
            if (at == found::here) return true;
            if (at == found::own_call) {
                why = {
                    .how = home_status::outcome::refused,
                    .why = {.outcome = charge_outcome::misused, .name = "a pin inside a call about the object itself"}};
                return false;
            }
            const guard hold(lock_);
            if (e.state != state::away) continue;
            step(e, event::read);
            e.mover = detail::sys::thread_token();
            break;
        }
        object* const made = e.restore(e.kept, pin_request{to}, why);
        kept_bytes old;
        {
            const guard hold(lock_);
            if (made == nullptr) step(e, event::refused);
            else publish(e, *made, old), pin_locked(e, how, old);
            moved(e);
        }
        if (made == nullptr) return note_failure(why), false;
        make_room(e, old);
        detail::free_ahead(to.node()); // others leave, if that was past a watermark
        return true;
    }
    // Pins it where it is in memory; else `part` is a share of what its home keeps.
    bool pin_or_share(entry& e, kept_bytes& part) noexcept {
        for (;;) {
            if (pin_in_memory(e, pin_kind::reads) == found::here) return true;
            if (share(e, part)) return false;
        }
    }
    void unpin(entry& e) noexcept {
        account& by = e.by;
        {
            const guard hold(lock_);
            if (--e.pins != 0) return;
            queues_.push(e);
        }
        by.notify_unused(); // requests that wait may ask for it
    }
    // It may have changed: what it needs now, at its home and in memory.
    void unpin(entry& e, std::size_t bytes, std::size_t charged) noexcept {
        {
            const guard hold(lock_);
            stats_.in_memory += charged - e.object->charged;
            e.object->charged = charged;
            e.bytes = bytes;
        }
        unpin(e);
    }
    void mark_for_later(entry& e) noexcept {
        const guard hold(lock_);
        const bool is_queued = e.is_queued;
        queues_.pull(e);
        e.is_marked = true;
        if (is_queued) queues_.push(e);
    }
    // Lets it leave now. False: it is pinned, moved, away, of no bytes; or its home refuses, or fails: `why`.
    ALLOT_OUTLINE bool leave(entry& e, home_status& why) noexcept {
        {
            const guard hold(lock_);
            if (!e.is_queued) return false;
            begin_leave(e);
        }
        const permit alone = detail::write_backoff::for_one(home_.by().headroom());
        leave_step how = begin_write(e, why);
        if (how == leave_step::written && !(why = e.write(*e.object, e.kept))) how = leave_step::failed;
        return end_leave(e, how, alone, why);
    }
    // A share of what is kept at home, where it is written first if it must be. None: it is pinned, or of no bytes.
    // Throws: out_of_memory, spill_error where it cannot be written.
    ALLOT_OUTLINE kept_bytes share_of(entry& e) {
        for (;;) {
            home_status why;
            {
                const guard hold(lock_);
                while (e.is_moved() && !moves(e)) wait_for_mover(e);
                if (e.pins != 0 || e.bytes == 0 || e.is_moved()) return {};
                if (e.state != state::here) return e.kept.slice(0, e.kept.bytes());
            }
            if (leave(e, why) || why) continue;
            if (why.how != home_status::outcome::refused) raise(spill_error(name(), why));
            wait_for_room(why.why);
        }
    }
    // The home's account refused: its bytes are requested as any other, which may wait for them, and returned.
    void wait_for_room(const charge_status& why) const {
        account& by = home_.by();
        if (why.outcome != charge_outcome::over_limit || why.requested == 0) detail::raise_refused(by.node(), why);
        by.charge(why.requested);
        by.refund(why.requested);
    }
    // Whether the caller's pin is the only one, and no thread moves the entry.
    bool is_alone(entry& e) noexcept {
        const guard hold(lock_);
        while (e.is_moved() && !moves(e)) wait_for_mover(e);
        return e.pins == 1 && !e.is_moved();
    }
    // Ends an entry that the caller alone has pinned, and returns its object.
    std::unique_ptr<object> take(entry& e) noexcept {
        std::unique_ptr<object> taken;
        std::unique_ptr<detail::entry_group> emptied;
        {
            const guard hold(lock_);
            emptied = take_out(e);
            taken.reset(std::exchange(e.object, nullptr));
        }
        delete &e;
        return taken;
    }
    bool is_away(const entry& e) const noexcept { return !spill::detail::is_in_memory(state_of(e)); }
    spill::entry_state state_of(const entry& e) const noexcept {
        const guard hold(lock_);
        return e.state;
    }

    // ---- of its own -------------------------------------------------------------------------------------------------

    static bool moves(const entry& e) noexcept { return e.is_moved() && e.mover == detail::sys::thread_token(); }
    static void step(entry& e, event by) noexcept {
        ALLOT_ASSERT(spill::detail::is_legal(e.state, by), "an entry's state takes the event");
        e.state = spill::detail::after(e.state, by);
    }

    bool try_add(entry& e, oom::task_id task, const oom::priority& place,
                 std::unique_ptr<detail::entry_group>& fresh) noexcept {
        const guard hold(lock_);
        if (!queues_.add(e, task, place, fresh)) return false;
        ++stats_.entries;
        return true;
    }
    std::unique_ptr<detail::entry_group> take_out(entry& e) noexcept {
        --stats_.entries;
        if (e.object != nullptr) stats_.in_memory -= e.object->charged;
        return queues_.take_out(e);
    }
    static void finish(entry& e) noexcept {
        delete e.object;
        delete &e;
    }

    // Requires the lock, which it gives up meanwhile.
    void wait_for_mover(const entry& e) noexcept { waits_.wait_for_mover(lock_, e); }
    // The entry is not moved any more.
    void moved(entry& e) noexcept {
        e.mover = 0;
        waits_.moved(e);
    }

    // Where a pin finds the object; own_call: the thread moves it, and calls from inside.
    enum class found : std::uint8_t { here, away, own_call };
    found pin_in_memory(entry& e, pin_kind how) noexcept {
        kept_bytes old;
        {
            const guard hold(lock_);
            if (moves(e) && (how == pin_kind::changes || e.has_no_bytes())) return found::own_call;
            while (e.has_no_bytes()) wait_for_mover(e);
            if (!spill::detail::is_in_memory(e.state)) return found::away;
            pin_locked(e, how, old);
        }
        make_room(e, old);
        return found::here;
    }
    void pin_locked(entry& e, pin_kind how, kept_bytes& old) noexcept {
        queues_.pull(e);
        e.is_marked = false; // this is its use
        ++e.pins;
        if (how == pin_kind::reads) return;
        while (e.state == state::leaving) wait_for_mover(e); // it is pinned, so it stays
        if (e.state == state::both) old = std::move(e.kept);
        step(e, event::change);
    }
    // `old`: what its home kept, and is no longer valid. Its room serves again, if no other entry shares it.
    void make_room(entry& e, kept_bytes& old) noexcept {
        if (!old) return;
        if (!old.drop()) old = kept_bytes(home_, e.bytes); // none: it is tried again when the entry is written
        const guard hold(lock_);
        if (!e.kept) e.kept = std::move(old);
    }
    bool share(entry& e, kept_bytes& part) noexcept {
        const guard hold(lock_);
        if (e.state != state::away) return false;
        part = e.kept.slice(0, e.kept.bytes());
        return true;
    }
    void publish(entry& e, object& made, kept_bytes& old) noexcept {
        e.object = &made;
        made.note_kept();
        ++stats_.read, stats_.bytes_read += e.bytes, stats_.in_memory += made.charged;
        if (!home_.keeps_copies()) old = std::move(e.kept);
        step(e, home_.keeps_copies() ? event::made : event::moved);
        waits_.made(e);
    }
    bool pin_made(entry& e, object& made, pin_kind how) noexcept {
        kept_bytes old;
        {
            const guard hold(lock_);
            if (e.state != state::away) return false;
            publish(e, made, old);
            pin_locked(e, how, old);
        }
        make_room(e, old);
        return true;
    }

    // begin_write() and end_leave() follow, on this thread.
    void begin_leave(entry& e) noexcept {
        queues_.pull(e);
        step(e, event::leave);
        e.mover = detail::sys::thread_token();
    }
    // Returns what is to be done: to write it, or, where its home keeps it, nothing. Else it stays, since others have
    // views of it; it is pinned by now; or it has no room at its home: `why`.
    ALLOT_OUTLINE leave_step begin_write(entry& e, home_status& why) noexcept {
        {
            const guard hold(lock_);
            if (e.pins != 0) return leave_step::cancelled;
        }
        if (!e.object->may_leave()) {
            detail::report_misuse({.kind = misuse::other_views, .heap = name()});
            return leave_step::stays;
        }
        if (e.kept.is_written()) {
            if (!e.object->is_as_kept()) detail::report_misuse({.kind = misuse::changed_while_read, .heap = name()});
            return leave_step::is_kept;
        }
        if (!e.kept.has_room(e.bytes)) e.kept = kept_bytes(home_, e.bytes);
        if (e.kept) return leave_step::written;
        why = {.how = home_status::outcome::refused, .why = {.outcome = charge_outcome::no_memory}};
        return leave_step::failed;
    }
    // Returns: whether its memory was freed: before others see that it has left, since its account may end then. The
    // entry may have ended, too.
    ALLOT_OUTLINE bool end_leave(entry& e, leave_step how, const permit& by, const home_status& why) noexcept {
        object* gone = nullptr;
        bool is_well_again = false;
        std::size_t needs = 0; // of room at home
        if (how == leave_step::written) e.object->note_kept();
        {
            const guard hold(lock_);
            if (how == leave_step::written)
                ++stats_.written, stats_.bytes_written += e.bytes, is_well_again = backoff_.written(by);
            if (how == leave_step::failed)
                ++stats_.failures, stats_.last_failure = why, needs = backoff_.failed(by, home_.by(), e.bytes, why);
            if (how > leave_step::failed && e.pins == 0) step(e, event::written), gone = let_go(e);
        }
        if (gone != nullptr) gone->leave();
        bool is_orphan = false;
        std::unique_ptr<detail::entry_group> emptied;
        {
            const guard hold(lock_);
            if (gone != nullptr) step(e, event::left);
            else if (how > leave_step::failed) step(e, event::kept);
            else e.failed = by.call, step(e, e.kept.is_written() ? event::kept : event::failed);
            if (how != leave_step::stays) queues_.push(e); // else it is asked again when it has been pinned
            moved(e);
            is_orphan = e.is_orphan;
            if (is_orphan) emptied = take_out(e);
        }
        if (is_orphan) finish(e);
        if (is_well_again) of_.notify_unused();
        if (needs != 0) home_has_room_.tell_at(needs);
        return gone != nullptr;
    }
    object* let_go(entry& e) noexcept {
        e.by.node().count_spilled(e.object->charged);
        ++stats_.left, stats_.bytes_left += e.object->charged, stats_.in_memory -= e.object->charged;
        return std::exchange(e.object, nullptr);
    }
    void note_failure(const home_status& why) noexcept {
        const guard hold(lock_);
        if (why.how == home_status::outcome::refused) return; // by the account that it comes back to
        ++stats_.failures;
        stats_.last_failure = why;
    }
    detail::write_backoff backoff() const noexcept {
        const guard hold(lock_);
        return backoff_;
    }

    // begins(bytes): they will be freed, or not; ends(bytes, freed). Returns: the bytes that became free.
    template <class Begins, class Ends>
    std::size_t free(const detail::freed_for& what, Begins begins, Ends ends) noexcept {
        std::size_t freed = 0;
        unsigned failures = 0;
        permit mine;
        while (freed < what.bytes) {
            const std::size_t room = home_.by().headroom();
            entry *picked = nullptr, **last = &picked;
            std::size_t sum = 0;
            { // a round, so that nobody waits long for the lock, or for one that was picked
                const guard hold(lock_);
                if (mine.call == 0) mine.call = ++calls_ != 0 ? calls_ : ++calls_;
                mine = backoff_.next(mine, room);
                const std::size_t missing = detail::min(what.bytes - freed, most_in_a_round);
                if (failures >= most_failures) mine.too_large = 0; // what is at home may leave
                detail::entry_queues::picker next(queues_, what, mine.call, mine.too_large);
                unsigned n = 0;
                for (entry* e; n++ != kept_bytes::most_together && sum < missing && (e = next.next(missing - sum));) {
                    const bool is_written = e->state == state::here;
                    sum += e->object->charged;
                    begin_leave(*e);
                    e->next = nullptr, *last = e, last = &e->next;
                    if (is_written) backoff_.begin(mine);
                    if (is_written && mine.is_one_by_one()) break;
                }
            }
            if (sum == 0) break;
            begins(sum);
            const auto end = [&](entry& e, leave_step how, const home_status& why) {
                const std::size_t bytes = e.object->charged;
                const bool left = end_leave(e, why ? how : leave_step::failed, mine, why);
                ends(bytes, left);
                if (left) freed += bytes;
                else if (!why && !detail::write_backoff::is_refused_by(home_.by(), why)) ++failures;
            };
            const auto begin = [this](entry& e, home_status& why) { return begin_write(e, why); };
            while (picked != nullptr) detail::write_some(home_, picked, begin, end);
        }
        return freed;
    }

    static constexpr unsigned most_failures = 3; // of a home, in one call
    static constexpr std::size_t most_in_a_round = std::size_t{8} << 20;

    account& of_;
    home& home_;
    mutable detail::sys::mutex lock_{detail::lock_rank::store};
    detail::entry_queues queues_;
    detail::entry_waits waits_;
    detail::write_backoff backoff_;
    std::uint32_t calls_ = 0; // of free()
    store_stats stats_;
    detail::home_room home_has_room_{of_, home_.by()};
};

} // namespace allot::inline ALLOT_ABI
