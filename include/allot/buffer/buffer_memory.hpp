// Allocates buffers from a memory source: a row manager, a chunk arena, a device allocator at a stream, or the process'
// heap.
//
//     allot::buffer_memory memory{rows};
//     allot::buffer b = memory.allocate(scan, 64_KiB);          charged to the account `scan`
//
// block_source.hpp says what a source has.
// Invariant: an account is charged for the whole block that the source returned.
// Cost: two words; two indirect calls per block. Threads: those of the source.
#pragma once

#include <allot/buffer/block_source.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_allocate.hpp>
#include <allot/config.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/memory_request.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// A reference to a memory source. Requires: the source outlives the buffers.
class buffer_memory {
    template <class M>
    static constexpr bool is_own =
        std::same_as<std::remove_cv_t<M>, buffer_memory> || std::same_as<std::remove_cv_t<M>, detail::block_source>;

  public:
    template <class M>
        requires(block_memory<M> && !is_own<M>)
    buffer_memory(M& memory) noexcept : source_(detail::block_source::of(memory)) {}
    /// Rejected at compile time: not a memory source.
    template <class M>
        requires(!block_memory<M> && !is_own<M>)
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
    ALLOT_OUTLINE buffer allocate(account& by, std::size_t bytes) const {
        if (ALLOT_UNLIKELY(source_.lends())) return allocate_lent(by, bytes);
        return allocate_from(nullptr, by, bytes);
    }
    /// As allocate(), but returns the empty buffer on failure, and why.
    ALLOT_OUTLINE buffer try_allocate(account& by, std::size_t bytes, charge_status* why = nullptr) const noexcept {
        return buffer{detail::new_view(source_, by, bytes, nullptr, why)};
    }
    /// As try_allocate(), and waits while the limit of an account refuses: until buffers are released, bytes are
    /// refunded, or a limit is raised. Inside a listener or reclaimer it does not wait.
    ALLOT_OUTLINE buffer allocate_for(account& by, std::size_t bytes, const wait_limit& wait,
                                      charge_status* why = nullptr) const noexcept {
        return buffer{detail::new_view(source_, by, bytes, &wait, why)};
    }

    /// The memory that the buffer's block came from; none for an empty buffer, and for a foreign block.
    static std::optional<buffer_memory> of(const buffer& b) noexcept {
        if (!b || b.view_.ledger->block->origin == detail::block_origin::foreign) return std::nullopt;
        return buffer_memory{b.view_.ledger->block->source.memory};
    }
    /// Bytes that a block for the request will take; the request itself if the source does not say.
    /// Requires: bytes <= PTRDIFF_MAX.
    std::size_t capacity_for(std::size_t bytes) const noexcept { return source_.capacity_for(bytes); }
    bool host_access() const noexcept { return source_.host_access(); }

    /// Take and return blocks without an account. `why`: set where there is none, and it is not null.
    memory_block take(std::size_t bytes, charge_status* why = nullptr) const noexcept {
        detail::memory_request asked{bytes};
        memory_block m;
        const auto once = [&] {
            m = source_.take_cached(bytes);
            if (m.address == nullptr) m = source_.attempt(asked);
            return m.address != nullptr;
        };
        asked.report(why, once() || source_.climb(asked, nullptr, once));
        return m;
    }
    void give(memory_block block) const noexcept { source_.give(block); }

  private:
    explicit buffer_memory(const detail::block_source& source) noexcept : source_(source) {}
    ALLOT_ALWAYS_INLINE buffer allocate_from(account* lender, account& by, std::size_t bytes) const {
        return buffer{detail::new_view(
            source_, lender, by, bytes, [&](memory_block taken) { return take_or_raise(lender, by, bytes, taken); },
            [&] { raise(by, bytes, detail::no_memory(bytes)); })};
    }
    ALLOT_NOINLINE buffer allocate_lent(account& by, std::size_t bytes) const {
        return allocate_from(source_.lender_to(by), by, bytes);
    }
    ALLOT_NOINLINE memory_block take_or_raise(account* lender, account& by, std::size_t bytes,
                                              memory_block taken) const {
        detail::memory_request asked{bytes};
        asked.judged = true;
        const memory_block m = detail::requested_block(source_, lender, by, asked, taken);
        if (ALLOT_UNLIKELY(m.address == nullptr)) raise(by, bytes, asked.why);
        return m;
    }
    [[noreturn]] ALLOT_COLD void raise(account& by, std::size_t bytes, const charge_status& why) const {
        by.raise_verdict(why);
        detail::raise_no_block(source_.block_name(), by, bytes, why);
    }

    detail::block_source source_;
};

static_assert(sizeof(buffer_memory) == 2 * sizeof(void*));

} // namespace allot::inline ALLOT_ABI
