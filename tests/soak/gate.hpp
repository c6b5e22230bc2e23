// Many threads inside for a while, or one alone: what makes a quiet point.
//
// Who wants to be alone keeps newcomers out, so it waits for one burst of steps at most.
#pragma once

#include <atomic>
#include <shared_mutex>

namespace soak {

class gate {
  public:
    // False when somebody wants to be alone.
    bool enter() {
        if (wanted_.load(std::memory_order_relaxed)) return false;
        lock_.lock_shared();
        return true;
    }
    void enter_surely() { lock_.lock_shared(); }
    void leave() { lock_.unlock_shared(); }
    void close() {
        wanted_.store(true, std::memory_order_relaxed);
        lock_.lock();
    }
    void open() {
        wanted_.store(false, std::memory_order_relaxed);
        lock_.unlock();
    }

  private:
    std::shared_mutex lock_;
    std::atomic<bool> wanted_{false};
};

} // namespace soak
