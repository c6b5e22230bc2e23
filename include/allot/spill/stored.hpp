// A handle of an object in a store.
//
//     allot::stored<allot::buffer> batch = inputs.put(std::move(b));
//     {
//         const auto data = batch.pin();                 // in memory; it stays there until `data` ends
//         sum += data->get<int>(0);
//     }                                                  // may leave again
//     batch.pin_to_change()->set<int>(0, 42);            // what its home keeps is dropped: it is written again
//     allot::buffer mine = std::move(batch).take(query); // for one consumer: in its memory; the handle is empty
//
// A type is stored by way of a `storing<T>`, which says how its objects are written, and made again:
//     held                      what a pin shows
//     storing(T&, account)      what is remembered of an object while it is away, charged there if nowhere else; throws
//                               where it cannot be stored
//     by, bytes                 the account that is charged; the bytes that are written
//     hold(T&) -> held          takes the object over
//     charged(held)             bytes that become free when it leaves
//     write(held, kept)         writes it
//     may_leave(held)           optional: false: others have views of it, so it would free nothing
//     in_one_piece(held)        optional: its bytes, where they are in one piece; small ones are written together
//     make(kept, pin_request, why) -> held         makes it again; where that fails, `why` says so, and nobody uses it
//     move_to(account, held&)   charges it to another account; throws where that refuses
//     move_into(T&, held&)      instead, where held cannot be moved: for take_into(); such an object is not changed
//     has_left(held)            a function to call when it has left, if there is more to do then
//     count()                   of its bytes, values or rows
//     part(from, n, kept, why)  what is remembered of `n` of them, and the part of what is kept that they need; where
//                               that cannot be read, `why` says so
// Invariant: an empty handle has 0 bytes. Cost: 8 bytes. Threads: one at a time; any may pin. Source: as store.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/spill/entry.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/pin_request.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/spill/store.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

/// A part of an object that is away.
template <class T> struct stored_part {
    storing<T> how;
    kept_bytes kept; // a share of the whole's
};

namespace detail {

template <class T> class entry_of final : public store_entry {
  public:
    using held = typename storing<T>::held;

    struct object final : stored_object {
        template <class Make> explicit object(Make make) : stored_object(0), value(make()) {}
        std::span<const std::byte> in_one_piece() const noexcept override {
            if constexpr (requires { storing<T>::in_one_piece(value); }) return storing<T>::in_one_piece(value);
            else return {};
        }
        bool may_leave() const noexcept override {
            if constexpr (requires { storing<T>::may_leave(value); }) return storing<T>::may_leave(value);
            else return true;
        }
        void leave() noexcept override {
            if constexpr (requires { storing<T>::has_left(value); }) {
                const auto frees = storing<T>::has_left(value);
                delete this;
                frees();
            } else {
                delete this;
            }
        }
        held value;
    };

    entry_of(store& of, const storing<T>& type) : store_entry(of, type.by), how(type) { bytes = how.bytes; }
    ~entry_of() override = default;

    // Throws: out_of_memory; the value is as it was then.
    void hold(T& value) {
        kept = kept_bytes(in.keeps(), bytes);
        std::unique_ptr<object> made{kept ? new (std::nothrow) object([&] { return how.hold(value); }) : nullptr};
        if (made == nullptr) raise_no_entry();
        made->charged = how.charged(made->value);
        store_entry::object = made.release();
    }
    home_status write(const stored_object& from, kept_bytes& to) noexcept override {
        return how.write(value_of(from), to);
    }
    stored_object* restore(const kept_bytes& from, const pin_request& memory, home_status& why) const override {
        why = {};
        object* const made = new (std::nothrow) object([&] { return how.make(from, memory, why); });
        if (made == nullptr)
            why = {.how = home_status::outcome::refused, .why = {.outcome = charge_outcome::no_memory}};
        if (made == nullptr || !why) {
            delete made;
            return nullptr;
        }
        made->charged = how.charged(made->value);
        return made;
    }
    // Its size may be another one now. What cannot be stored any more, as a buffer with other views, stays in memory.
    void note_changed() noexcept {
        held& now = value_of(*store_entry::object);
#if ALLOT_EXCEPTIONS
        try {
            note(storing<T>(now, by));
        } catch (const std::bad_alloc&) {
            how.bytes = 0;
        }
#else
        note(storing<T>(now, by));
#endif
    }
    static held& value_of(stored_object& o) noexcept { return static_cast<object&>(o).value; }
    static const held& value_of(const stored_object& o) noexcept { return static_cast<const object&>(o).value; }

    storing<T> how;

  private:
    void note(const storing<T>& now) noexcept {
        if (&now.by != &by) {
            report_misuse({.kind = misuse::other_account, .heap = now.by.name()});
            how.bytes = 0;
            return;
        }
        std::destroy_at(&how);
        std::construct_at(&how, now);
    }
    [[noreturn]] ALLOT_COLD static void raise_no_entry() {
        allot::raise(out_of_memory{"allot: the host has no memory for an entry of a store", ""});
    }
};

} // namespace detail

/// An object that may leave its memory while it is not pinned. Move-only.
/// Requires: its store outlives it; it outlives its pins.
template <class T> class stored {
    using entry = detail::entry_of<T>;
    using held = typename storing<T>::held;
    using pin_kind = detail::pin_kind;
    static constexpr bool can_move = std::movable<held>, is_fixed = !can_move;
    static constexpr home_status nothing_is_held{
        .how = home_status::outcome::refused, .why = {.outcome = charge_outcome::misused, .name = "an empty handle"}};

    template <class Held> class pin_of {
      public:
        pin_of(pin_of&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        pin_of& operator=(pin_of&& other) noexcept {
            pin_of now{std::move(other)};
            std::swap(of_, now.of_);
            return *this;
        }
        ~pin_of() {
            if (of_ == nullptr) return;
            if constexpr (std::is_const_v<Held>) {
                of_->in.unpin(*of_);
            } else {
                of_->note_changed();
                of_->in.unpin(*of_, of_->how.bytes, of_->how.charged(**this));
            }
        }
        explicit operator bool() const noexcept { return of_ != nullptr; }
        Held& operator*() const noexcept { return entry::value_of(*of_->store_entry::object); }
        Held* operator->() const noexcept { return &**this; }

      private:
        friend stored;
        explicit pin_of(entry* of) noexcept : of_(of) {}
        entry* of_; // null: nothing is pinned
    };

  public:
    /// The object, to be read; it stays in memory until this ends. Requires: no view of it outlives this, and nothing
    /// of it is changed.
    using pinned = pin_of<const held>;
    /// The object, to be read and changed. Requires: no other pin of it reads what is changed.
    using pinned_to_change = pin_of<held>;

    stored() noexcept = default;
    stored(stored&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    stored& operator=(stored&& other) noexcept {
        stored now{std::move(other)};
        std::swap(entry_, now.entry_);
        return *this;
    }
    /// Frees the object, wherever it is; behind a thread that reads or writes it now.
    ~stored() {
        if (entry_ != nullptr) entry_->in.end(*entry_);
    }

    /// Brings the object back, if it left. Throws: as a request for its memory; spill_error where it cannot be read. It
    /// is where it was then. Of an empty handle: out_of_memory, with the status misused.
    pinned pin() const { return pin_as<pinned>(pin_kind::reads); }
    /// The same. What the home keeps of it is dropped, so it is written again when it leaves.
    pinned_to_change pin_to_change()
        requires can_move
    {
        return pin_as<pinned_to_change>(pin_kind::changes);
    }
    /// The same as pin(), if that takes no wait and nobody else's memory; else it holds nothing, and `why` says why.
    pinned try_pin(home_status* why = nullptr) const noexcept {
        return pin_or_not(why, [](entry& e, home_status& s) { return e.in.try_pin(e, e.by, pin_kind::reads, s); });
    }
    /// The same as pin(), and waits for memory: until another thread has brought the object back, if that is earlier.
    /// It holds nothing where the wait has ended, or the object cannot be read: `why`.
    /// Throws: what the type's own code throws.
    pinned pin_for(const wait_limit& most, home_status* why = nullptr) const {
        return pin_or_not(why,
                          [&](entry& e, home_status& s) { return e.in.pin_for(e, {e.by, &most}, pin_kind::reads, s); });
    }
    /// The object, for one consumer, charged to the account; what its home keeps is dropped, and the handle is empty.
    /// Throws: as pin(), of which it is one; as `misused` where others pin it. Nothing has changed then.
    held take(account& to) &&
        requires can_move
    {
        const auto ends = end_with(&to, [&](held& mine) { entry_->how.move_to(to, mine); });
        return std::move(entry::value_of(*ends));
    }
    /// The same, charged to the account that it was put with.
    held take() &&
        requires can_move
    {
        if (entry_ == nullptr) raise_misused(misuse::moved_from);
        return std::move(*this).take(entry_->by);
    }
    /// The same for what cannot be moved as a whole: rows are appended to the consumer's array.
    void take_into(T& to) &&
        requires is_fixed
    {
        static_cast<void>(end_with(nullptr, [&](held& mine) { entry_->how.move_into(to, mine); }));
    }

    /// Lets it leave now. Returns: false where nothing was tried, since it is pinned, moved by another thread, away, or
    /// of no bytes: `why` is done; or its home refuses or fails, or the handle is empty: `why` says so.
    bool spill(home_status* why = nullptr) const noexcept {
        home_status s = nothing_is_held;
        const bool left = entry_ != nullptr && entry_->in.leave(*entry_, s = {});
        if (why != nullptr) *why = s;
        return left;
    }
    /// Its next pin is later than those of all objects that were marked before: it leaves before them, and behind what
    /// is not marked. A pin ends that.
    void mark_for_later() const noexcept {
        if (entry_ != nullptr) entry_->in.mark_for_later(*entry_);
    }
    /// The object as two, cut at a multiple of `unit` bytes, values or rows; none if it has less than two units, or is
    /// pinned, which checked builds report. A unit of 0 is 1. It is written first, if its home does not keep it. The
    /// parts are away, and share what is kept: that ends with the last of them and this.
    /// Throws: out_of_memory, spill_error where it cannot be written; nothing has changed then.
    std::vector<stored> halves(std::size_t unit = 1) const {
        std::vector<stored> parts;
        if (entry_ == nullptr) return parts;
        if (unit == 0) unit = 1;
        const std::size_t count = entry_->how.count(), first = count / 2 / unit * unit;
        if (first == 0) return parts;
        const kept_bytes whole = entry_->in.share_of(*entry_);
        if (!whole) {
            detail::report_misuse({.kind = misuse::pinned_halves, .heap = entry_->in.name()});
            return parts;
        }
        home_status why;
        stored_part<T> one = entry_->how.part(0, first, whole, why);
        stored_part<T> two = entry_->how.part(first, count - first, whole, why);
        if (!why) raise(spill_error(entry_->in.name(), why));
        parts.reserve(2);
        parts.push_back(stored{entry_->in, std::move(one)});
        parts.push_back(stored{entry_->in, std::move(two)});
        return parts;
    }

    /// A share of what its home keeps, where it is written first if it must be: for spill_files::extents_of(). None if
    /// it is pinned, or has no bytes. Throws: as halves().
    kept_bytes at_home() const { return entry_ != nullptr ? entry_->in.share_of(*entry_) : kept_bytes{}; }
    /// Bytes that it needs at its home.
    std::size_t bytes() const noexcept { return entry_ != nullptr ? entry_->bytes : 0; }
    /// The account that its memory is charged to, where it is; null: none, it was moved from.
    account* holder() const noexcept { return entry_ != nullptr ? &entry_->by : nullptr; }
    bool is_away() const noexcept { return entry_ != nullptr && entry_->in.is_away(*entry_); }
    spill::entry_state state() const noexcept {
        return entry_ != nullptr ? entry_->in.state_of(*entry_) : spill::entry_state::here;
    }
    explicit operator bool() const noexcept { return entry_ != nullptr; }

  private:
    friend class store;
    friend class spill_memory;

    // Pins it where it is in memory; else this holds nothing, and `part` is a share of what its home keeps.
    pinned pin_here(kept_bytes& part) const noexcept {
        return pinned{entry_->in.pin_or_share(*entry_, part) ? entry_ : nullptr};
    }
    explicit stored(std::unique_ptr<entry> made) {
        made->in.add(*made);
        entry_ = made.release();
    }
    stored(store& in, T& value) : stored(std::make_unique<entry>(in, storing<T>(value, in.of()))) {
        if (ALLOT_CHECKED != 0 && !entry_->by.node().is_below(in.of().node()))
            detail::report_misuse({.kind = misuse::not_of_store, .heap = entry_->by.name()});
        entry_->hold(value);
        in.begin(*entry_);
    }
    stored(store& in, stored_part<T> part) : stored(away(in, std::move(part))) {}
    static std::unique_ptr<entry> away(store& in, stored_part<T> part) {
        auto made = std::make_unique<entry>(in, part.how);
        made->kept = std::move(part.kept);
        made->state = spill::entry_state::away;
        return made;
    }
    template <class Pin> pinned pin_or_not(home_status* why, Pin pin) const {
        home_status s = nothing_is_held;
        const bool has = entry_ != nullptr && pin(*entry_, s);
        if (why != nullptr) *why = has ? home_status{} : s;
        return pinned{has ? entry_ : nullptr};
    }
    template <class Pin> Pin pin_as(pin_kind how, account* to = nullptr) const {
        if (ALLOT_UNLIKELY(entry_ == nullptr)) raise_misused(misuse::moved_from);
        entry_->in.pin(*entry_, to != nullptr ? *to : entry_->by, how);
        return Pin{entry_};
    }
    // move() gives the object away, while this alone has it. Where it throws, nothing has changed: a pin to read.
    template <class Move> auto end_with(account* to, Move move) {
        pinned mine = pin_as<pinned>(pin_kind::reads, to);
        if (!entry_->in.is_alone(*entry_)) raise_misused(misuse::living_pin);
        move(entry::value_of(*entry_->store_entry::object));
        mine.of_ = nullptr;
        entry* const ended = std::exchange(entry_, nullptr);
        return ended->in.take(*ended);
    }
    [[noreturn]] ALLOT_COLD static void raise_misused(misuse what) {
        detail::report_misuse({.kind = what});
        char line[out_of_memory::line_bytes];
        text_writer text{line};
        text.put("allot: ").put(text_of(what));
        allot::raise(out_of_memory{text.view(), "", {.outcome = charge_outcome::misused}});
    }

    entry* entry_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
