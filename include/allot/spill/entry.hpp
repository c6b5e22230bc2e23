// An entry of a store: an object in memory, its bytes at a home, or both.
//
// A type that is stored has an entry of its own, which writes its objects and makes them again (stored.hpp).
// Invariant: `object` is there while the state says so; the store's lock guards the members; the thread that moves an
// entry has `kept` alone. Cost: 128 bytes, and what its type remembers; 32 per object, and the object.
// Threads: as the store says.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/spill/entry_state.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/pin_request.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {

class store;

namespace detail {

struct entry_group;

enum class pin_kind : std::uint8_t { reads, changes };

// An object in memory. Its end frees that.
class stored_object {
  public:
    explicit stored_object(std::size_t bytes) noexcept : charged(bytes) {}
    stored_object(const stored_object&) = delete;
    stored_object& operator=(const stored_object&) = delete;
    virtual ~stored_object() = default;
    // Ends it, and makes its memory free for requests of any kind.
    virtual void leave() noexcept { delete this; }

    // The bytes that are written, if they are in one piece; else none.
    virtual std::span<const std::byte> in_one_piece() const noexcept { return {}; }

    // Whether its memory is its own: an object that others have views of frees nothing.
    virtual bool may_leave() const noexcept { return true; }
    // Checked builds: it is at its home, too, so it may leave without a write; and whether it has not changed since.
    void note_kept() noexcept {
        if constexpr (ALLOT_CHECKED != 0) sum_ = sum_of_bytes();
    }
    bool is_as_kept() const noexcept { return ALLOT_CHECKED == 0 || sum_ == sum_of_bytes(); }

    std::size_t charged;
    stored_object* next = nullptr; // of those that leave together

  private:
    std::uint32_t sum_of_bytes() const noexcept {
        const std::span<const std::byte> all = in_one_piece();
        return crc32c(all.data(), all.size());
    }
    std::uint32_t sum_ = 0;
};

class store_entry {
  public:
    store_entry(store& of, account& charged) noexcept : in(of), by(charged) {}
    store_entry(const store_entry&) = delete;
    store_entry& operator=(const store_entry&) = delete;
    virtual ~store_entry() = default;

    // Both are called without the lock, by the thread that moves the entry, or with a share of what is kept.
    virtual home_status write(const stored_object& from, kept_bytes& to) noexcept = 0;
    // Makes the object. Null: `why`. Throws: what the type's own code throws, if it may wait.
    virtual stored_object* restore(const kept_bytes& from, const pin_request& memory, home_status& why) const = 0;

    bool is_moved() const noexcept { return state == spill::entry_state::leaving || has_no_bytes(); }
    // Nobody sees it, until it is away, or in memory again.
    bool has_no_bytes() const noexcept {
        return state == spill::entry_state::freeing || state == spill::entry_state::reading;
    }

    store& in;
    account& by;           // that its memory is charged to
    std::size_t bytes = 0; // that are written; of no bytes: it never leaves
    stored_object* object = nullptr;
    kept_bytes kept;
    spill::entry_state state = spill::entry_state::here;
    bool is_queued = false;
    bool is_marked = false; // its next use is later than that of those that were marked before
    bool is_orphan = false; // its handle has ended inside a call of the thread that moves it
    std::uint32_t pins = 0;
    std::uint32_t failed = 0; // the number of the last call in which it did not leave
    std::uintptr_t mover = 0; // the thread that moves it
    entry_group* group = nullptr;
    store_entry* next = nullptr;  // of those that are written together
    list_hook<store_entry> place; // in a queue of its group
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
