#include "kept.hpp"
#include <algorithm>
#include <cstring>

namespace flights {

void kept::keep(std::string name, std::span<const std::byte> bytes) {
    const allot::cost_cap idle_memory_only{allot::reclaimer::idle};
    allot::buffer copy = memory_.try_allocate(account_, bytes.size()); // before the lock: reclaim() needs it
    if (!copy) return;
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    const std::lock_guard held{lock_};
    bytes_ += copy.size();
    items_.push_back({std::move(name), std::move(copy)});
    ++counts_.kept;
}

allot::buffer kept::find(const std::string& name) {
    const std::lock_guard held{lock_};
    const auto at = std::find_if(items_.begin(), items_.end(), [&](const item& i) { return i.name == name; });
    if (at == items_.end()) return {};
    ++counts_.again;
    return at->bytes.slice(0, at->bytes.size());
}

bool kept::reclaim(const allot::shortage& s) noexcept {
    const std::unique_lock held{lock_, std::try_to_lock}; // never wait: its holder may wait for this call
    std::size_t freed = 0;
    while (held && !items_.empty() && (s.critical || freed < s.missing())) {
        freed += items_.back().bytes.size();
        bytes_ -= items_.back().bytes.size();
        items_.pop_back();
        ++counts_.given_up;
    }
    return freed != 0;
}

kept_use kept::use() const {
    const std::lock_guard held{lock_};
    kept_use now = counts_;
    now.what = name();
    now.cost = cost();
    now.bytes = bytes_;
    now.calls = calls();
    now.freed = freed();
    now.seconds = static_cast<double>(nanoseconds()) / 1e9;
    return now;
}

} // namespace flights
