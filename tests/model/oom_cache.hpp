// A cache that drops its entries when others are short, at once or some time later (model/oom_situation.hpp).
#pragma once

#include <support/stage.hpp>

#include <allot/account/account.hpp>
#include <allot/reclaim/reclaimer.hpp>

#include <cstddef>
#include <functional>
#include <utility>

namespace support {

class cache final : public allot::reclaimer {
  public:
    // `asked`: called where it is to drop entries.
    cache(allot::account& engine, stage& on, bool frees_later, std::function<void()> asked)
        : reclaimer("cache", 2), on_(on), frees_later_(frees_later), asked_(std::move(asked)),
          by_{engine, allot::name{"cache"}} {
        by_.add(*this);
    }
    ~cache() {
        by_.remove(*this);
        by_.refund(held_ + writes_);
    }
    void keep(std::size_t bytes) {
        if (!by_.try_charge(bytes)) return;
        held_ += bytes;
        by_.notify_unused();
    }
    bool reclaim(const allot::shortage& s) noexcept override {
        asked_();
        const std::size_t freed = s.critical || s.missing() > held_ ? held_ : s.missing();
        held_ -= freed;
        if (frees_later_ && freed != 0) {
            writes_ += freed;
            comes(freed);
            on_.wake(this);
            return false;
        }
        by_.refund(freed);
        return freed != 0;
    }
    std::size_t reclaimable(const allot::account&) const noexcept override { return held_; }
    bool writes() const noexcept { return writes_ != 0; }
    void end_write(bool fails) {
        const std::size_t bytes = std::exchange(writes_, 0);
        if (fails) held_ += bytes;
        else by_.refund(bytes);
        fails ? failed(bytes) : arrived(bytes);
    }

  private:
    stage& on_;
    const bool frees_later_;
    const std::function<void()> asked_;
    allot::account by_;
    std::size_t held_ = 0, writes_ = 0;
};

} // namespace support
