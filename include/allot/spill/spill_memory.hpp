// A home in memory of another account: what left a small, fast memory is kept in a larger one.
//
//     allot::account disk{allot::name{"cold"}, allot::limit{8_GiB}};
//     allot::spill_memory far{memory, cold};
//     allot::store inputs{engine, far};
//
// With a home below it is a tier: what it keeps is a store of that home, and leaves for it when its own account is
// short.
//
//     allot::spill_memory host{memory, ram, files};          device -> host -> files
//     allot::store inputs{device, host};
//
// Bytes that left further are read from there, and do not come back to this account. An object that finds no room here
// is written to the home below at once; where that is full, too, the write is refused. A limit that is on both accounts
// gains nothing by it: the account must not be below one that the store's objects are short of. Bytes that have come
// back are freed here. Cost: 96 bytes per object, a copy of its bytes each way, and what the memory's blocks cost; a
// write allocates a block, and in a tier an entry of its store. Threads: as home.hpp says.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/units.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store.hpp>
#include <allot/spill/stored.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Requires: the host may access the memory; it, the account and the home below outlive this.
class spill_memory final : public home {
  public:
    spill_memory(buffer_memory memory, account& by) noexcept : home(by, false), memory_(memory) {}
    /// A tier above `below`.
    spill_memory(buffer_memory memory, account& by, home& below) noexcept : spill_memory(memory, by) {
        tier_.emplace(by, below, name{"spill memory"});
    }

    /// What left further; of a tier.
    const store* tier() const noexcept { return tier_ ? &*tier_ : nullptr; }
    void end_pause() noexcept override {
        if (tier_) tier_->end_pause();
    }

  private:
    struct block final : record {
        using record::record;
        buffer bytes;
        stored<buffer> entry; // in a tier
        kept_bytes further;   // in the home below, past the tier
    };
    static block& of(record& r) noexcept { return static_cast<block&>(r); }

    ALLOT_OUTLINE record* reserve(std::size_t bytes) noexcept override {
        std::unique_ptr<block> made{new (std::nothrow) block{bytes}};
        if (made == nullptr || !tier_) return made.release();
        made->further = kept_bytes(tier_->keeps(), bytes);
        return made->further ? made.release() : nullptr;
    }
    ALLOT_OUTLINE home_status write(record& to, byte_source& from) noexcept override {
        home_status s;
        buffer b = memory_.try_allocate(by(), from.bytes, &s.why);
        if (!b && tier_ && tier_->let_leave(from.bytes) != 0) b = memory_.try_allocate(by(), from.bytes, &s.why);
        if (!b && tier_) return of(to).further.write(from); // as one that is larger than the tier
        if (!b) return s.how = home_status::outcome::refused, s;
        if (from.data != nullptr) std::memcpy(b.data(), from.data, from.bytes);
        else if (!from.next(b.bytes())) return {.how = home_status::outcome::failed, .call = "copy"};
        if (!tier_) return of(to).bytes = std::move(b), home_status{};
        return put(of(to), b);
    }
    home_status put(block& to, buffer& b) noexcept {
#if ALLOT_EXCEPTIONS
        try {
            to.entry = tier_->put(std::move(b));
        } catch (...) {
            return {.how = home_status::outcome::refused, .why = {.outcome = charge_outcome::no_memory }};
        }
#else
        to.entry = tier_->put(std::move(b));
#endif
        return {};
    }
    ALLOT_OUTLINE home_status read(record& from, std::size_t offset, byte_sink& to) noexcept override {
        if (of(from).further.is_written()) return of(from).further.read(offset, to);
        if (!tier_) return give(of(from).bytes.bytes().subspan(offset, to.bytes), to);
        kept_bytes further;
        const auto here = of(from).entry.pin_here(further);
        return here ? give(here->bytes().subspan(offset, to.bytes), to) : further.read(offset, to);
    }
    static home_status give(std::span<const std::byte> bytes, byte_sink& to) noexcept {
        if (to.data != nullptr) std::memcpy(to.data, bytes.data(), bytes.size());
        else if (!to.next(bytes)) return {.how = home_status::outcome::failed, .call = "copy"};
        return {};
    }
    ALLOT_OUTLINE void drop(record& r) noexcept override {
        of(r).bytes.release();
        of(r).entry = {};
        if (of(r).further) of(r).further.drop();
    }
    void end(record& r) noexcept override { delete &of(r); }

    const buffer_memory memory_;
    std::optional<store> tier_;
};

} // namespace allot::inline ALLOT_ABI
