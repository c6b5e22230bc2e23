// Makes new blocks that an account is charged for, and views of them and of foreign memory. A block is taken from its
// source first, since only then the size to charge is known, and is returned if the account refuses, or must wait.
//
// `Source` is a block_source, or has its calls take_cached(), attempt(), climb(), give(), and capacity_for().
// Threads: any. Use: buffer_memory.hpp, charged_blocks.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/buffer/block_source.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/buffer/buffer_records.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/tree/account_path.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A view of memory that is allocated and charged. Empty, with no effect: the host has no memory for its record.
ALLOT_ALWAYS_INLINE raw_view view_of(const memory_block& m, std::size_t bytes, account& by, const buffer_source& from,
                                     block_origin origin, bool host) noexcept {
    void* const record = buffer_records::take();
    if (record == nullptr) return {};
    auto* const b = ::new (record) buffer_block(m, by, from, origin, host);
    return {&b->first, m.address, bytes};
}
// A view of foreign memory. Empty where it is refused: `why`, if it is not null.
ALLOT_ALWAYS_INLINE raw_view foreign_view(account& by, const memory_block& m, const foreign_memory& from,
                                          bool host_access, charge_status* why) noexcept {
    const std::size_t bytes = m.bytes;
    if (why != nullptr) *why = {};
    if (bytes == 0) return {};
    const charge_status s = by.try_charge(bytes);
    if (why != nullptr) *why = s;
    if (!s) return {};
    const raw_view v = view_of(m, bytes, by, from, block_origin::foreign, host_access);
    if (ALLOT_UNLIKELY(v.ledger == nullptr)) {
        by.refund(bytes);
        if (why != nullptr) *why = no_memory(bytes);
    }
    return v;
}

// Whether the account is asked before a block is taken.
ALLOT_ALWAYS_INLINE bool asks_limits(const account* lender, account& by, std::size_t bytes) noexcept {
    constexpr std::size_t large = std::size_t{64} << 10;
    const auto has_credit = [&] { // a block is rarely more than twice the request
        return by.has_credit(bytes < SIZE_MAX / 2 ? 2 * bytes : SIZE_MAX);
    };
    return (bytes >= large && !has_credit()) || (lender != nullptr && by.node().tree().has_waiters());
}
// A request for a new block that `by` is charged for. `lender`: the account from which `by` takes the block over; null:
// none. A block that was taken is kept while the request asks others for room to charge it.
template <class Source> class block_request final : held_memory {
  public:
    // `taken`: a block that is to be charged, or none.
    block_request(const Source& from, account* lender, account& by, memory_request& asked, memory_block taken) noexcept
        : from_(from), lender_(lender), by_(by), asked_(asked), taken_(taken) {
        asked.holds = this;
        asked.is_attempt = true;
    }
    block_request(const block_request&) = delete;
    block_request& operator=(const block_request&) = delete;
    ~block_request() {
        let_go([]() noexcept { return true; });
        asked_.holds = nullptr;
    }

    // Where it is refused, it is made again, step by step.
    memory_block make() noexcept {
        if (attempt()) return std::exchange(taken_, {});
        asked_.charges_others = true;
        const bool has = from_.climb(asked_, &by_.node(), [this]() noexcept { return attempt(); });
        return has ? std::exchange(taken_, {}) : memory_block{};
    }

  private:
    bool attempt() noexcept {
        if (taken_.address == nullptr && !take()) return false;
        charge_wait most = asked_;
        if (promised_ && promised_->is_used()) most = {.is_attempt = true}; // it goes behind no request that is due
        const charge_status s = lender_ == nullptr ? try_charge(by_.node(), taken_.bytes, most)
                                                   : charge_from(lender_->node(), by_.node(), taken_.bytes, most);
        if (!s) return refuse(s);
        promised_.reset();
        return true;
    }
    bool take() noexcept {
        if (asks_limits(lender_, by_, asked_.bytes))
            if (const charge_status s = try_limits(); !s) return refuse(s);
        taken_ = from_.take_cached(asked_.bytes);
        if (taken_.address != nullptr) return true;
        asked_.of_charge = false;
        if (lender_ != nullptr) asked_.promised = &promised_.emplace(by_.node()); // pays for a page
        taken_ = from_.attempt(asked_);
        asked_.promised = nullptr;
        if (taken_.address == nullptr) promised_.reset();
        return taken_.address != nullptr;
    }
    // Whether the account may be charged a block of that size, before a large block is taken, so that a request beyond
    // its limits takes no memory from others; and before a pool takes pages for one that goes behind a due one.
    charge_status try_limits() noexcept {
        const bool is_possible = asked_.bytes <= static_cast<std::size_t>(PTRDIFF_MAX);
        const std::size_t least = is_possible ? from_.capacity_for(asked_.bytes) : asked_.bytes;
        if (lender_ != nullptr) return may_lend(lender_->node(), by_.node(), least, asked_);
        if (by_.fits(least)) return {};
        const sys::section inside; // bytes that are held have an end
        const charge_status s = by_.try_hold(least);
        if (s) by_.cancel(least);
        return s;
    }
    bool refuse(const charge_status& why) noexcept {
        asked_.of_charge = true;
        return asked_.refuse(why) != nullptr;
    }
    void let_go(attempt_ref then) noexcept override {
        if (taken_.address != nullptr) {
            const undoing mine{refuser_in(asked_.why)};
            from_.give(std::exchange(taken_, {}));
            then();
        }
        promised_.reset();
    }

    const Source& from_;
    account* const lender_;
    account& by_;
    memory_request& asked_;
    memory_block taken_;
    std::optional<promised_pages> promised_;
};
// The same, made.
template <class Source>
ALLOT_NOINLINE memory_block requested_block(const Source& from, account* lender, account& by, memory_request& asked,
                                            memory_block taken) noexcept {
    return block_request<Source>{from, lender, by, asked, taken}.make();
}
// A new block, without a call that may refuse it, where the source has one at hand and credit covers it. Else what
// slow(block) returns: the block is one that is not charged yet, or none.
template <class Source, class Slow>
ALLOT_ALWAYS_INLINE memory_block warm_block(const Source& from, account* lender, account& by, std::size_t bytes,
                                            Slow slow) {
    const memory_block m = asks_limits(lender, by, bytes) ? memory_block{} : from.take_cached(bytes);
    if (ALLOT_UNLIKELY(m.address == nullptr || !by.node().credit().take(m.bytes))) return slow(m);
    if (lender != nullptr && ALLOT_UNLIKELY(!lender->node().credit().give(m.bytes)))
        refund_slow(lender->node(), m.bytes, [] {});
    return m;
}
// The view of a new block; empty for 0 bytes, and where slow(block) returns none. `no_record()`: the host has no memory
// for its record; the block has returned to its source.
template <class Slow, class NoRecord>
ALLOT_ALWAYS_INLINE raw_view new_view(const block_source& from, account* lender, account& by, std::size_t bytes,
                                      Slow slow, NoRecord no_record) {
    if (bytes == 0) return {};
    const memory_block m = warm_block(from, lender, by, bytes, slow);
    if (ALLOT_UNLIKELY(m.address == nullptr)) return {};
    const block_origin is = lender == nullptr ? block_origin::source : block_origin::pool;
    const raw_view v = view_of(m, bytes, by, from, is, from.host_access());
    if (ALLOT_LIKELY(v.ledger != nullptr)) return v;
    if (lender != nullptr) free_lent(from, m, *lender, by);
    else from.give(m), by.refund(m.bytes);
    return no_record(), raw_view{};
}
// The same, as `why` says where there is none, if it is not null. `wait`: as that of a memory_request.
ALLOT_ALWAYS_INLINE raw_view new_view(const block_source& from, account* lender, account& by, std::size_t bytes,
                                      const wait_limit* wait, charge_status* why) noexcept {
    if (why != nullptr) *why = {};
    return new_view(
        from, lender, by, bytes,
        [&](memory_block taken) {
            memory_request asked{bytes};
            asked.wait = wait;
            const memory_block m = requested_block(from, lender, by, asked, taken);
            asked.report(why, m.address != nullptr);
            return m;
        },
        [&] {
            if (why != nullptr) *why = no_memory(bytes);
        });
}
ALLOT_NOINLINE inline raw_view lent_view(const block_source& from, account& by, std::size_t bytes,
                                         const wait_limit* wait, charge_status* why) noexcept {
    return new_view(from, from.lender_to(by), by, bytes, wait, why);
}
ALLOT_ALWAYS_INLINE raw_view new_view(const block_source& from, account& by, std::size_t bytes, const wait_limit* wait,
                                      charge_status* why) noexcept {
    if (ALLOT_UNLIKELY(from.lends())) return lent_view(from, by, bytes, wait, why);
    return new_view(from, nullptr, by, bytes, wait, why);
}

// What a request for a buffer throws that was refused.
[[noreturn]] ALLOT_OUTLINE_COLD void raise_no_block(const char* what, const account& by, std::size_t bytes,
                                                    const charge_status& why) {
    char line[out_of_memory::line_bytes];
    const account_path path = by.path();
    const auto write_refusal = [&](text_writer& out) {
        out.put("a ").put(what).put(" of ").bytes(bytes).put(" for account ").name(path.text()).put(": ");
        write(out, why, bytes);
    };
    text_writer text{line};
    text.put("allot: out of memory: ");
    write_refusal(text);
    by.write_failures(text, why);
    raise(out_of_memory(
        text.view(),
        [&](text_writer& out) {
            out.put("out of memory: ");
            write_refusal(out);
            out.newline();
            write_top_holders(out, by.root(), why);
            write_top_holders(out, by.root());
        },
        why));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
