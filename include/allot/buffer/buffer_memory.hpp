// The memory source of buffers: a row manager, a chunk arena, a device allocator at a stream, or the process' heap,
// behind one type.
//
//     allot::buffer_memory memory{rows};
//     allot::buffer b = memory.allocate(scan, 64_KiB);          charged to the account `scan`
//
// A source has
//     try_allocate(bytes, align) -> void*, or a struct {address, bytes}     and deallocate(p, bytes), or deallocate(p)
// or is a row manager of counted rows (or any_rows). It may also have
//     capacity(p)             bytes that a block may use
//     capacity_for(bytes)     bytes that a block for a request will have
//     host_access             a constant; false if the host must not touch the memory
// Invariant: an account is charged for the whole block that the source returned.
// Cost: two words; two indirect calls per block. Threads: those of the source.
// Source: Arrow Java's AllocationManager.Factory, 2019.
#pragma once

#include <allot/account/account_status.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/row_type.hpp>
#include <allot/reclaim/wait_limit.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

class buffer;

/// A block as a source returned it, with its whole size in bytes; null if there is none.
struct memory_block {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
};

namespace detail {

inline constexpr std::size_t buffer_align = 64; // of every block, in bytes
inline constexpr row_type buffer_row{"buffer", nullptr, buffer_align};

template <class M>
concept allocates_rows = requires(M& m, void* p, std::size_t n) {
    { m.try_allocate(n, buffer_row) } -> std::same_as<void*>;
    { m.capacity(p) } -> std::same_as<std::size_t>;
    m.link(p);
    m.release(p);
};
template <class M>
concept deallocates =
    requires(M& m, void* p, std::size_t n) { m.deallocate(p, n); } || requires(M& m, void* p) { m.deallocate(p); };
template <class M>
concept allocates_addresses = deallocates<M> && requires(M& m, std::size_t n) {
    { m.try_allocate(n, n) } -> std::same_as<void*>;
};
template <class M>
concept allocates_blocks = deallocates<M> && requires(M& m, std::size_t n) {
    { m.try_allocate(n, n).address } -> std::convertible_to<void*>;
    { m.try_allocate(n, n).bytes } -> std::convertible_to<std::size_t>;
};

// A row manager, chunk arena, or on_stream.
template <class M>
concept reports_refusals = requires(M& m, std::size_t n, charge_status* why) { m.try_allocate(n, n, why); } ||
                           requires(M& m, std::size_t n, charge_status* why) { m.try_allocate(n, buffer_row, why); };

} // namespace detail

/// A memory source for buffers; see above.
template <class M>
concept block_memory = detail::allocates_rows<M> || detail::allocates_addresses<M> || detail::allocates_blocks<M>;

/// A reference to a memory source. Requires: the source outlives the buffers.
class buffer_memory {
  public:
    template <class M>
        requires(block_memory<M> && !std::same_as<std::remove_cv_t<M>, buffer_memory>)
    buffer_memory(M& memory) noexcept : memory_(&memory), calls_(&calls_of<M>) {}
    /// Rejected at compile time: not a memory source.
    template <class M>
        requires(!block_memory<M> && !std::same_as<std::remove_cv_t<M>, buffer_memory>)
    explicit buffer_memory(M&) noexcept {
        static_assert(
            block_memory<M>,
            "allot: this is no memory source for buffers; pass a type with try_allocate(bytes, align) and "
            "deallocate(p), a row manager whose rows have link counts, or on_stream{device allocator, stream}");
    }

    /// Allocates a buffer of these bytes, aligned to 64, contents unspecified. The account is charged for the whole
    /// block.
    /// Returns: the empty buffer for 0 bytes.
    /// Throws: out_of_memory if the account refuses or the source has no memory; its report names the top holders.
    buffer allocate(account& by, std::size_t bytes) const;
    /// As allocate(), but returns the empty buffer on failure, and why.
    buffer try_allocate(account& by, std::size_t bytes, charge_status* why = nullptr) const noexcept;
    /// As try_allocate(), and waits while the limit of an account refuses: until buffers are released, bytes are
    /// refunded, or a limit is raised. Inside a listener or reclaimer it does not wait.
    buffer allocate_for(account& by, std::size_t bytes, const wait_limit& wait,
                        charge_status* why = nullptr) const noexcept;

    /// Bytes that a block for the request will take; the request itself if the source does not say.
    /// Requires: bytes <= PTRDIFF_MAX.
    std::size_t capacity_for(std::size_t bytes) const noexcept { return calls_->capacity_for(memory_, bytes); }
    bool host_access() const noexcept { return calls_->host_access; }

    /// Take and return blocks without an account. `why`: set where there is none, and it is not null.
    memory_block take(std::size_t bytes, charge_status* why = nullptr) const noexcept {
        memory_block m = take_cached(bytes);
        if (m.address != nullptr) return m;
        charge_status refusal;
        m = take_slow(bytes, refusal);
        if (m.address == nullptr && why != nullptr) *why = refusal;
        return m;
    }
    void give(memory_block block) const noexcept { calls_->give(memory_, block); }

  private:
    // What the source has at hand; none: take_slow() may have some.
    memory_block take_cached(std::size_t bytes) const noexcept { return calls_->take_cached(memory_, bytes); }
    memory_block take_slow(std::size_t bytes, charge_status& why) const noexcept {
        return calls_->take_slow(memory_, bytes, why);
    }
    memory_block take_or_reclaim(account& by, std::size_t bytes, charge_status& why) const noexcept;
    void undo_take(memory_block block, const charge_status& refused) const noexcept;
    struct calls {
        memory_block (*take_cached)(void*, std::size_t) noexcept;
        memory_block (*take_slow)(void*, std::size_t, charge_status&) noexcept;
        void (*give)(void*, memory_block) noexcept;
        std::size_t (*capacity_for)(void*, std::size_t) noexcept;
        bool host_access;
    };
    template <class M> static M& as(void* memory) noexcept { return *static_cast<M*>(memory); }
    template <class M> static constexpr auto& place_of() noexcept {
        if constexpr (detail::allocates_rows<M>) return detail::buffer_row;
        else return detail::buffer_align;
    }
    // A block of what try_allocate() of the source returned.
    template <class M, class Got>
    static ALLOT_ALWAYS_INLINE memory_block block_of([[maybe_unused]] M& m, const Got& got,
                                                     [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (detail::allocates_blocks<M>) {
            return {static_cast<std::byte*>(got.address), static_cast<std::size_t>(got.bytes)};
        } else {
            if (got == nullptr) return {};
            if constexpr (requires { m.capacity(got); }) return {static_cast<std::byte*>(got), m.capacity(got)};
            else return {static_cast<std::byte*>(got), bytes};
        }
    }
    // A source of allot looks into its caches. One that says why it refuses is asked once, by slow(); any other here.
    template <class M> static ALLOT_ALWAYS_INLINE memory_block cached(M& m, std::size_t bytes) noexcept {
        constexpr auto& place = place_of<M>();
        if constexpr (requires { m.try_allocate(bytes, place, detail::from_caches{}); })
            return block_of(m, m.try_allocate(bytes, place, detail::from_caches{}), bytes);
        else if constexpr (detail::reports_refusals<M>) return {};
        else return block_of(m, m.try_allocate(bytes, place), bytes);
    }
    template <class M> static memory_block slow(M& m, std::size_t bytes, charge_status& why) noexcept {
        constexpr auto& place = place_of<M>();
        if constexpr (requires { m.try_allocate(bytes, place, detail::past_caches{why}); })
            return block_of(m, m.try_allocate(bytes, place, detail::past_caches{why}), bytes);
        else if constexpr (detail::reports_refusals<M>) return block_of(m, m.try_allocate(bytes, place, &why), bytes);
        else return why = {.outcome = charge_outcome::no_memory, .requested = bytes}, memory_block{};
    }
    template <class M> static ALLOT_ALWAYS_INLINE void give_to(M& m, memory_block b) noexcept {
        if constexpr (detail::allocates_rows<M>) m.release(b.address);
        else if constexpr (requires { m.deallocate(b.address, b.bytes); }) m.deallocate(b.address, b.bytes);
        else m.deallocate(b.address);
    }
    template <class M> static constexpr bool host_access_of() noexcept {
        if constexpr (requires {
                          { M::host_access } -> std::convertible_to<bool>;
                      })
            return M::host_access;
        else if constexpr (detail::allocates_rows<M>) return requires(M& m, void* p) { m.finalize(p); };
        else return true;
    }
    template <class M>
    static constexpr calls calls_of{
        [](void* m, std::size_t n) noexcept { return cached(as<M>(m), n); },
        [](void* m, std::size_t n, charge_status& why) noexcept { return slow(as<M>(m), n, why); },
        [](void* m, memory_block b) noexcept { give_to(as<M>(m), b); },
        []([[maybe_unused]] void* m, std::size_t n) noexcept -> std::size_t {
            std::size_t has = 0; // a source returns 0 for what it can never allocate
            if constexpr (requires { as<M>(m).capacity_for(n); }) has = as<M>(m).capacity_for(n);
            return has > n ? has : n;
        },
        host_access_of<M>(),
    };

    void* memory_;
    const calls* calls_;
};

static_assert(sizeof(buffer_memory) == 2 * sizeof(void*));

/// The process' heap (operator new) as a memory source. Blocks are multiples of 64 bytes.
struct heap_memory {
    static constexpr std::size_t capacity_for(std::size_t bytes) noexcept {
        return align_up(bytes, detail::buffer_align);
    }
    memory_block try_allocate(std::size_t bytes, std::size_t align) noexcept {
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return {};
        const std::size_t whole = capacity_for(bytes);
        void* const p = ::operator new(whole, std::align_val_t{align}, std::nothrow);
        return {static_cast<std::byte*>(p), p != nullptr ? whole : 0};
    }
    void deallocate(void* p) noexcept { ::operator delete(p, std::align_val_t{detail::buffer_align}); }
};

} // namespace allot::inline ALLOT_ABI
