// slot_rows: turns a free slot of a fixed heap into a row, and a released row into a free slot.
//
// Invariant: a free slot has no links, and poisoned memory (where a checker runs); under guard::canary its canary is
// intact, under guard::zero it is wiped. With header_out_of_band nothing here touches a row's memory; finalize() and
// seal() are reported as misuse.
// Cost: start() is one or two stores; release is link_word::drop and a push. Threads: any that holds a link.
// Source: HPCC roxiemem's CChunkedHeap, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/fixed_heap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/row/guard_callbacks.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/row/row_seal.hpp>
#include <allot/sys/wipe.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Slots, class Count, class Guard = guard::none, class Place = header_in_page> class slot_rows {
  public:
    static_assert(!Place::on_device || Count::out_of_band || !Count::counted,
                  "a count in front of a row is written by the host");
    using guard = std::conditional_t<std::is_same_v<Guard, guard::none>, guard::none, guard_callbacks<Guard, Count>>;
    using heap = fixed_heap<Slots, guard, Place>;
    using page = heaplet<Slots, guard, Place>;
    using counting = detail::counting<Count>;
    // A row without a count cannot say that it is released, so its canary does.
    static constexpr bool marks_free = ALLOT_CHECKED != 0 && !counting::counts && has_canary<guard>;

    ALLOT_ALWAYS_INLINE static page& page_at(const arena_bounds& arena, std::byte* row) noexcept {
        return allot::detail::page_at<page>(arena, row);
    }
    static heap& heap_of(page_header& p) noexcept { return *static_cast<heap*>(static_cast<heap_base*>(p.owner)); }
    static row_context& context_of(page_header& p) noexcept {
        return *static_cast<row_context*>(heap_of(p).config().manager);
    }

    // Makes a slot a row with one link. AlignedTo8: all rows of the heap are, and each has its own type.
    template <bool AlignedTo8 = false>
    ALLOT_ALWAYS_INLINE static void start(bool one_type, const arena_bounds& arena, std::byte* row,
                                          std::uint32_t type) noexcept {
        if constexpr (!Place::on_device) {
            [[maybe_unused]] const slot_geometry& cut = page_at(arena, row).cut;
            page::unpoison(cut, row);
            if constexpr (guard::wipes) {
                page::expose(cut, row);
                std::memset(row, 0, Slots::min_row_bytes); // the slot policy's link may be there
            }
        }
        if constexpr (marks_free) unmark(heap_of(page_at(arena, row)), row);
        if constexpr (AlignedTo8 && counting::counts && !Count::out_of_band) {
            counting::start(row, type);
        } else if constexpr (counting::counts) {
            page& p = page_at(arena, row); // not read where the count lies in the row
            if (!one_type) counting::type_number(p, row).store(type, std::memory_order_relaxed);
            counting::word(p, row).start();
        }
    }

    // The heap_tag of the heap of a row's page: from the header if release() reads it anyway, else from the page map.
    // For a row in a span, another number: `p` may be no page then, and is not read.
    ALLOT_ALWAYS_INLINE static std::uintptr_t tag_of([[maybe_unused]] page& p,
                                                     [[maybe_unused]] const arena_bounds& arena,
                                                     [[maybe_unused]] std::size_t in_arena) noexcept {
        if constexpr ((has_canary<guard> && !Place::beside_spans) || Place::on_device) return p.tag;
        else return arena.tag_at(in_arena);
    }
    // Frees a row with one link and no destructor, seal, or guard that needs more. False: nothing has changed.
    ALLOT_ALWAYS_INLINE static bool release_if_sole(page& p, std::byte* row) noexcept {
        if constexpr (has_canary<guard>)
            return release_if_sole(p, row, p.type != nullptr,
                                   static_cast<std::size_t>(row - heap_of(p).provider().arena().begin()));
        else return release_if_sole(p, row, false, 0);
    }
    // The same for a caller that knows whether the heap has one type, the row's offset in its arena, and (IsSole) that
    // the row has one link.
    template <bool IsSole = false>
    ALLOT_ALWAYS_INLINE static bool release_if_sole(page& p, std::byte* row, [[maybe_unused]] bool one_type,
                                                    [[maybe_unused]] std::size_t in_arena) noexcept {
        if constexpr (guard::wipes || guard::waits != 0) return false;
        if constexpr (ALLOT_CHECKED != 0 || Count::out_of_band) // an out-of-band count is found from inside a row, too
            if (ALLOT_UNLIKELY(!is_start(p, row))) return false;
        if constexpr (has_canary<guard>)
            if (ALLOT_UNLIKELY(!p.guarded.intact(row, p.cut.stride - counting::header_bytes(one_type), in_arena)))
                return false;
        if constexpr (IsSole) counting::word(p, row).clear();
        else if constexpr (counting::counts)
            if (!counting::word(p, row).release_if_sole()) return false;
        if constexpr (marks_free) heap_of(p).mark_row(row);
        page::poison(p.cut, row);
        return true;
    }
    // Drops a link. True: it was the last, the row is destroyed, and the caller owns the slot.
    ALLOT_OUTLINE_OF(slot_rows) static bool drop(page& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return false;
        // At the scope of the function: g++ 12 takes a shorter-lived one for dangling where rows are wiped.
        [[maybe_unused]] const auto word = word_of(p, row);
        if constexpr (counting::counts) switch (word.drop()) {
            case link_word::drop_result::still_linked: return false;
            case link_word::drop_result::was_free: report(p, misuse::double_release, row); return false;
            case link_word::drop_result::needs_destroy:
                check_and_destroy(p, row, word.load());
                word.clear();
                break;
            case link_word::drop_result::freed: break;
            }
        if constexpr (marks_free)
            if (heap_of(p).is_marked(row)) return report(p, misuse::double_release, row), false;
        if (!is_intact(p, row)) heap_of(p).guard_row(row);
        if constexpr (marks_free) heap_of(p).mark_row(row);
        if constexpr (guard::waits != 0) {
            heap_of(p).hold(row);
            return false;
        }
        if constexpr (guard::wipes) sys::wipe(row, usable_bytes(p.cut));
        page::poison(p.cut, row);
        return true;
    }
    // A canary that was overwritten while the slot was free stays: the row's release reports it.
    static void unmark(heap& of, std::byte* row) noexcept {
        if (of.is_marked(row)) of.guard_row(row);
    }
    static auto word_of([[maybe_unused]] page& p, [[maybe_unused]] std::byte* row) noexcept {
        if constexpr (counting::counts) return counting::word(p, row);
        else return nullptr;
    }
    // Verifies the seal of a row that is sealed, and calls the destructor of one that is finalized.
    ALLOT_OUTLINE_OF(slot_rows) static void check_and_destroy(page& p, std::byte* row, std::uint32_t state) noexcept {
        if constexpr (Place::on_device) return; // never sealed or finalized
        if (!is_seal_intact(p, row)) report_damage(p, misuse::broken_seal, row);
        if ((state & link_word::constructed) != 0) type_of(p, row)->destroy(row);
    }
    // The canary is intact; damage is reported.
    static bool is_intact(page& p, std::byte* row) noexcept {
        const bool good = heap_of(p).is_intact(row);
        if (!good) report_damage(p, misuse::overrun, row);
        return good;
    }

    ALLOT_OUTLINE_OF(slot_rows)
    static bool is_seal_intact([[maybe_unused]] page& p, [[maybe_unused]] std::byte* row) noexcept {
        if constexpr (counting::counts && !Place::on_device)
            return (counting::word(p, row).load() & link_word::sealed) == 0 ||
                   seal_fits(*type_of(p, row), row, usable_bytes(p.cut));
        return true;
    }
    static const row_type* type_of(page& p, std::byte* row) noexcept {
        return type_of_row<Count>(context_of(p), p, row);
    }
    static std::size_t usable_bytes(const slot_geometry& cut) noexcept { return page::usable(cut); }
    static void report_damage(page& p, misuse kind, std::byte* row) noexcept {
        context_of(p).report_damage(kind, heap_of(p).config().name, type_of(p, row), row);
    }
    // The type of the row that lives around an address, or of the last one; null: none is known.
    static const row_type* last_type_of(page& p, const std::byte* address) noexcept {
        if (p.type != nullptr) return p.type;
        if constexpr (counting::counts) {
            const auto offset = static_cast<std::size_t>(address - p.base());
            if (offset < p.cut.first) return nullptr;
            const std::uint32_t slot = p.cut.index_of(offset);
            if (slot < p.fresh.load(std::memory_order_relaxed))
                return context_of(p).types.find(counting::type_number(p, p.row(slot)).load(std::memory_order_relaxed));
        }
        return nullptr;
    }
    static void report(page& p, misuse kind, std::byte* row) noexcept {
        context_of(p).report(kind, heap_of(p).config().name, last_type_of(p, row), row);
    }
    ALLOT_ALWAYS_INLINE static bool is_start(page& p, const std::byte* row) noexcept {
        return p.cut.is_row(static_cast<std::size_t>(row - p.base()));
    }
    // An address at which no row of the page starts is reported.
    static bool is_row(page& p, std::byte* row) noexcept {
        if (ALLOT_LIKELY(is_start(p, row))) return true;
        report(p, misuse::interior_pointer, row);
        return false;
    }
    // The same for a row without links.
    static bool is_live(page& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return false;
        if (ALLOT_LIKELY(has_links(p, row))) return true;
        report(p, misuse::use_after_release, row);
        return false;
    }
    // Rows without link counts do not say it: checked builds look at its mark, and for it among the free ones.
    ALLOT_ALWAYS_INLINE static bool has_links([[maybe_unused]] page& p, [[maybe_unused]] std::byte* row) noexcept {
        if constexpr (counting::counts) return counting::word(p, row).has_links();
        else if constexpr (ALLOT_CHECKED != 0) return !heap_of(p).is_marked(row) && heap_of(p).is_used(p, row);
        else return true;
    }

    ALLOT_OUTLINE_OF(slot_rows) static void link(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if (!is_row(p, row)) return;
        if constexpr (counting::counts) switch (counting::word(p, row).link_slow()) {
            case link_word::link_result::linked: return;
            case link_word::link_result::was_free: return report(p, misuse::use_after_release, row);
            case link_word::link_result::saturated: return report_damage(p, misuse::too_many_links, row);
            }
    }
    ALLOT_OUTLINE_OF(slot_rows) static void release(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if constexpr (!counting::counts)
            if (!is_row(p, row)) return;
        if (release_if_sole(p, row) || drop(p, row)) heap_of(p).push(row);
    }
    ALLOT_OUTLINE_OF(slot_rows) static bool is_shared(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if (!is_live(p, row)) return true;
        if constexpr (counting::counts) return counting::word(p, row).shared();
        return false;
    }
    ALLOT_OUTLINE_OF(slot_rows) static std::size_t capacity(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if (!is_live(p, row)) return 0;
        if constexpr (counting::counts) return usable_bytes(p.cut) - type_of(p, row)->check_bytes();
        return usable_bytes(p.cut);
    }
    ALLOT_OUTLINE_OF(slot_rows) static void finalize(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if constexpr (Place::on_device) return report(p, misuse::no_host_access, row);
        if (!is_live(p, row)) return;
        if constexpr (counting::counts)
            if (type_of(p, row)->destroy != nullptr) counting::word(p, row).construct();
    }
    ALLOT_OUTLINE_OF(slot_rows) static void seal(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if constexpr (Place::on_device) return report(p, misuse::no_host_access, row);
        if (!is_live(p, row)) return;
        if constexpr (counting::counts) {
            if (type_of(p, row)->check == row_check::none) return;
            write_seal(*type_of(p, row), row, usable_bytes(p.cut));
            counting::word(p, row).seal();
        }
    }
    ALLOT_OUTLINE_OF(slot_rows) static bool check(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if (!is_live(p, row)) return false;
        const bool sealed = is_seal_intact(p, row), good = is_intact(p, row);
        if (!sealed) report_damage(p, misuse::broken_seal, row);
        return sealed && good;
    }

    // ---- compaction ---------------------------------------------------------------------------------------------

    template <bool Compacts = false> static row_moves can_move(page& p, std::byte* row, const void* manager) noexcept {
        if (context_of(p).manager != manager || !is_start(p, row)) return row_moves::not_live;
        if constexpr (counting::counts) {
            const std::uint32_t now = counting::word(p, row).load();
            if (!link_word::is_row(now)) return row_moves::not_live;
            if ((now & link_word::link_bits) != 1) return row_moves::shared;
        } else if constexpr (Compacts) {
            if (!heap_of(p).find_live()) return row_moves::pinned;
            if (!heap_of(p).was_live(p, row)) return row_moves::not_live;
        } else if (!has_links(p, row)) {
            return row_moves::not_live;
        }
        const row_type* const type = type_of(p, row);
        const bool moves = type == nullptr || (type->can_move() && (!Place::on_device || type->moves_as_bytes()));
        return moves ? row_moves::yes : row_moves::pinned;
    }
    ALLOT_OUTLINE_OF(slot_rows) static row_moves mark(page_header& h, std::byte* row, const void* manager) noexcept {
        page& p = static_cast<page&>(h);
        const row_moves now = can_move<true>(p, row, manager);
        if (now != row_moves::yes) return now;
        if (is_damaged(p, row)) return row_moves::pinned; // as its slot stays, the page is not emptied
        ++p.marked, ++heap_of(p).marked;
        return now;
    }
    ALLOT_OUTLINE_OF(slot_rows) static heap_base* leaves(page_header& h, std::byte* row, const void* manager) noexcept {
        page& p = static_cast<page&>(h);
        const bool is_emptied = p.is_emptied.load(std::memory_order_relaxed);
        return is_emptied && can_move<true>(p, row, manager) == row_moves::yes ? &heap_of(p) : nullptr;
    }
    // A row that was overwritten stays where it is, for who looks for the cause; its release reports it, not this: a
    // sink may call the manager, which compacts.
    static bool is_damaged(page& p, std::byte* row) noexcept {
        return !heap_of(p).is_intact(row) || !is_seal_intact(p, row);
    }
    // `to` is a free slot of the same heap. The row's flags and seal move along; canaries stay. On a device `to`
    // becomes a row of the same type, and the old one stays until its copy is done.
    ALLOT_OUTLINE_OF(slot_rows) static void move(page_header& h, std::byte* row, std::byte* to) noexcept {
        page& p = static_cast<page&>(h);
        if constexpr (Place::on_device) return start_copy(p, row, to);
        const std::size_t bytes = usable_bytes(p.cut);
        const row_type* const type = type_of(p, row);
        page::unpoison(p.cut, to);
        [[maybe_unused]] std::uint32_t state = 0;
        if constexpr (counting::counts) state = counting::word(p, row).load();
        const bool is_object = type != nullptr && type->moves_as_object((state & link_word::constructed) != 0);
        const bool breaks_seal = is_object && (state & link_word::sealed) != 0;
        std::memcpy(to, row, bytes); // of an object, what lies behind it
        if (is_object) type->relocate(to, row);
        if constexpr (counting::counts) {
            page& into = page_at(heap_of(p).provider().arena().view(), to);
            if (p.type == nullptr) {
                const std::uint32_t number = counting::type_number(p, row).load(std::memory_order_relaxed);
                counting::type_number(into, to).store(number, std::memory_order_relaxed);
            }
            if (breaks_seal) write_seal(*type, to, bytes);
            counting::word(into, to).word.store(state, std::memory_order_relaxed);
            counting::word(p, row).clear();
        }
        if constexpr (marks_free) unmark(heap_of(p), to), heap_of(p).mark_row(row);
        if constexpr (guard::wipes) sys::wipe(row, bytes);
        page::poison(p.cut, row);
    }

    static void start_copy([[maybe_unused]] page& p, [[maybe_unused]] std::byte* row,
                           [[maybe_unused]] std::byte* to) noexcept {
        if constexpr (counting::counts) {
            page& into = page_at(heap_of(p).provider().arena().view(), to);
            if (p.type == nullptr)
                counting::type_number(into, to).store(counting::type_number(p, row).load(std::memory_order_relaxed),
                                                      std::memory_order_relaxed);
            counting::word(into, to).start();
        }
    }

    // ---- resize -------------------------------------------------------------------------------------------------

    ALLOT_OUTLINE_OF(slot_rows) static row_state state(page_header& h, std::byte* row, const void* manager) noexcept {
        page& p = static_cast<page&>(h);
        row_state s{.moves = can_move(p, row, manager), .is_of_other = context_of(p).manager != manager};
        if (s.moves == row_moves::not_live) return s;
        s.type = counting::counts ? type_of(p, row) : p.type;
        s.align = heap_of(p).config().align;
        s.capacity = usable_bytes(p.cut);
        s.may_be_damaged = has_canary<guard>;
        if constexpr (counting::counts) {
            const std::uint32_t flags = counting::word(p, row).load();
            s.capacity -= s.type->check_bytes();
            s.constructed = (flags & link_word::constructed) != 0;
            s.sealed = (flags & link_word::sealed) != 0;
            s.may_be_damaged = s.may_be_damaged || s.sealed;
        }
        return s;
    }
    static void leave(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if (!heap_of(p).is_intact(row)) heap_of(p).guard_row(row); // the resize has reported it
        if constexpr (counting::counts) counting::word(p, row).start();
    }

    static constexpr row_ops ops{&link,  &release, &is_shared, &capacity, &finalize, &seal,
                                 &check, &mark,    &leaves,    &move,     &state,    &leave};

    // Visits the live rows; none without counts, as free slots look the same.
    template <class Visit> static void for_each_live(heap& of, Visit visit) noexcept {
        if constexpr (counting::counts)
            of.visit_slots([&](page& p, std::byte* row) {
                if (counting::word(p, row).has_links()) visit(p, row);
            });
    }
    // Null if the slot has no row, or its last link is being dropped. Other threads may use the row meanwhile.
    ALLOT_OUTLINE_OF(slot_rows) static const row_type* live_type(page_header& h, std::byte* row) noexcept {
        page& p = static_cast<page&>(h);
        if constexpr (counting::counts) {
            if (!counting::word(p, row).has_links()) return nullptr;
            if (p.type != nullptr) return p.type;
            return context_of(p).types.find(counting::type_number(p, row).load(std::memory_order_relaxed));
        }
        return nullptr;
    }
    ALLOT_OUTLINE_OF(slot_rows)
    static void visit_live(heap_base& of, heap_base::row_visitor visit, void* context) noexcept {
        for_each_live(static_cast<heap&>(of), [&](page& p, std::byte* row) { visit(context, row, type_of(p, row)); });
    }

    // The heap_config for a heap of these rows. `type` null: rows of many types.
    static heap_config plan(row_context& context, const char* name, const row_type* type, std::size_t row_bytes,
                            std::size_t align) noexcept {
        heap_config p;
        p.name = name;
        p.ops = &ops;
        p.manager = &context;
        p.type = type;
        p.row_bytes = row_bytes;
        p.align = align;
        p.header_bytes = counting::header_bytes(type != nullptr);
        p.out_of_band_count_bytes = counting::out_of_band_bytes(type != nullptr);
        if constexpr (counting::counts) p.live_type = &live_type;
        p.visit_rows = &visit_live;
        return p;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
