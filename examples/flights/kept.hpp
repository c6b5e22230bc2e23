// What the program keeps for later rounds and can make again: bytes by name, in buffers. While memory is short they
// leave for a home, if there is one (--spill), and come back when they are found. Without a home, and where it fails,
// they are given up, the last ones first, since files are read from their start.
//
// Nothing is kept, or comes back, at the cost of something else that is kept (cost_cap). A `found` item stays valid
// when it is given up meanwhile; its memory is free once `found` ends. Threads: any.
#pragma once
#include <allot/buffers.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/spill/store/spill_file_stats.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace flights {

/// For the report.
struct kept_use {
    std::string what;
    std::uint32_t cost = 0;
    std::size_t kept = 0, again = 0, given_up = 0; // items: kept in all, used again, given up
    std::size_t bytes = 0;                         // kept in the end
    std::size_t calls = 0, freed = 0;              // of reclaimers, and the bytes that became free
    double seconds = 0;                            // in these calls
    allot::store_stats store;                      // with a home: what left, and came back
};

/// Of the file that it left for, for the report.
struct spill_use {
    allot::spill_file_stats files;
    std::size_t peak = 0;     // bytes on the disk
    std::string last_failure; // empty: none
    std::string accounts;     // as text
};

/// Bytes that were kept, or none. They are in memory until it ends.
class found {
  public:
    found() = default;
    explicit found(allot::buffer view) : in_(std::move(view)) {}
    explicit found(allot::stored<allot::buffer>::pinned pin) : in_(std::move(pin)) {}

    explicit operator bool() const { return bool(bytes()); }
    const allot::buffer& bytes() const {
        const auto* const pin = std::get_if<allot::stored<allot::buffer>::pinned>(&in_);
        return pin != nullptr ? **pin : std::get<allot::buffer>(in_);
    }

  private:
    std::variant<allot::buffer, allot::stored<allot::buffer>::pinned> in_;
};

class kept final : public allot::reclaimer {
  public:
    static constexpr std::uint32_t most_cost = 2;

    /// Items of lower costs go first; with a home all leave, if they can, before one is given up. Requires: the cost is
    /// 1 to most_cost; the name, the account, the memory and the home outlive it.
    kept(const char* what, std::uint32_t cost, allot::account& of, const char* account, allot::buffer_memory memory,
         allot::home* home)
        : reclaimer(what, home == nullptr ? cost : most_cost + cost), account_{of, allot::name{account}},
          memory_(memory) {
        if (home != nullptr) store_.emplace(account_, *home, allot::name{what}, cost);
        account_.add(*this);
    }
    ~kept() { account_.remove(*this); }

    /// Copies the bytes, unless there is no memory for them.
    void keep(std::string name, std::span<const std::byte> bytes);
    /// None if they are not kept, cannot be read back, or there is no memory for them to come back to.
    found find(const std::string& name);

    bool reclaim(const allot::shortage& s) noexcept override;
    /// A number, since a lock is held. What may leave is the store's.
    std::size_t reclaimable(const allot::account&) const noexcept override { return store_ ? 0 : bytes_.load(); }
    kept_use use() const;

  private:
    using stored = allot::stored<allot::buffer>;
    struct item {
        std::string name;
        std::variant<allot::buffer, stored> bytes;
        std::size_t size;
    };
    using place = std::vector<item>::iterator;

    place place_of(const std::string& name);
    place give_up(place at); // returns the one behind it

    allot::account account_;
    allot::buffer_memory memory_;
    std::optional<allot::store> store_; // with a home: its reclaimer is called first
    mutable std::mutex lock_;
    std::vector<item> items_; // in the order of keep()
    std::atomic<std::size_t> bytes_{0};
    kept_use counts_;
};

} // namespace flights
