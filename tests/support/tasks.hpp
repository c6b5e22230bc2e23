// What tests of tasks share: charged bytes, inputs that hold nothing, and waits until another thread sleeps.
#pragma once

#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/oom/retry.hpp>

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace support {

// Bytes that are charged while it lives.
class charged {
  public:
    charged(allot::account& by, std::size_t bytes) : by_(&by), bytes_(bytes) { by.charge(bytes); }
    charged(charged&& o) noexcept : by_(std::exchange(o.by_, nullptr)), bytes_(o.bytes_) {}
    charged& operator=(charged&&) = delete;
    ~charged() {
        if (by_ != nullptr) by_->refund(bytes_);
    }

  private:
    allot::account* by_;
    std::size_t bytes_;
};

// An input that holds nothing between attempts: the numbers from .. to.
struct part {
    int from = 0, to = 0;
    int pin() const noexcept { return from; }
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(to - from); }
    friend bool operator==(const part&, const part&) = default;
};
inline std::vector<part> halve(const part& p) {
    if (p.to - p.from < 2) return {};
    const int middle = (p.from + p.to) / 2;
    return {{p.from, middle}, {middle, p.to}};
}
template <class Holds> void until(Holds holds) {
    while (!holds()) std::this_thread::yield();
}
inline void until_any_in(const allot::oom::arbiter& tasks, allot::oom::thread_state s) {
    until([&] {
        const allot::oom::machine now = tasks.now();
        for (const auto& t : now.threads())
            if (t.used && t.state == s) return true;
        return false;
    });
}

} // namespace support
