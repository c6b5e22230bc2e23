// How a store keeps the rows of an array: their types and bytes; rows that are more than their bytes encoded
// (row_encoding.hpp).
//
//     allot::stored<allot::row_array<Set>> run = inputs.put(std::move(sorted));      `sorted` is empty then
//     for (void* const row : run.pin()->read()) ...                                  in the same order
//     std::move(run).take_into(merged);                                              appended to another array
//
// Rows come back from the manager's own heaps, with their types, seals and contents; null and constants stay addresses.
// A row whose memory is larger by then has zeros behind its bytes. What becomes free is the capacity of the rows and
// of the array's slots: an estimate, since it is charged until whole pages are empty. A type that is relocated as
// bytes, and has a destructor, needs an encoding, too: nobody could end what its bytes own while they are away.
// Requires: the manager outlives the handles; the rows have no links but the array's; while they are in the store, none is linked or changed. Checked
// builds report what is not so. Cost: to write looks each row up three times, and requests no memory; then the manager
// is trimmed. A read of rows that are encoded borrows up to 1 MiB of the manager. Threads: as stored.hpp says.
#pragma once

#include <allot/account/top_holders.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/row_encoding.hpp>
#include <allot/core/row_type.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_manager.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/kept_rows.hpp>
#include <allot/spill/spill_error.hpp>
#include <allot/spill/stored.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A row without an object: released, unless it is kept.
template <class Set> struct raw_row {
    row_manager<Set>& rows;
    void* address;
    ~raw_row() {
        if (address != nullptr) rows.release(address);
    }
    void* keep() noexcept { return std::exchange(address, nullptr); }
};

} // namespace detail

/// put() leaves the array empty. halves() are in rows.
/// Throws: out_of_memory, as misused, for a row that has other links, is of another manager, or is more than its bytes
/// and of a type without encode. The array is unchanged then.
template <class Set> struct storing<row_array<Set>> {
    using held = row_array<Set>;

    storing(held& of, account&) : rows(contents::manager(of)), by(account_of(rows)) {
        detail::seen_row<Set> row{rows};
        for (void* const address : contents::rows(of)) {
            row.see(address);
            if (row.fault) detail::raise_not_storable(*row.fault, by.name(), row.type);
            kept.add(row.word());
        }
        bytes = kept.all();
    }

    static held hold(held& from) noexcept {
        return contents::make(contents::manager(from), [&](held& to) noexcept { contents::move(to, from); });
    }
    static std::size_t charged(const held& of) noexcept {
        std::size_t sum = of.capacity() * sizeof(void*);
        for (void* const row : contents::rows(of)) sum += allot::capacity(row);
        return sum;
    }
    // What became free is in caches, and in pages that stay charged: the request may be for another size, or for pages.
    static auto has_left(const held& of) noexcept {
        return [&rows = contents::manager(of)]() noexcept { rows.trim(); };
    }
    home_status write(const held& from, kept_bytes& to) const noexcept {
        detail::row_source<Set> source{rows, contents::rows(from), bytes};
        const home_status s = to.write(source);
        if (!s && !source.has_no_more()) return s;
        const char* const fault = source.fault();
        if (fault == nullptr) return s;
        if (s) to.drop();
        return {.how = home_status::outcome::failed, .call = fault};
    }
    held make(const kept_bytes& from, const pin_request& by_pin, home_status& why) const {
        return contents::make(rows, [&](held& to) { bring_back(to, from, by_pin, why); });
    }
    // Appends them to an array of the same manager. Throws: as its reserve(); nothing has changed then.
    static void move_into(held& to, held& mine) {
        account& by = account_of(contents::manager(mine));
        if (&contents::manager(to) != &contents::manager(mine))
            detail::raise_not_storable(misuse::not_shared_arena, by.name());
        if (!to.reserve(to.size() + mine.size()))
            detail::raise_refused(by.node(), {.outcome = charge_outcome::no_memory});
        auto all = mine.lock();
        for (void* const row : all) static_cast<void>(to.try_push_back(row)); // has room
        all.take_front(all.rows().size());
    }
    std::size_t count() const noexcept { return kept.rows; }
    stored_part<held> part(std::size_t from, std::size_t n, const kept_bytes& whole, home_status& why) const noexcept {
        const detail::rows_kept all = kept.in(whole), before = sum(whole, all.words_at, from, why),
                                mine = sum(whole, all.words_at + before.words(), n, why);
        stored_part<held> p{*this, whole.slice(0, whole.bytes())};
        p.how.kept = mine;
        p.how.kept.words_at = all.words_at + before.words();
        p.how.kept.bytes_at = all.bytes_at + before.bytes;
        p.how.kept.encodings_at = all.encodings_at + before.encodings;
        p.how.bytes = mine.all();
        return p;
    }

    row_manager<Set>& rows;
    account& by;
    detail::rows_kept kept;
    std::size_t bytes = 0;

  private:
    using contents = detail::array_contents;
    static constexpr bool is_charged = detail::row_policies<Set>::in_tree;
    static constexpr std::size_t most_borrowed = 1_MiB, few = 1_KiB;

    static account& account_of(row_manager<Set>& of) noexcept {
        static_assert(is_charged,
                      "allot: rows of a store are charged to an account; add ledger::tree or ledger::pool to the set");
        if constexpr (is_charged) return of.account();
    }
    static detail::rows_kept sum(const kept_bytes& whole, std::size_t at, std::size_t n, home_status& why) noexcept {
        detail::word_sink words{n};
        if (n != 0 && why) why = whole.read(at, words);
        return words.sum;
    }
    // Where that fails, the array has the rows that were made.
    void bring_back(held& into, const kept_bytes& from, const pin_request& by_pin, home_status& why) const {
        const detail::rows_kept parts = kept.in(from);
        const bool has = by_pin.make([&] { return into.try_reserve(kept.rows, &why.why); },
                                     [&](const wait_limit& most) {
                                         if constexpr (is_charged) return into.reserve_for(kept.rows, most, &why.why);
                                         else return false;
                                     });
        if (!has) return refused(why);
        void** const slots = contents::slots(into); // the words come into them, and each is replaced by its row
        byte_sink words{{reinterpret_cast<std::byte*>(slots), kept.words()}};
        if (!(why = from.read(parts.words_at, words))) return;

        std::byte little[few];
        std::size_t n = 0;
        const detail::raw_row<Set> borrowed{rows, borrow(n)};
        const std::span<std::byte> through =
            borrowed.address != nullptr ? std::span{static_cast<std::byte*>(borrowed.address), n} : std::span{little};
        detail::encodings_at_home encodings{from, parts.encodings_at, kept.encodings, through, by_pin.may_wait()};
        for (std::size_t i = 0; i != kept.rows; ++i) {
            detail::row_word word;
            std::memcpy(&word.bits, slots + i, sizeof word);
            void* row = word.address();
            if (word.is_row()) {
                row = word.encoded() ? decoded(word, encodings, by_pin, why) : fresh(word, word.bytes(), by_pin, why);
                if (row == nullptr) return;
            }
            slots[i] = row;
            contents::set_size(into, i + 1);
        }
        if (kept.bytes != 0) {
            detail::row_sink<Set> bytes_of_rows{rows, contents::rows(into), kept.bytes};
            why = from.read(parts.bytes_at, bytes_of_rows);
        }
        detail::seen_row<Set> row{rows};
        for (void* const address : contents::rows(into))
            if (row.see(address); row.sealed) allot::seal(address); // of what is in it now
    }
    static void refused(home_status& why) noexcept {
        why.how = home_status::outcome::refused;
        if (why.why.charged()) why.why.outcome = charge_outcome::no_memory;
    }
    // Memory to read encodings through, if any is free.
    void* borrow(std::size_t& n) const noexcept {
        const cost_cap calls_none{reclaimer::idle};
        for (n = detail::min(kept.encodings, most_borrowed); n > few; n /= 16)
            if (void* const row = rows.try_allocate(n)) return row;
        return nullptr;
    }
    const row_type& type_of(const detail::row_word& w) const noexcept {
        return *detail::row_access::core(rows).context().types[w.type()];
    }
    void* memory_for(const row_type& type, std::size_t n, const pin_request& by_pin, home_status& why) const noexcept {
        void* const row = by_pin.make([&] { return rows.try_allocate(n, type, &why.why); },
                                      [&](const wait_limit& most) -> void* {
                                          if constexpr (is_charged) return rows.allocate_for(n, most, type, &why.why);
                                          else return nullptr;
                                      });
        if (row == nullptr) refused(why);
        return row;
    }
    // A row for bytes that come later.
    void* fresh(const detail::row_word& w, std::size_t n, const pin_request& by_pin, home_status& why) const {
        detail::raw_row<Set> row{rows, memory_for(type_of(w), n, by_pin, why)};
        if (row.address == nullptr) return nullptr;
        if (rows.capacity(row.address) != n) return refused(why), nullptr; // of no heap, since the host has no memory
        return finish(w, row.keep());
    }
    void* decoded(const detail::row_word& w, detail::encodings_at_home& from, const pin_request& by_pin,
                  home_status& why) const {
        std::uint64_t n = 0;
        row_reader& reader = from.reader;
        reader.begin(w.bytes());
        if (!reader.get(&n, sizeof n)) return cannot_read(from, why), nullptr;
        const row_type& type = type_of(w);
        detail::raw_row<Set> row{rows, memory_for(type, n, by_pin, why)};
        if (row.address == nullptr) return nullptr;
        if (!decode(type, row.address, reader))
            return reader.has_failed() ? cannot_read(from, why) : not_made(type, by_pin, why), nullptr;
        if (!reader.end()) {
            if (type.destroy != nullptr) type.destroy(row.address);
            return cannot_read(from, why), nullptr;
        }
        return finish(w, row.keep());
    }
    static bool decode(const row_type& type, void* row, row_reader& from) {
#if ALLOT_EXCEPTIONS
        if (!from.may_wait()) {
            try {
                return type.decode(row, from);
            } catch (...) {
                return false;
            }
        }
#endif
        return type.decode(row, from);
    }
    static void cannot_read(const detail::encodings_at_home& from, home_status& why) noexcept {
        why = from.status;
        if (why) why = {.how = home_status::outcome::damaged, .call = "decode"};
    }
    // Without a wait it may have had no memory.
    static void not_made(const row_type& type, const pin_request& by_pin, home_status& why) noexcept {
        if (by_pin.may_wait()) why.how = home_status::outcome::failed;
        else refused(why);
        why.call = "decode", why.file = type.name;
    }
    static void* finish(const detail::row_word& w, void* row) noexcept {
        if (w.constructed()) allot::finalize(row);
        if (w.sealed()) allot::seal(row);
        return row;
    }
};

} // namespace allot::inline ALLOT_ABI
