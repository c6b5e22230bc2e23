// huge_register: the huge rows of a manager, so that reports find them and the end of the manager frees them.
//
// Invariant: a huge row has an entry from before its pages are taken until its last release. Entries are in chunks of
// 64, which live as long as the register.
// Cost: 24 bytes per row, out of band 256; found in O(1): a spin lock to enter, none to leave.
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/row/huge/huge_header.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Place> class huge_register {
  public:
    using entry_type = typename huge_layout<Place>::entry_type;
    struct chunk {
        static constexpr unsigned count = 64;
        entry_type entries[count];
        std::atomic<chunk*> next{nullptr};
    };

    huge_register() = default;
    huge_register(const huge_register&) = delete;
    huge_register& operator=(const huge_register&) = delete;
    ~huge_register() {
        for (chunk* c = first_.next.load(std::memory_order_relaxed); c != nullptr;) {
            chunk* const following = c->next.load(std::memory_order_relaxed);
            delete c;
            c = following;
        }
    }

    // Takes a free entry; null if there is no memory for more of them.
    entry_type* enter() noexcept {
        for (chunk* more = nullptr;;) {
            {
                const lock_guard hold(lock_);
                if (free_ == nullptr) free_ = left_.take_all();
                if (free_ == nullptr && used_of_last_ == chunk::count && more != nullptr) {
                    last_->next.store(more, std::memory_order_release);
                    last_ = std::exchange(more, nullptr);
                    used_of_last_ = 0;
                }
                huge_entry* const entry = free_ != nullptr                ? free_
                                          : used_of_last_ != chunk::count ? &last_->entries[used_of_last_++]
                                                                          : nullptr;
                if (entry != nullptr) {
                    if (entry == free_) free_ = entry->free_link.load(std::memory_order_relaxed);
                    entry->row.store(reserved(), std::memory_order_relaxed);
                    delete more;
                    return static_cast<entry_type*>(entry);
                }
            }
            more = new (std::nothrow) chunk;
            if (more == nullptr) return nullptr;
        }
    }
    // The entry's row is `h` from now on, with these pages.
    static void publish(huge_entry& entry, huge_header& h, std::uint32_t type) noexcept {
        entry.type_and_pages.store(std::uint64_t{type} << 44 | h.pages,
                                   std::memory_order_release); // before the row replaces reserved()
        entry.row.store(&h, std::memory_order_release);
    }
    void leave(huge_entry* entry) noexcept {
        entry->row.store(nullptr, std::memory_order_release);
        left_.push(entry);
    }
    // Calls visit(entry, header) for each row until that returns false. Other threads may enter and leave meanwhile: a
    // visitor then reads the entry alone.
    template <class Visit> void for_each(Visit visit) const noexcept {
        for (const chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (const entry_type& entry : c->entries)
                if (huge_header* const h = entry.row.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    if (!visit(entry, *h)) return;
    }

  private:
    static huge_header* reserved() noexcept { return reinterpret_cast<huge_header*>(std::uintptr_t{1}); }

    mpsc_stack<huge_entry, &huge_entry::free_link> left_; // entries without a row, pushed by releasers
    spin_lock lock_;                                      // the members below
    huge_entry* free_ = nullptr;                          // taken from left_
    chunk* last_ = &first_;
    unsigned used_of_last_ = 0; // entries of the last chunk that were ever handed out
    chunk first_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
