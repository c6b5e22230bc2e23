// What lets a wait go that would be for ever, so that a test fails there and does not only not end.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace support {

class rescue {
public:
    // `let_go` runs on another thread if this object is still there after ten seconds.
    explicit rescue(std::function<void()> let_go) : thread_([this, act = std::move(let_go)] {
        for (int ms = 0; ms != 10'000; ++ms) {
            if (over_) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        came_ = true;
        act();
    }) {}
    rescue(const rescue&) = delete;
    rescue& operator=(const rescue&) = delete;
    ~rescue() {
        over_ = true;
        thread_.join();
    }
    bool came() const { return came_; }

private:
    std::atomic<bool> over_{false}, came_{false};
    std::thread thread_; // last: it reads the others
};

} // namespace support
