// How reports name an account: by its path, the names below the root, since operators of several queries have one name.
//
//     query 7 / join                 the root is left out; its own path is its name
//     query 7 / ... / scan / join    at any depth: the first name and the last two, "..." for those between
//
// Invariant: at most 103 bytes. A name is cut to 47 bytes; where three names are longer than that together, the one in
// the middle is left out, too. The names are copied, since accounts may end.
// Cost: 104 bytes; allocates nothing. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/tree/account_node.hpp>

#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

class account_path {
  public:
    static constexpr std::size_t name_bytes = 47; // of a name

    account_path() noexcept = default;
    /// Requires the tree's mutex: account::path() takes it. Complexity: O(depth).
    explicit account_path(const detail::account_node& of) noexcept {
        write(of, of.life.is_closed() ? of : first_of(of));
    }

    /// The names as they are: for text, write it as a name.
    std::string_view text() const noexcept { return text_; }

    /// The paths in a visit of a tree, which enters each account, parents first. Complexity: O(1) for each.
    /// Requires the tree's mutex.
    class visit {
      public:
        void enter(const account& a) noexcept {
            const detail::tree_node& n = detail::node_of(a);
            if (first_ == nullptr || n.parent() == nullptr || n.parent()->parent() == nullptr) first_ = &first_of(n);
            at_ = &n;
        }
        /// Of the account that was entered last.
        account_path path() const noexcept {
            account_path p;
            p.write(*at_, *first_);
            return p;
        }

      private:
        const detail::tree_node *first_ = nullptr, *at_ = nullptr;
    };

  private:
    static constexpr std::string_view between = " / ", others = "... / ";

    // The account below the root that `n` is, or is below; of the root itself.
    static const detail::tree_node& first_of(const detail::tree_node& n) noexcept {
        const detail::tree_node* at = &n;
        while (at->parent() != nullptr && at->parent()->parent() != nullptr) at = at->parent();
        return *at;
    }
    ALLOT_OUTLINE_WARM void write(const detail::tree_node& n, const detail::tree_node& first) noexcept {
        struct part {
            explicit part(const detail::tree_node& of) noexcept { text_writer{text}.put(of.name()); }
            char text[name_bytes + 1];
        };
        text_writer out{text_};
        const part own{n};
        if (&n != &first) {
            out.put(part{first}.text).put(between);
            if (const detail::tree_node& above = *n.parent(); &above != &first) {
                const part middle{above};
                const bool is_deep = above.parent() != &first;
                const std::size_t rest = std::string_view{middle.text}.size() + between.size() +
                                         std::string_view{own.text}.size() + (is_deep ? others.size() : 0);
                const bool fits = out.size() + rest < sizeof text_;
                if (is_deep || !fits) out.put(others);
                if (fits) out.put(middle.text).put(between);
            }
        }
        out.put(own.text);
    }

    char text_[104] = "";
};

// Threads: any that is not inside a visit of the tree.
inline account_path path_of(const account_node& a) noexcept {
    const lock_guard whole(a.shape());
    return account_path{a};
}
} // namespace detail
} // namespace allot::inline ALLOT_ABI
