// What the program keeps for later rounds and can make again: bytes by name, in buffers. While memory is short they are
// given up, the last ones first, since files are read from their start.
//
// Nothing is kept at the cost of something else that is kept (cost_cap). A view stays valid when its bytes are given up
// meanwhile; they are free once it ends. Threads: any.
#pragma once
#include <allot/buffers.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace flights {

/// For the report.
struct kept_use {
    std::string what;
    std::uint32_t cost = 0;
    std::size_t kept = 0, again = 0, given_up = 0; // items: kept in all, used again, given up
    std::size_t bytes = 0;                         // kept in the end
    std::size_t calls = 0, freed = 0;              // of reclaim(), and the bytes that became free
    double seconds = 0;                            // in these calls
};

class kept final : public allot::reclaimer {
  public:
    /// Items of lower costs are given up first. Requires: the name, the account and the memory outlive it.
    kept(const char* what, std::uint32_t cost, allot::account& of, const char* account, allot::buffer_memory memory)
        : reclaimer(what, cost), account_{of, allot::name{account}}, memory_(memory) {
        account_.add(*this);
    }
    ~kept() { account_.remove(*this); }

    /// Copies the bytes, unless there is no memory for them.
    void keep(std::string name, std::span<const std::byte> bytes);
    /// A view of the bytes; the empty buffer if they are not kept.
    allot::buffer find(const std::string& name);

    bool reclaim(const allot::shortage& s) noexcept override;
    std::size_t reclaimable(const allot::account&) const noexcept override {
        return bytes_;
    } // a number: a lock is held
    kept_use use() const;

  private:
    struct item {
        std::string name;
        allot::buffer bytes;
    };

    allot::account account_;
    allot::buffer_memory memory_;
    mutable std::mutex lock_;
    std::vector<item> items_; // in the order of keep()
    std::atomic<std::size_t> bytes_{0};
    kept_use counts_;
};

} // namespace flights
