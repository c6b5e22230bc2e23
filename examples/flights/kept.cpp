#include "kept.hpp"
#include <algorithm>
#include <cstring>

namespace flights {

void kept::keep(std::string name, std::span<const std::byte> bytes) {
    const allot::cost_cap idle_memory_only{allot::reclaimer::idle};
    {
        const std::lock_guard held{lock_};
        if (place_of(name) != items_.end()) return; // it is at home, and had no memory to come back to
    }
    allot::buffer copy = memory_.try_allocate(account_, bytes.size()); // before the lock: reclaim() needs it
    if (!copy) return;
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    item fresh{std::move(name), std::move(copy), bytes.size()};
    if (store_) fresh.bytes = store_->put(std::move(std::get<allot::buffer>(fresh.bytes)));
    const std::lock_guard held{lock_};
    items_.push_back(std::move(fresh));
    bytes_ += bytes.size();
    ++counts_.kept;
}

found kept::find(const std::string& name) {
    const std::lock_guard held{lock_};
    const place at = place_of(name);
    if (at == items_.end()) return {};
    found it;
    allot::home_status why;
    if (const auto* const bytes = std::get_if<allot::buffer>(&at->bytes)) it = found{bytes->slice(0, at->size)};
    else if (auto pin = std::get<stored>(at->bytes).try_pin(&why)) it = found{std::move(pin)};
    else if (why.how != allot::home_status::outcome::refused) give_up(at); // it cannot be read back
    counts_.again += it ? 1 : 0;
    return it;
}

bool kept::reclaim(const allot::shortage& s) noexcept {
    const std::unique_lock held{lock_, std::try_to_lock}; // never wait: its holder may wait for this call
    std::size_t freed = 0;
    for (place at = held ? items_.end() : items_.begin();
         at != items_.begin() && (s.critical || freed < s.missing());) {
        --at;
        allot::home_status why;
        const auto* const there = std::get_if<stored>(&at->bytes);
        const bool left = there != nullptr && there->spill(&why);
        if (there != nullptr && !left && why) continue; // it is pinned, leaves now, or has left
        freed += at->size;
        if (!left) at = give_up(at);
    }
    return freed != 0;
}

kept::place kept::place_of(const std::string& name) {
    return std::find_if(items_.begin(), items_.end(), [&](const item& i) { return i.name == name; });
}

kept::place kept::give_up(place at) {
    bytes_ -= at->size;
    ++counts_.given_up;
    return items_.erase(at);
}

kept_use kept::use() const {
    const std::lock_guard held{lock_};
    kept_use now = counts_;
    now.what = name();
    now.cost = store_ ? store_->cost() : cost();
    now.bytes = bytes_;
    auto nanoseconds = this->nanoseconds();
    now.calls = calls(), now.freed = freed();
    if (store_) {
        now.calls += store_->calls(), now.freed += store_->freed(), nanoseconds += store_->nanoseconds();
        now.store = store_->stats();
    }
    now.seconds = static_cast<double>(nanoseconds) / 1e9;
    return now;
}

} // namespace flights
