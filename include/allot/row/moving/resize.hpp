// A row gets another capacity: in place where it can, else at another address.
//
//   rows of a size class   stay while the class is large enough; else a larger row, a copy, and the old one is freed
//   huge rows              more pages behind the row, or another run, or more pages in front; fewer pages in place
//
// Where other threads read the row, its new address and capacity are published by a callback, which calls move():
//
//     rows.try_resize(table.row, table.used, bytes, [&](auto move) {
//         const std::unique_lock hold(table.readers);          // no thread uses the old row
//         table.publish(move());                               // resized_row: address and capacity
//     });                                                      // then old memory is freed
//
// Invariant: until move() the row is as it was; its old memory is freed after the callback has returned.
// Cost: none until used. Threads: one resize of a row at a time.
// Source: resizeRow() of HPCC roxiemem, 2010, whose callback has four functions, and publishes a smaller capacity after
// the pages were returned.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/row_type.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/row/type_table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// A row that was resized: its address, and the bytes that it may use.
struct resized_row {
    void* row = nullptr;
    std::size_t capacity = 0;
};

namespace detail {

// Bytes that a row for such a request may use; 0: it is misuse, or too large.
template <class Core> std::size_t capacity_for(const Core& core, std::size_t bytes, const row_type& type) noexcept {
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) || !type_table::is_alignment(type)) return 0;
    const std::size_t check = Core::policies::counts ? type.check_bytes() : 0;
    std::size_t has = core.spans().serves(bytes + check, type.align)
                          ? core.spans().capacity_for(bytes + check)
                          : core.buckets().capacity_for(bytes + check, type.align);
    if (has == 0) has = core.huge().capacity_for(bytes + check, type.align);
    return has == 0 || has - check > static_cast<std::size_t>(PTRDIFF_MAX) ? 0 : has - check;
}

// The capacity of a row of a size class, by the page map alone; 0: another row, or none.
// Requires: rows without counts, which are not checked: the address is that of a row.
template <class Core> ALLOT_ALWAYS_INLINE std::size_t capacity_plain(const Core& core, const void* row) noexcept {
    const arena_bounds& in = core.arena().view();
    const std::size_t at = in.offset(row);
    if (at >= in.bytes) return 0;
    const std::uintptr_t tag = in.tag_at(at);
    const auto index = static_cast<std::uint32_t>(heap_tag::index(tag));
    const auto* const heap = index < core.buckets().count() ? core.buckets().find(index) : nullptr;
    if (heap == nullptr || heap->tag() != tag) return 0;
    return core.buckets().row_bytes(index);
}

// Publishes nothing: no other thread uses the row.
struct at_once {};

// A row of a size class, with one link, without a seal, and that moves as bytes: a larger one comes from the caches.
// Its release reports damage. Null: row_resizer finds out why not.
template <class Core> void* resize_plain(Core& core, void* row, std::size_t keep, std::size_t bytes) noexcept {
    using rows = typename Core::rows;
    using guard = typename rows::guard;
    if constexpr (guard::wipes || guard::waits != 0) return nullptr;
    const arena_bounds& in = core.arena().view();
    const std::size_t at = in.offset(row);
    if (at >= in.bytes) return nullptr;
    const std::uintptr_t tag = in.tag_at(at);
    const auto index = static_cast<std::uint32_t>(heap_tag::index(tag));
    const auto* const heap = index < core.buckets().count() ? core.buckets().find(index) : nullptr;
    if (heap == nullptr || heap->tag() != tag) return nullptr;
    auto* const from = static_cast<std::byte*>(row);
    auto& page = rows::page_at(in, from);
    if (!rows::is_start(page, from)) return nullptr;
    const row_type* type = &bytes_aligned_to(heap->config().align);
    if constexpr (Core::policies::counts) {
        if (const auto word = rows::counting::word(page, from); word.load() != word.sole_link) return nullptr;
        type = rows::type_of(page, from);
        if (!type->can_move() || !type->moves_as_bytes() || type->check_bytes() != 0) return nullptr;
    } else if (!rows::has_links(page, from)) {
        return nullptr;
    }
    const std::size_t had = rows::usable_bytes(page.cut);
    if (bytes <= had) return row;
    void* const larger = core.pop(bytes, *type);
    if (larger == nullptr) return nullptr;
    std::memcpy(larger, row, min(keep, had));
    core.release(row, had);
    return larger;
}

// One attempt at a resize. `keep`: bytes of the row that are kept; `bytes`: its new capacity at least.
template <class Core> class row_resizer {
  public:
    row_resizer(Core& core, memory_request& asked, void* row, std::size_t keep) noexcept
        : core_(core), asked_(asked), row_(static_cast<std::byte*>(row)), keep_(keep), bytes_(asked.bytes) {}
    row_resizer(const row_resizer&) = delete;
    row_resizer& operator=(const row_resizer&) = delete;

    // Calls publish(move) if the row has to change. Returns the row; null: refused or not published, and the row is as
    // it was.
    template <class Publish> void* run(Publish publish) {
        if (!look_up()) return nullptr;
        const bool is_huge = page_->tag == 0;
        if (bytes_ <= had_ && (!is_huge || core_.huge().keeps_pages(*page_, bytes_ + check_bytes()))) return row_;
        if (is_shared_) return refuse("a row with several links is not resized");
        return is_huge ? resize_huge(publish) : replace(publish);
    }

  private:
    using rows = typename Core::rows;

    // Ends a resize, also where publish() throws.
    template <class End> struct at_end {
        End end;
        ~at_end() { end(); }
    };

    std::size_t check_bytes() const noexcept { return Core::policies::counts ? type_->check_bytes() : 0; }
    std::nullptr_t refuse(const char* why) noexcept { return asked_.refuse(charge_outcome::misused, bytes_, why); }
    bool is_misuse(misuse kind) noexcept {
        core_.context().report(kind, "", nullptr, row_, core_.arena().name());
        asked_.refuse(charge_outcome::misused, bytes_, text_of(kind).data());
        return false;
    }
    // Finds the page and the type of the row; false: it cannot be resized.
    bool look_up() noexcept {
        if (row_ == nullptr || !core_.arena().contains(row_)) return is_misuse(misuse::foreign_pointer);
        page_ = page_of_row(core_.arena(), row_, []() noexcept -> page_header* { return nullptr; });
        const row_state s = page_ != nullptr ? state() : row_state{};
        if (s.is_of_other) return is_misuse(misuse::foreign_pointer);
        if (s.moves == row_moves::not_live) {
            if (page_ != nullptr) static_cast<void>(page_->ops->capacity(*page_, row_)); // reports, with heap and type
            return is_misuse(misuse::not_a_row);
        }
        if (bytes_ > static_cast<std::size_t>(PTRDIFF_MAX)) return is_misuse(misuse::size_too_large);
        is_shared_ = s.moves == row_moves::shared;
        may_move_ = s.moves == row_moves::yes;
        constructed_ = s.constructed;
        may_be_damaged_ = s.may_be_damaged;
        had_ = s.capacity;
        if (s.type != nullptr) type_ = s.type;
        else type_ = &bytes_aligned_to(s.align);
        return true;
    }
    ALLOT_ALWAYS_INLINE row_state state() const noexcept {
        const void* const manager = core_.context().manager;
        return page_->ops == &rows::ops ? rows::state(*page_, row_, manager) : page_->ops->state(*page_, row_, manager);
    }
    template <class Publish> void* resize_huge(Publish& publish) {
        auto& huge = core_.huge();
        auto to = huge.find(*page_, bytes_ + check_bytes(), asked_);
        if (!to) return nullptr;
        return publish_move(
            publish, [&]() noexcept -> void* { return huge.adopt(to, keep_); },
            [&](bool moved) { moved ? huge.drop_old(to) : huge.give_up(to); });
    }
    template <class Publish> void* replace(Publish& publish) {
        if (!may_move_) return refuse("a row of this type does not move");
        void* larger = core_.pop(bytes_, *type_);
        if (larger == nullptr) larger = core_.find(asked_, asked_.bytes, *type_);
        if (larger == nullptr) return nullptr;
        return publish_move(
            publish, [&]() noexcept { return move_to(larger), larger; },
            [&](bool moved) {
                if (moved) page_->ops->leave(*page_, row_);
                core_.release(moved ? row_ : larger);
            });
    }
    // Lets publish() call move(), once; it returns the row's new address. Then calls end(whether the row has moved).
    template <class Publish, class Move, class End> void* publish_move(Publish& publish, Move move, End end) {
        // Damage would vanish with the old row. Reported before the callback is called, which may hold locks.
        if (may_be_damaged_) static_cast<void>(page_->ops->check(*page_, row_));
        void* moved = nullptr;
        if constexpr (std::is_same_v<Publish, at_once>) {
            moved = move();
            end(true);
        } else {
            const auto at_its_end = [&] { end(moved != nullptr); };
            const at_end<decltype(at_its_end)> finally{at_its_end};
            publish([&]() noexcept -> resized_row {
                if (moved == nullptr) moved = move();
                return {moved, allot::capacity(moved)};
            });
        }
        return moved != nullptr ? moved : refuse("its new capacity was not published");
    }

    void move_to(void* larger) noexcept {
        std::memcpy(larger, row_, min(keep_, had_));
        if (type_->moves_as_object(constructed_)) type_->relocate(larger, row_);
        if (constructed_) allot::finalize(larger);
    }

    Core& core_;
    memory_request& asked_;
    std::byte* const row_;
    const std::size_t keep_, bytes_;
    page_header* page_ = nullptr;
    const row_type* type_ = &untyped; // or bytes of the row's alignment, where rows have no type
    std::size_t had_ = 0;             // bytes that the row may use
    bool is_shared_ = false, may_move_ = false, constructed_ = false, may_be_damaged_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
