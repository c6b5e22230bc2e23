// A called_list with a lock of its own.
//
// Cost: 32 bytes; 32 per object. Threads: any; calls are made without the lock, and remove() waits for those of other
// threads.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/spin_lock.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node, called_hook<Node> Node::* Place> class called_objects {
  public:
    constexpr called_objects() = default;
    called_objects(const called_objects&) = delete;
    called_objects& operator=(const called_objects&) = delete;

    bool empty() const noexcept { return all_.empty(); }
    void add(Node& n) noexcept { all_.add(lock_, n); }
    void remove(Node& n) noexcept { static_cast<void>(all_.remove(lock_, n)); }
    template <class Call> void for_each(Call call) noexcept { all_.for_each(lock_, call); }

  private:
    called_list<Node, Place> all_;
    spin_lock lock_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
