// row_heap: a handle of a heap of rows of one size. local_row_heap: one thread's handle of it, with a cache of slots.
//
// Cost: allocate and release through local() take about 12 and 15 instructions, the link count included.
// Threads: row_heap any, but one thread under refill::blocked; local_row_heap one; their rows any.
// Source: HPCC roxiemem's IFixedRowHeap, 2009; the cache is a magazine, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/release_at.hpp>
#include <allot/row/row_calls.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/thread_check.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace detail {
template <class Set> class row_core; // row_core.hpp
}

/// One thread's handle of a heap of rows of one size, from row_heap::local(). Takes up to `Batch` slots at once, fewer
/// when they are large. Requires: destroyed before the manager; used by one thread, others are reported in checked
/// builds.
template <class Set, class Heap, std::size_t Batch = 32>
class local_row_heap : public detail::row_calls<local_row_heap<Set, Heap, Batch>, Heap> {
    using policies = Heap;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    local_row_heap(detail::row_core<Set>& core, heap_type& heap, std::uint32_t type) noexcept
        : heap_(heap), tag_(heap.tag()), arena_(core.arena().view()), type_(type), core_(core) {
        heap_.adopt(cache_, cache_.capacity);
    }
    local_row_heap(const local_row_heap&) = delete;
    local_row_heap& operator=(const local_row_heap&) = delete;
    ~local_row_heap() { heap_.leave(cache_), core_.pages().settled(); }

    /// Returns all cached free slots to the heap. It may ask for reservations that wait for them, as no release does.
    void flush() noexcept { heap_.flush(cache_), core_.pages().settled(); }

  private:
    friend detail::row_calls<local_row_heap, Heap>;
    friend detail::row_requests<local_row_heap>;
    template <class, class> friend class row_heap; // whose own it may be

    local_row_heap& finder() noexcept { return *this; }
    detail::row_core<Set>& core() noexcept { return core_; }
    detail::arena_bounds bounds() const noexcept { return arena_; }
    const detail::heap_config& config() const noexcept { return heap_.config(); }
    const row_type& type() noexcept { return *core_.context().types[type_]; }
    ALLOT_ALWAYS_INLINE void* pop() noexcept {
        thread_check_.check_thread(core_.context(), heap_.config().name, heap_.config().type);
        std::byte* row;
        return ALLOT_LIKELY(cache_.pop(row)) ? start(row) : nullptr;
    }
    void* find(detail::memory_request& asked) noexcept {
        std::byte* row;
        if (!cache_.pop(row)) row = heap_.refill(cache_, asked);
        return row != nullptr ? start(row) : nullptr;
    }
    ALLOT_ALWAYS_INLINE void* start(std::byte* row) noexcept {
        rows::start(policies::one_type, arena_, row, type_);
        if constexpr (policies::watch::every_nth_row != 0)
            sampler_.allocated(core_, heap_.config().row_bytes, *core_.context().types[type_]);
        return row;
    }
    ALLOT_ALWAYS_INLINE void release_row(const void* row) noexcept {
        thread_check_.check_thread(core_.context(), heap_.config().name, heap_.config().type);
        detail::release_at<policies>(arena_, row, own_cache{*this});
    }
    struct own_cache {
        static constexpr bool one_type(detail::page_header&) noexcept { return policies::one_type; }
        detail::row_core<Set>& core() const noexcept { return handle.core_; }
        ALLOT_ALWAYS_INLINE bool enter(typename rows::page& page, std::byte*, std::size_t in_arena) const noexcept {
            return rows::tag_of(page, handle.arena_, in_arena) == handle.tag_;
        }
        ALLOT_ALWAYS_INLINE void push(typename rows::page&, std::byte* row) const noexcept { handle.push(row); }
        void release_entered(typename rows::page&, std::byte* row) const noexcept { handle.release_slow(row); }
        void release_slow(std::byte* row) const noexcept { handle.release_slow(row); }

        local_row_heap& handle;
    };
    ALLOT_ALWAYS_INLINE void push(std::byte* row) noexcept {
        if (ALLOT_UNLIKELY(!cache_.push(row)))
            if (ALLOT_UNLIKELY(!cache_.push_to_group(row))) push_slow(row);
    }
    ALLOT_NOINLINE void push_slow(std::byte* row) noexcept { heap_.push_apart(cache_, row); }
    // For a row of another heap, a shared row, or one with a destructor, seal, or guard.
    ALLOT_NOINLINE void release_slow(std::byte* row) noexcept {
        auto& page = rows::page_at(arena_, row);
        if (rows::tag_of(page, arena_, arena_.offset(row)) != tag_) return detail::release_in(core_.arena(), row);
        if (rows::drop(page, row)) push(row);
    }

    heap_type& heap_;
    const std::uintptr_t tag_; // of the heap
    const detail::arena_bounds arena_;
    std::uint32_t type_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS detail::row_sampler<policies::watch::every_nth_row> sampler_;
    typename heap_type::template cache_of<2 * Batch> cache_;
    detail::row_core<Set>& core_;
};

/// A handle of a heap for rows of one size, from row_manager::heap(). A moved-from handle may only be destroyed or
/// assigned to. Rows outlive the handle. A heap without handles returns its pages as they become empty, and serves
/// another handle after its last row.
/// Requires: destroyed before the manager.
template <class Set, class Heap> class row_heap : public detail::row_calls<row_heap<Set, Heap>, Heap> {
    using policies = Heap;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    static constexpr bool unique = policies::unique;
    // refill::blocked: the handle caches slots, and is for one thread.
    static constexpr bool blocked = policies::refill::batch > 1;

    row_heap(detail::row_core<Set>& core, heap_type& heap, const row_type& type, std::uint32_t number) noexcept
        : heap_(&heap), core_(&core), type_(&type), number_(number) {
        open();
    }
    row_heap(row_heap&& other) noexcept
        : heap_(std::exchange(other.heap_, nullptr)), core_(other.core_), type_(other.type_), number_(other.number_),
          local_(std::exchange(other.local_, nullptr)) {}
    row_heap& operator=(row_heap&& other) noexcept {
        row_heap moved(std::move(other)); // first: a handle assigned to itself keeps its heap
        std::swap(heap_, moved.heap_);
        std::swap(core_, moved.core_);
        std::swap(type_, moved.type_);
        std::swap(number_, moved.number_);
        std::swap(local_, moved.local_);
        return *this;
    }
    ~row_heap() {
        close();
        if (heap_ != nullptr) core_->template close_handle<policies>(*heap_);
    }

    /// Returns the free slots of this handle to the heap.
    void flush() noexcept
        requires(blocked)
    {
        if (local_ != nullptr) local_->flush();
    }
    /// Returns: a handle for the calling thread.
    local_row_heap<Set, Heap> local() noexcept { return {*core_, *heap_, number_}; }

    /// Statistics of the heap. live_rows() and usage() are linear in its pages.
    std::size_t live_rows() const noexcept { return heap_->usage().live_rows; }
    std::size_t pages() const noexcept { return heap_->pages(); }
    heap_usage usage() const noexcept { return heap_->usage(); }

    /// Destroys and frees all rows of the heap, whatever their link counts, and returns its pages to the arena.
    /// Requires: no other thread uses the heap or its rows (the manager may be used). No local handle of it exists;
    /// otherwise nothing happens, it returns 0, and is reported as misuse in checked builds.
    /// Returns: the number of pages.
    std::size_t release_all() noexcept
        requires unique
    {
        close();
        if (heap_->users() != 0) {
            core_->context().report(misuse::living_handle_of_heap, heap_->config().name, type_, nullptr);
            return 0;
        }
        std::size_t pages = 0;
        {
            typename heap_type::emptying alone(*heap_);
            if constexpr (policies::counts)
                if (type_->destroy != nullptr || type_->check_bytes() != 0)
                    rows::for_each_live(*heap_, [](auto& page, std::byte* row) {
                        rows::check_and_destroy(page, row, rows::counting::word(page, row).load());
                    });
            pages = alone.drop_pages();
        }
        open();
        return pages;
    }

    heap_type& heap() const noexcept { return *heap_; }

  private:
    friend detail::row_calls<row_heap, Heap>;
    friend detail::row_requests<row_heap>;
    using own_local = std::conditional_t<blocked, local_row_heap<Set, Heap, policies::refill::batch>*, std::nullptr_t>;

    row_heap& finder() noexcept { return *this; }
    detail::row_core<Set>& core() noexcept { return *core_; }
    detail::arena_bounds bounds() const noexcept { return core_->arena().view(); }
    const detail::heap_config& config() const noexcept { return heap_->config(); }
    const row_type& type() const noexcept { return *type_; }
    ALLOT_ALWAYS_INLINE void* pop() noexcept {
        if constexpr (blocked)
            if (ALLOT_LIKELY(local_ != nullptr)) return local_->pop();
        return start(heap_->pop_cached());
    }
    void* find(detail::memory_request& asked) noexcept {
        if constexpr (blocked)
            if (ALLOT_LIKELY(local_ != nullptr)) return local_->find(asked);
        return start(heap_->pop(asked));
    }
    void release_row(const void* row) noexcept {
        if constexpr (blocked)
            if (ALLOT_LIKELY(local_ != nullptr)) return local_->release_row(row);
        core_->release_shared(row);
    }
    ALLOT_ALWAYS_INLINE void* start(std::byte* row) noexcept {
        if (row == nullptr) return nullptr;
        rows::start(policies::one_type, heap_->provider().arena().view(), row, number_);
        core_->allocated(heap_->config().row_bytes, *type_);
        return row;
    }
    // If there is no memory for the cache, the handle works slot by slot.
    void open() noexcept {
        if constexpr (blocked) {
            local_ = new (std::nothrow) std::remove_pointer_t<own_local>(*core_, *heap_, number_);
            if (local_ != nullptr) heap_->provider().books().owe(sizeof *local_);
        }
    }
    void close() noexcept {
        if constexpr (blocked) {
            if (local_ == nullptr) return;
            delete std::exchange(local_, nullptr);
            heap_->provider().books().end(sizeof *local_);
        }
    }

    heap_type* heap_;
    detail::row_core<Set>* core_;
    const allot::row_type* type_;
    std::uint32_t number_;
    [[no_unique_address]] own_local local_{};
};

} // namespace allot::inline ALLOT_ABI
