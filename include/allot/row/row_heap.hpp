// row_heap: a handle to a heap of rows of one size, and its local(): the same for one thread, without atomics.
//
// A handle of a unique heap owns it: when the handle goes the heap lives on until its last row is released, and
// its pages go back then. Handles of shared heaps may be many; rows outlive them.
// Cost: allocate and release through local() are about 12 and 15 instructions, the link count included.
// Threads: row_heap by any; a local handle by the one thread that uses it, its rows by any.
// Source: HPCC roxiemem's IFixedRowHeap, 2009; the cache is a magazine, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/thread_check.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

// One thread's handle of a fixed heap; it takes `Batch` slots at once. Must go before its manager.
template <class Set, class Heap, std::size_t Batch = 32> class local_row_heap {
    using policies = Heap;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    local_row_heap(detail::row_core<Set>& core, heap_type& heap, std::uint32_t type) noexcept
        : heap_(heap), arena_(core.arena().view()), type_(type), core_(core) {
        heap_.adopt(cache_, cache_.capacity);
    }
    local_row_heap(const local_row_heap&) = delete;
    local_row_heap& operator=(const local_row_heap&) = delete;
    ~local_row_heap() { heap_.leave(cache_); }

    // A row with one holder, contents unspecified; null when no memory can be had.
    ALLOT_ALWAYS_INLINE void* try_allocate() noexcept {
        guard_.used(core_.context(), heap_.config().name, heap_.config().type);
        std::byte* row;
        if (ALLOT_UNLIKELY(!cache_.pop(row))) {
            row = pop_slow();
            if (row == nullptr) return nullptr;
        }
        rows::start(heap_.cut(), policies::one_type, arena_, row, type_);
        if constexpr (policies::watch::every_nth_row != 0)
            sampler_.allocated(core_, heap_.config().row_bytes, *core_.context().types[type_]);
        return row;
    }
    // The same; on failure what the set's oom policy says.
    ALLOT_ALWAYS_INLINE void* allocate() {
        if (void* const row = try_allocate(); ALLOT_LIKELY(row != nullptr)) return row;
        return core_.refuse(heap_.config().row_bytes, heap_.config().name);
    }
    // As row_heap's; its release, through row_ptr, finds the heap by the address.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        const row_type& type = *core_.context().types[type_];
        void* const row =
            core_.template suits<T>(heap_.config(), type) ? allocate() : core_.refuse(sizeof(T), type.name);
        return core_.template construct<T>(row, std::forward<Args>(args)...);
    }
    // Drops a holder of any row of any manager; quick for rows of this heap.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        guard_.used(core_.context(), heap_.config().name, heap_.config().type);
        const std::size_t in_arena = arena_.offset(row);
        if (ALLOT_UNLIKELY(in_arena >= arena_.bytes)) return core_.not_ours(row);
        std::byte* const at = detail::bytes_of(row);
        if (rows::template released_by_count<policies::counts_first>(
                at, [this](std::byte* more) noexcept { release_slow(more); }))
            return;
        auto& page = rows::page_at(arena_, at);
        if (ALLOT_UNLIKELY(
                !rows::template is_of<rows::reads_page>(page, arena_, in_arena, &heap_) ||
                !rows::template release_if_sole<policies::counts_first>(page, at, policies::one_type, in_arena)))
            return release_slow(at);
        if (ALLOT_UNLIKELY(!cache_.push(at))) push_slow(at);
    }
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_.link(row, arena_);
    }

  private:
    ALLOT_NOINLINE std::byte* pop_slow() noexcept {
        std::byte* row;
        return heap_.refill(cache_) && cache_.pop(row) ? row : nullptr;
    }
    ALLOT_NOINLINE void push_slow(std::byte* row) noexcept {
        heap_.spill(cache_, cache_.batch);
        cache_.push(row);
    }
    // A row of another heap, shared, or to be destroyed.
    ALLOT_NOINLINE void release_slow(std::byte* row) noexcept {
        auto& page = rows::page_at(arena_, row);
        if (!rows::template is_of<false>(page, arena_, arena_.offset(row), &heap_))
            return detail::release_in(core_.arena(), row);
        if (rows::drop(page, row) && !cache_.push(row)) push_slow(row);
    }

    heap_type& heap_;
    const detail::arena_view arena_;
    std::uint32_t type_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check guard_;
    ALLOT_NO_UNIQUE_ADDRESS detail::row_sampler<policies::watch::every_nth_row> sampler_;
    typename heap_type::template cache_of<2 * Batch> cache_;
    detail::row_core<Set>& core_;
};

template <class Set, class Heap> class row_heap {
    using policies = Heap;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    static constexpr bool unique = policies::unique;
    // The handle takes several slots at once, and is for one thread.
    static constexpr bool blocked = policies::refill::batch > 1;

    row_heap(detail::row_core<Set>& core, heap_type& heap, const row_type& type, std::uint32_t number) noexcept
        : heap_(&heap), core_(&core), type_(&type), number_(number) {
        open();
    }
    row_heap(row_heap&& other) noexcept
        : heap_(std::exchange(other.heap_, nullptr)), core_(other.core_), type_(other.type_), number_(other.number_),
          local_(std::exchange(other.local_, nullptr)) {}
    row_heap& operator=(row_heap&& other) noexcept {
        row_heap gone(std::move(*this));
        heap_ = std::exchange(other.heap_, nullptr);
        core_ = other.core_;
        type_ = other.type_;
        number_ = other.number_;
        local_ = std::exchange(other.local_, nullptr);
        return *this;
    }
    ~row_heap() {
        close();
        if constexpr (unique)
            if (heap_ != nullptr) core_->orphan(*heap_);
        if constexpr (policies::limited)
            if (heap_ != nullptr) core_->closed(*heap_);
    }

    // A row with one holder, contents unspecified; null when no memory can be had.
    void* try_allocate() noexcept {
        if constexpr (blocked)
            if (ALLOT_LIKELY(local_ != nullptr)) return local_->try_allocate();
        std::byte* const row = heap_->pop();
        if (row == nullptr) return nullptr;
        rows::start(heap_->cut(), policies::one_type, heap_->provider().arena().view(), row, number_);
        core_->allocated(heap_->config().row_bytes, *type_);
        return row;
    }
    // The same; on failure what the set's oom policy says.
    void* allocate() {
        if (void* const row = try_allocate(); ALLOT_LIKELY(row != nullptr)) return row;
        return core_->refuse(heap_->config().row_bytes, heap_->config().name);
    }
    void release(const void* row) noexcept {
        if constexpr (blocked)
            if (ALLOT_LIKELY(local_ != nullptr)) return local_->release(row);
        core_->release(row);
    }
    void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_->link(row);
    }

    // A constructed T; throws what T's constructor throws, and std::bad_alloc by the oom policy. A T that is larger
    // or more aligned than the heap's rows, or needs a destructor that the heap's type lacks, is refused and told.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        void* const row =
            core_->template suits<T>(heap_->config(), *type_) ? allocate() : core_->refuse(sizeof(T), type_->name);
        return core_->template construct<T>(row, std::forward<Args>(args)...);
    }

    // A handle for the calling thread. Its rows may go to any thread.
    local_row_heap<Set, Heap> local() noexcept { return {*core_, *heap_, number_}; }

    std::size_t live_rows() const noexcept { return heap_->usage().live_rows; }
    std::size_t pages() const noexcept { return heap_->pages(); }
    heap_usage usage() const noexcept { return heap_->usage(); }

    // Frees all rows of the heap, whoever holds them, running the destructors of those that were finalized, and
    // gives all pages back; returns the pages. No other thread may use the heap or its rows meanwhile (others may use
    // the manager, be short of pages, and report), and no local handle of it may be alive: then nothing is done, and it
    // is told.
    std::size_t release_all() noexcept
        requires unique
    {
        close();
        if (heap_->users() != 0) {
            core_->context().report(misuse::used_after_release_all, heap_->config().name, type_, nullptr);
            return 0;
        }
        std::size_t pages = 0;
        {
            const typename heap_type::emptying alone(*heap_);
            if constexpr (policies::counts)
                if (type_->destroy != nullptr || type_->check_bytes() != 0)
                    rows::for_each_live(*heap_, [](auto& page, std::byte* row) {
                        rows::end(page, row, rows::counting::word(page, row).load());
                    });
            pages = heap_->drop_pages();
        }
        open();
        return pages;
    }

    heap_type& heap() const noexcept { return *heap_; }

  private:
    using own_local = std::conditional_t<blocked, local_row_heap<Set, Heap, policies::refill::batch>*, std::nullptr_t>;
    // Without memory for it the handle works slot by slot.
    void open() noexcept {
        if constexpr (blocked) local_ = new (std::nothrow) std::remove_pointer_t<own_local>(*core_, *heap_, number_);
    }
    void close() noexcept {
        if constexpr (blocked) delete std::exchange(local_, nullptr);
    }

    heap_type* heap_;
    detail::row_core<Set>* core_;
    const allot::row_type* type_;
    std::uint32_t number_;
    [[no_unique_address]] own_local local_{};
};

} // namespace allot::inline ALLOT_ABI
