// Where the blocks of buffers come from: a row manager, a chunk arena, a device allocator at a stream, or the process'
// heap, behind one type.
//
// A source has
//     try_allocate(bytes, align) -> void*, or a struct {address, bytes}     and deallocate(p, bytes), or deallocate(p)
// or is a row manager of counted rows (or any_rows). It may also have
//     capacity(p)             bytes that a block may use
//     capacity_for(bytes)     bytes that a block for a request will have
//     host_access             a constant; false if the host must not touch the memory
//     block_name              a constant: what errors call its blocks; else "buffer"
//     try_allocate(.., &why)  why it has no block; one that does not say has none for now: a request may wait for it
//     lender_to(account)      the account that is charged for its blocks, from which that account takes them over; or
//                             null (ledger/pool.hpp)
// Cost: two words; two indirect calls per block. Threads: those of the source.
// Source: Arrow Java's AllocationManager.Factory, 2019.
#pragma once

#include <allot/account/account_climb.hpp>
#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/row_type.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/tree/account_status.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// A block as a source returned it, with its whole size in bytes; null if there is none.
struct memory_block {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
};

namespace detail {

// A source that does not say why has no block now. Its `limit` is what no process has in one block.
constexpr charge_status refused_by_system(std::size_t bytes) noexcept {
    return {
        .outcome = charge_outcome::no_memory, .by = refuser::system, .requested = bytes, .limit = std::size_t{1} << 48};
}

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

namespace detail {

// A reference to a memory source. Requires: the source outlives its blocks.
class block_source {
  public:
    block_source() = default; // refers to none
    template <block_memory M> static block_source of(M& memory) noexcept { return {&memory, &calls_of<M>}; }

    // Bytes that a block for the request will take; the request itself if the source does not say.
    std::size_t capacity_for(std::size_t bytes) const noexcept { return calls_->capacity_for(memory_, bytes); }
    bool host_access() const noexcept { return calls_->host_access; }
    const char* block_name() const noexcept { return calls_->block_name; }
    // What the source has at hand; none: attempt() may have some.
    memory_block take_cached(std::size_t bytes) const noexcept { return calls_->take_cached(memory_, bytes); }
    // Past that: one attempt.
    memory_block attempt(memory_request& asked) const noexcept { return calls_->attempt(memory_, asked); }
    // Makes a refused request again, step by step: its attempts take a block of the source, and charge `by` for it, if
    // that is not null. Returns: whether it was granted.
    bool climb(memory_request& asked, const account_node* by, attempt_ref again) const noexcept {
        return calls_->climb(memory_, asked, by, again);
    }
    void give(memory_block block) const noexcept { calls_->give(memory_, block); }
    bool lends() const noexcept { return calls_->lender_to != nullptr; }
    // Null: blocks are charged to the account alone.
    account* lender_to(const account& by) const noexcept { return lends() ? calls_->lender_to(memory_, by) : nullptr; }

  private:
    struct calls {
        memory_block (*take_cached)(void*, std::size_t) noexcept;
        memory_block (*attempt)(void*, memory_request&) noexcept;
        bool (*climb)(void*, memory_request&, const account_node*, attempt_ref) noexcept;
        void (*give)(void*, memory_block) noexcept;
        std::size_t (*capacity_for)(void*, std::size_t) noexcept;
        account* (*lender_to)(void*, const account&) noexcept;
        bool host_access;
        const char* block_name;
    };
    block_source(void* memory, const calls* with) noexcept : memory_(memory), calls_(with) {}

    template <class M> static M& as(void* memory) noexcept { return *static_cast<M*>(memory); }
    template <class M> static constexpr auto& place_of() noexcept {
        if constexpr (allocates_rows<M>) return buffer_row;
        else return buffer_align;
    }
    // A block of what try_allocate() of the source returned.
    template <class M, class Got>
    static ALLOT_ALWAYS_INLINE memory_block block_of([[maybe_unused]] M& m, const Got& got,
                                                     [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (allocates_blocks<M>) {
            return {static_cast<std::byte*>(got.address), static_cast<std::size_t>(got.bytes)};
        } else {
            if (got == nullptr) return {};
            if constexpr (requires { m.capacity(got); }) return {static_cast<std::byte*>(got), m.capacity(got)};
            else return {static_cast<std::byte*>(got), bytes};
        }
    }
    // A source of allot looks into its caches. One that says why it refuses is asked once, by once(); any other here.
    template <class M> static ALLOT_ALWAYS_INLINE memory_block cached(M& m, std::size_t bytes) noexcept {
        constexpr auto& place = place_of<M>();
        if constexpr (requires { m.try_allocate(bytes, place, from_caches{}); })
            return block_of(m, m.try_allocate(bytes, place, from_caches{}), bytes);
        else if constexpr (reports_refusals<M>) return {};
        else return block_of(m, m.try_allocate(bytes, place), bytes);
    }
    template <class M> static memory_block once(M& m, memory_request& asked) noexcept {
        constexpr auto& place = place_of<M>();
        if constexpr (requires { m.try_allocate(asked, place); })
            return block_of(m, m.try_allocate(asked, place), asked.bytes);
        else if constexpr (reports_refusals<M>)
            return block_of(m, m.try_allocate(asked.bytes, place, &asked.why), asked.bytes);
        else return asked.refuse(refused_by_system(asked.bytes)), memory_block{};
    }
    // A source of allot adds steps of its own.
    template <class M>
    static bool climb_of([[maybe_unused]] M& m, memory_request& asked, const account_node* by,
                         attempt_ref again) noexcept {
        if constexpr (requires { m.climb(asked, by, again); }) return m.climb(asked, by, again);
        else return by != nullptr && request_again(*by, asked, again);
    }
    template <class M> static ALLOT_ALWAYS_INLINE void give_to(M& m, memory_block b) noexcept {
        if constexpr (allocates_rows<M>) m.release(b.address);
        else if constexpr (requires { m.deallocate({b.address, b.bytes}); }) m.deallocate({b.address, b.bytes});
        else if constexpr (requires { m.deallocate(b.address, b.bytes); }) m.deallocate(b.address, b.bytes);
        else m.deallocate(b.address);
    }
    template <class M> static constexpr bool host_access_of() noexcept {
        if constexpr (requires {
                          { M::host_access } -> std::convertible_to<bool>;
                      })
            return M::host_access;
        else if constexpr (allocates_rows<M>) return requires(M& m, void* p) { m.finalize(p); };
        else return true;
    }
    template <class M> static constexpr const char* name_of() noexcept {
        if constexpr (requires { M::block_name; }) return M::block_name;
        else return "buffer";
    }
    template <class M> static constexpr auto lender_of() noexcept -> account* (*)(void*, const account&) noexcept {
        if constexpr (requires(M& m, const account& by) { m.lender_to(by); })
            return [](void* m, const account& by) noexcept { return as<M>(m).lender_to(by); };
        else return nullptr;
    }
    template <class M>
    static constexpr calls calls_of{
        [](void* m, std::size_t n) noexcept { return cached(as<M>(m), n); },
        [](void* m, memory_request& asked) noexcept { return once(as<M>(m), asked); },
        [](void* m, memory_request& asked, const account_node* by, attempt_ref again) noexcept {
            return climb_of(as<M>(m), asked, by, again);
        },
        [](void* m, memory_block b) noexcept { give_to(as<M>(m), b); },
        []([[maybe_unused]] void* m, std::size_t n) noexcept -> std::size_t {
            std::size_t has = 0; // a source returns 0 for what it can never allocate
            if constexpr (requires { as<M>(m).capacity_for(n); }) has = as<M>(m).capacity_for(n);
            return has > n ? has : n;
        },
        lender_of<M>(),
        host_access_of<M>(),
        name_of<M>(),
    };

    void* memory_ = nullptr;
    const calls* calls_ = nullptr;
};

} // namespace detail

/// The process' heap (operator new) as a memory source. Blocks are multiples of 64 bytes.
struct heap_memory {
    static constexpr std::size_t capacity_for(std::size_t bytes) noexcept {
        return detail::rounded_up(bytes, detail::buffer_align);
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
