// For a part of a test that goes on for ever when it is wrong: after half a minute what waits there is let go, or the
// program ends and tells where. So the test fails, and does not only not end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

namespace support {

class rescue {
  public:
    explicit rescue(const char* where, std::chrono::milliseconds after = std::chrono::seconds(30))
        : rescue(
              [where] {
                  std::printf("for ever: %s\n", where);
                  std::fflush(stdout);
                  std::_Exit(1);
              },
              after) {}
    // `rescue_others` runs on another thread if this object is still there.
    explicit rescue(std::function<void()> rescue_others, std::chrono::milliseconds after = std::chrono::seconds(30))
        : thread_([this, after, act = std::move(rescue_others)] {
              for (auto ms = std::chrono::milliseconds(0); ms != after; ++ms) {
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
