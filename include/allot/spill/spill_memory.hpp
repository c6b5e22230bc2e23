// A home in memory of another account: what left a small, fast memory is kept in a larger one.
//
//     allot::account disk{allot::name{"cold"}, allot::limit{8_GiB}};
//     allot::spill_memory far{memory, cold};
//     allot::store inputs{engine, far};
//
// A limit that is on both accounts gains nothing by it: the account must not be below one that the store's objects are
// short of. Bytes that have come back are freed here. Cost: 56 bytes per object, a copy of its bytes each way, and what
// the memory's blocks cost; a write allocates a block. Threads: as home.hpp says.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/config.hpp>
#include <allot/spill/home.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Requires: the host may access the memory; it and the account outlive this.
class spill_memory final : public home {
  public:
    spill_memory(buffer_memory memory, account& by) noexcept : home(by, false), memory_(memory) {}

  private:
    struct block final : record {
        using record::record;
        buffer bytes;
    };
    static block& of(record& r) noexcept { return static_cast<block&>(r); }

    record* reserve(std::size_t bytes) noexcept override { return new (std::nothrow) block{bytes}; }
    home_status write(record& to, byte_source& from) noexcept override {
        home_status s;
        buffer b = memory_.try_allocate(by(), from.bytes, &s.why);
        if (!b) return s.how = home_status::outcome::refused, s;
        if (from.data != nullptr) std::memcpy(b.data(), from.data, from.bytes);
        else if (!from.next(b.bytes())) return {.how = home_status::outcome::failed, .call = "copy"};
        of(to).bytes = std::move(b);
        return s;
    }
    home_status read(record& from, std::size_t offset, byte_sink& to) noexcept override {
        const std::span<const std::byte> bytes = of(from).bytes.bytes().subspan(offset, to.bytes);
        if (to.data != nullptr) std::memcpy(to.data, bytes.data(), bytes.size());
        else if (!to.next(bytes)) return {.how = home_status::outcome::failed, .call = "copy"};
        return {};
    }
    void drop(record& r) noexcept override { of(r).bytes.release(); }
    void end(record& r) noexcept override { delete &of(r); }

    const buffer_memory memory_;
};

} // namespace allot::inline ALLOT_ABI
