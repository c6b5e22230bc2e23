// row_bins: one user's caches of free slots of a row manager, one per size class that it has used; allocates and
// releases rows of any size. `Entry` lets other threads in to empty them (sync/owner_entry.hpp); no_entry does not.
//
// The table of bins is read after begin(). Others replace it by no_bins before they wait for the owner; so an owner
// that is blocked finds nothing in its bins, and the path of a row needs no test.
// Invariant: a bin stays in the table, and its heap with the manager, until close().
// Cost: 2 KiB, 640 bytes per class in use; the entry is two stores per row.
// Threads: the user, and one other inside the entry.
// Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/release_at.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/slot_bin.hpp>
#include <allot/sync/owner_entry.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class row_core;

template <class Set, class Entry> class row_bins : public Entry {
  protected:
    using policies = row_policies<Set>;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;
    using core_type = row_core<Set>;

  public:
    explicit row_bins(core_type& core) noexcept : arena_(core.arena().view()), core_(core) {
        if constexpr (!for_thread) make_table(); // a thread's own follows
    }
    row_bins(const row_bins&) = delete;
    row_bins& operator=(const row_bins&) = delete;
    ~row_bins() { close(); }

    // A row from a bin, without a call, so that callers need no frame; null: try_allocate_slow() may have one. `core`:
    // that of the bins.
    ALLOT_ALWAYS_INLINE void* pop(core_type& core, std::size_t bytes, const row_type& type) noexcept {
        const std::uint32_t number = core.recent_type_number(type);
        const std::uint32_t index = core.buckets().direct_index(bytes, type.align);
        std::byte* row;
        if (ALLOT_UNLIKELY(!core.is_plain(type, number) || !pop_slot(index, row))) return nullptr;
        return start(core, row, number, bytes, type);
    }
    // Where pop() found none. Null if it fails. A request that the bins cannot serve goes to the manager. For functions
    // that are compiled apart.
    ALLOT_ALWAYS_INLINE void* try_allocate_slow(memory_request& asked, const row_type& type) noexcept {
        const std::uint32_t number = core_.type_number(type);
        const std::uint32_t index = core_.buckets().index(asked.bytes, type.align);
        if (index == heap_config::no_index || !core_.is_plain(type, number))
            return core_.try_allocate_shared(asked, type, number);
        std::byte* const row = pop_slow(index, asked);
        return row != nullptr ? start(core_, row, number, asked.bytes, type) : nullptr;
    }
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        const auto index = [](std::uintptr_t tag) { return heap_tag::index(tag); };
        release_at<policies>(arena_, row, bin_place<false, decltype(index)>{*this, index});
    }
    // The same where the size that was requested is known: the bin is then found before the page's word is read, and
    // the next allocation need not wait for it.
    ALLOT_ALWAYS_INLINE void release(core_type& core, const void* row, std::size_t bytes) noexcept {
        const auto index = [&](std::uintptr_t) { return core.buckets().direct_index(bytes, 8); };
        release_at<policies>(arena_, row, bin_place<true, decltype(index)>{*this, index});
    }
    // Frees a slot of a row that has ended; through the bin of its heap, if there is one.
    ALLOT_OUTLINE_OF(row_bins) void give(std::uintptr_t tag, heap_type& heap, std::byte* row) noexcept {
        if (this->enter()) {
            slot_bin<heap_type>& b = bin(heap_tag::index(tag));
            const bool mine = b.tag == tag;
            if (mine && !b.push(row) && !b.push_to_group(row)) b.heap->push_apart(b, row);
            this->leave();
            if (mine) return;
        }
        heap.push(row);
    }

    const arena_bounds& arena() const noexcept { return arena_; }

    // Returns all cached free slots to their heaps.
    void flush() noexcept {
        if (!this->enter()) return; // another thread does it
        empty();
        this->leave();
    }
    // The same for a caller that is inside.
    void empty() noexcept {
        for_each_bin([](slot_bin<heap_type>& b) { b.heap->flush(b); });
    }
    bool any_cached() const noexcept {
        bool any = false;
        for_each_bin([&](slot_bin<heap_type>& b) { any = any || b.count() != 0; });
        return any;
    }
    // The same, and frees the bins. They are made again when they are used. No other thread may be inside meanwhile.
    ALLOT_OUTLINE_OF(row_bins) void close() noexcept {
        for_each_bin([](slot_bin<heap_type>& b) { slot_bin<heap_type>::close(&b); });
        if (own_ != nullptr) {
            delete std::exchange(own_, nullptr);
            core_.pages().books().end(sizeof(table));
        }
        end_ = 0;
        table_.store(&no_bins<heap_type>, std::memory_order_relaxed);
    }

  protected:
    // Makes the table and shows it; false: no memory. A thread's is made before others know of it: the owner never
    // writes table_ while they may.
    ALLOT_OUTLINE_OF(row_bins) bool make_table() noexcept {
        own_ = new (std::nothrow) table(no_bin<heap_type>);
        if (own_ != nullptr) core_.pages().books().owe(sizeof(table)); // the first bin pays for it
        show_bins();
        return own_ != nullptr;
    }
    // Others replace the table and bring it back. Between these they may call empty().
    void hide_bins() noexcept { table_.store(&no_bins<heap_type>, std::memory_order_relaxed); }
    void show_bins() noexcept {
        // An owner that must fence in enter() may not use begin(), and never finds a bin.
        if (own_ != nullptr && !this->fences()) table_.store(own_, std::memory_order_release);
    }

  private:
    using table = bin_table<heap_type>;
    static constexpr bool for_thread = !std::is_same_v<Entry, no_entry>;

    Entry& entry() noexcept { return *this; }

    ALLOT_ALWAYS_INLINE slot_bin<heap_type>& bin(std::size_t index) const noexcept {
        return *table_.load(std::memory_order_acquire)->bins[index];
    }
    template <class Visit> void for_each_bin(Visit visit) const noexcept {
        for (std::uint32_t i = 0; i != end_; ++i)
            if (slot_bin<heap_type>* const b = own_->bins[i];
                b->heap != nullptr) // not no_bin, which a library may have
                visit(*b);
    }
    // False: the bin is empty, or hidden, or there is none.
    ALLOT_ALWAYS_INLINE bool pop_slot(std::uint32_t index, std::byte*& row) noexcept {
        this->begin();
        const bool any = bin(index).pop(row);
        this->leave();
        return any;
    }
    ALLOT_ALWAYS_INLINE void* start(core_type& core, std::byte* row, std::uint32_t number, std::size_t bytes,
                                    const row_type& type) noexcept {
        rows::template start<true>(false, arena_, row, number);
        sampler_.allocated(core, bytes, type);
        return row;
    }
    // index(tag): the bin's, by the size that was requested (Sized), else by the tag of the row's heap.
    template <bool Sized, class Index> struct bin_place {
        static constexpr bool one_type(page_header&) noexcept { return false; }
        core_type& core() const noexcept { return bins.core_; }
        ALLOT_ALWAYS_INLINE bool enter(typename rows::page& page, std::byte*, std::size_t in_arena) noexcept {
            const std::uintptr_t tag = rows::tag_of(page, bins.arena_, in_arena);
            bins.begin();
            into = &bins.bin(index(tag));
            return into->tag == tag;
        }
        ALLOT_ALWAYS_INLINE void push(typename rows::page&, std::byte* row) noexcept {
            if (ALLOT_UNLIKELY(!into->push(row)))
                if (ALLOT_UNLIKELY(!into->push_to_group(row))) return bins.push_slow(*into, row);
            bins.leave();
        }
        ALLOT_ALWAYS_INLINE void release_entered(typename rows::page&, std::byte* row) noexcept {
            bins.leave();
            Sized ? bins.release_by_tag(row) : bins.release_slow(row);
        }
        void release_slow(std::byte* row) noexcept { bins.release_slow(row); }

        row_bins& bins;
        Index index;
        slot_bin<heap_type>* into = nullptr;
    };
    // From the bin of a class; fills it where it is empty. Null if there is no memory.
    // Its parts enter the owner's bins by themselves; size() is a hint. A spare bin is made here, since a release must
    // not allocate.
    ALLOT_ALWAYS_INLINE std::byte* pop_slow(std::uint32_t index, memory_request& asked) noexcept {
        slot_bin<heap_type>* const b = open(index, asked);
        if (ALLOT_UNLIKELY(b == nullptr)) {
            heap_type* const heap = core_.buckets().at(index, asked);
            return heap != nullptr ? heap->pop(asked) : nullptr;
        }
        std::byte* row = nullptr;
        if (b->size() != 0 && pop_slot(index, row)) return row;
        if constexpr (!for_thread)
            if (shortages_ != core_.heaps().shortages()) settle_shortage(); // memory was short since: it keeps none
        core_.buckets().spare_bins().make_if_wanted(index, *b->heap, asked);
        return b->heap->refill(*b, entry(), asked);
    }
    // The bin of a class, made where there is none; null if there is no memory, or another thread is inside.
    ALLOT_ALWAYS_INLINE slot_bin<heap_type>* open(std::uint32_t index, memory_request& asked) noexcept {
        if (ALLOT_LIKELY(own_ != nullptr && own_->bins[index]->heap != nullptr)) return own_->bins[index];
        return make_bin(index, asked);
    }
    ALLOT_NOINLINE slot_bin<heap_type>* make_bin(std::uint32_t index, memory_request& asked) noexcept {
        heap_type* const heap = core_.buckets().at(index, asked);
        if (heap == nullptr) return nullptr;
        if (own_ == nullptr && (for_thread || !make_table()))
            return asked.refuse(charge_outcome::no_memory, sizeof(table));
        slot_bin<heap_type>* const made = slot_bin<heap_type>::open(*heap, asked);
        if (made == nullptr) return nullptr;
        if (!this->enter()) return slot_bin<heap_type>::close(made), nullptr;
        slot_bin<heap_type>* const here = own_->bins[index];
        const bool is_new = here->heap == nullptr; // else a listener of the charge has used the class
        if (ALLOT_LIKELY(is_new)) add_bin(index, made);
        this->leave();
        if (ALLOT_LIKELY(is_new)) return made;
        return slot_bin<heap_type>::close(made), here;
    }
    // The owner is inside.
    void add_bin(std::uint32_t index, slot_bin<heap_type>* bin) noexcept {
        own_->bins[index] = bin;
        if (end_ <= index) end_ = index + 1;
    }
    // The owner is inside, and leaves.
    ALLOT_OUTLINE_OF(row_bins) ALLOT_NOINLINE void push_slow(slot_bin<heap_type>& b, std::byte* row) noexcept {
        b.heap->push_apart(b, row);
        this->leave();
    }
    // For a row of more than 4 KiB, of another class than its size says, or that release_slow() releases.
    ALLOT_OUTLINE_OF(row_bins) ALLOT_NOINLINE void release_by_tag(const void* row) noexcept { release(row); }
    // For a row of a heap without a bin here, a shared row, or one with a destructor, seal, or guard. A destructor may
    // end this object, if it is a thread's: other managers that it uses may displace this one.
    ALLOT_OUTLINE_OF(row_bins) ALLOT_NOINLINE void release_slow(std::byte* row) noexcept {
        auto& page = rows::page_at(arena_, row);
        const std::uintptr_t tag = rows::tag_of(page, arena_, arena_.offset(row));
        core_type& core = core_;
        if (!has_bin(tag)) return release_in(core.arena(), row);
        heap_type& heap = rows::heap_of(page);
        if (!rows::drop(page, row)) return;
        if constexpr (for_thread) core.give_to_thread(tag, heap, row);
        else give(tag, heap, row);
    }
    // Whether there is a bin of this heap, or a spare one. For a release, which never allocates.
    bool has_bin(std::uintptr_t tag) noexcept {
        const auto index = static_cast<std::uint32_t>(heap_tag::index(tag));
        if (own_ == nullptr || index >= heap_config::no_index) return false; // above it: a row in a span
        if (own_->bins[index]->heap != nullptr) return own_->bins[index]->tag == tag;
        heap_type* const heap = core_.buckets().find(index);
        if (heap == nullptr || heap->tag() != tag) return false; // a huge row, or no row
        if (!this->enter()) return false;
        slot_bin<heap_type>* const spare = core_.buckets().spare_bins().take(index);
        if (spare != nullptr) add_bin(index, spare);
        this->leave();
        return spare != nullptr;
    }
    // Somebody was short of memory since the last refill. Others empty the bins of a thread themselves.
    ALLOT_OUTLINE_OF(row_bins) ALLOT_COLD void settle_shortage() noexcept {
        shortages_ = core_.heaps().shortages();
        flush();
    }

    std::atomic<table*> table_{&no_bins<heap_type>};
    const arena_bounds arena_;
    core_type& core_;
    table* own_ = nullptr;
    std::uint32_t end_ = 0;       // above the highest index of a bin
    std::uint32_t shortages_ = 0; // as of the last refill
    ALLOT_NO_UNIQUE_ADDRESS row_sampler<policies::watch::every_nth_row> sampler_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
