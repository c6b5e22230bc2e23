// How a node comes into the tree and leaves it, and the check of the links. Part of tree_node.hpp.
#pragma once

#include <allot/account/tree_node.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void tree_node::attach(std::size_t reservation) noexcept {
    depth_ = parent_->depth_ + 1;
    climb(parent_, totals_.reserve_at_start(reservation));
    parent_->below_.add(*this);
    ++parent_->children_;
    detached_ = false;
}
inline void tree_node::decrement_depths() noexcept {
    --depth_;
    for (tree_node* c = below_.first(); c != nullptr; c = below_.after(*c)) c->decrement_depths();
}
inline void tree_node::detach() noexcept {
    change with = totals_.end();
    for (tree_node* c = below_.first(); c != nullptr;) {
        tree_node* const following = below_.after(*c);
        with.all += static_cast<std::ptrdiff_t>(c->totals_.subtree_charge()),
            with.confirmed += static_cast<std::ptrdiff_t>(c->totals_.confirmed_subtree_charge());
        parent_->below_.add(*c);
        ++parent_->children_;
        c->parent_ = parent_;
        c->decrement_depths();
        c = following;
    }
    below_.clear();
    climb(parent_, with);
    credit_.shrink(credit_.granted());
    children_ = 0;
    parent_->below_.remove(*this);
    --parent_->children_;
    detached_ = true;
}
inline bool tree_node::valid() const noexcept {
    std::size_t subtree_charges = 0, confirmed_charges = 0, n = 0, creditors = 0;
    for (const tree_node* c = below_.first(); c != nullptr; c = below_.after(*c), ++n) {
        if (c->parent_ != this || c->depth_ != depth_ + 1 || c->root_ != root_ || !c->valid()) return false;
        creditors += c->leads_to_credit();
        subtree_charges += c->totals_.subtree_charge();
        confirmed_charges += c->totals_.confirmed_subtree_charge();
    }
    for (const tree_node* c = creditors_.first(); c != nullptr; c = creditors_.after(*c)) --creditors;
    return n == children_ && creditors == 0 && creditors_.valid() && below_.valid() && totals_.valid() &&
           credit_.valid() && totals_.total() == credit_.granted() + subtree_charges &&
           (subtree_charges == confirmed_charges || totals_.held() != 0);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
