// Reclaimers in the order of their calls: groups of one cost, the lowest first; each group is a ring with a first one.
//
//     cost 0: a -> b -> (a)      cost 2: c -> (c)      cost 7: d -> e -> f -> (d)
//
// Invariant: each is in the group of its cost. Cost: 8 bytes; add() walks the groups, other calls are O(1), but for the
// removal of a group's first one. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/reclaim/reclaimer.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

class cost_groups {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    // Of at least this cost; null if none.
    reclaimer* first(std::uint32_t cost) const noexcept { return *link_of(cost); }
    // The next one of the group, or the first one of the next group; null at the end.
    reclaimer* after(const reclaimer& r) const noexcept {
        reclaimer* const head = *link_of(r.cost_);
        return r.next_ != head ? r.next_ : head->next_group_;
    }
    // As the last one of its group.
    void add(reclaimer& r) noexcept {
        reclaimer** const link = link_of(r.cost_);
        reclaimer* const head = *link;
        if (head == nullptr || head->cost_ != r.cost_) {
            r.next_ = r.prev_ = &r;
            r.next_group_ = head;
            *link = &r;
            return;
        }
        r.next_ = head;
        r.prev_ = head->prev_;
        head->prev_->next_ = &r;
        head->prev_ = &r;
    }
    void remove(reclaimer& r) noexcept {
        if (reclaimer** const link = link_of(r.cost_); *link == &r) {
            if (r.next_ == &r) *link = r.next_group_;
            else make_first(link, *r.next_);
        }
        r.prev_->next_ = r.next_;
        r.next_->prev_ = r.prev_;
    }
    // The group begins behind it from now on, so that its members are called in turn.
    void rotate_behind(reclaimer& r) noexcept { make_first(link_of(r.cost_), *r.next_); }

  private:
    // The link to the first group with at least this cost.
    reclaimer** link_of(std::uint32_t cost) const noexcept {
        reclaimer** link = const_cast<reclaimer**>(&first_);
        while (*link != nullptr && (*link)->cost_ < cost) link = &(*link)->next_group_;
        return link;
    }
    static void make_first(reclaimer** link, reclaimer& r) noexcept {
        r.next_group_ = (*link)->next_group_;
        *link = &r;
    }

    reclaimer* first_ = nullptr;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
