// Texts of a row manager: its largest heaps, for reports and out_of_memory, and the rows that leaked.
//
// Cost: a walk over the heaps; report_leaks also visits every slot. Allocates nothing.
// Threads: any; report_leaks when no other thread uses the manager.
// Source: HPCC roxiemem's reportLeaks and OOM reports, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/heap_group.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

namespace detail {

// "rows of 56 bytes"; huge rows have no size.
inline void put_heap(text_writer& out, const char* name, std::size_t slot_bytes) noexcept {
    out.brief(name);
    if (slot_bytes != 0) out.put(" of ").number(slot_bytes).put(" bytes");
}

// The head of a manager's report. Bytes; `limit` SIZE_MAX: none. Under a limit of fewer than 16 pages, also what fits:
// half of it may be out of reach where rows have many sizes.
ALLOT_OUTLINE_WARM void write_held(text_writer& out, const char* name, const char* set, std::size_t used,
                                   std::size_t peak, std::size_t limit, std::size_t page) noexcept {
    out.put("row manager ").brief(name).put(" (set ").put(set).put(")").newline().put("  limit ");
    if (limit == SIZE_MAX) out.put("none");
    else out.bytes(limit);
    out.put(", charged ").bytes(used).put(", peak ").bytes(peak);
    if (limit != SIZE_MAX) out.put(", free ").bytes(limit > used ? limit - used : 0);
    out.newline();
    const std::size_t pages = limit / page;
    if (pages == 0) out.put("  no row fits: a page has ").bytes(page).newline();
    else if (pages < 16)
        out.put("  rows of at most ")
            .number(pages)
            .put(pages == 1 ? " size class fit" : " size classes fit at once")
            .put(": each takes pages of ")
            .bytes(page)
            .newline();
}

// The 8 largest of the heaps that are added, in order.
class top_heaps {
  public:
    void add(const heap_usage& u) noexcept {
        kept_.add(u, [](const heap_usage& of) { return of.bytes; });
    }
    ALLOT_OUTLINE_WARM void write(text_writer& out) const noexcept {
        out.put(kept_.empty() ? "  held by no heap" : "  held by").newline();
        for (const heap_usage& u : kept_) {
            put_heap(out.put("    "), u.name, u.slot_bytes);
            if (u.type != nullptr) out.put(" (").put(u.type->name).put(")");
            out.put(": ")
                .bytes(u.bytes)
                .put(" in ")
                .number(u.pages)
                .put(u.pages == 1 ? " page, " : " pages, ")
                .number(u.live_rows);
            out.put(" live rows, ").number(u.cached_rows).put(" cached");
            if (u.scanned_slots != 0)
                out.put(", ")
                    .number(u.scanned_slots)
                    .put(" slots looked at for ")
                    .number(u.found_slots)
                    .put(" free ones");
            out.newline();
        }
        kept_.write_others(out, "heaps");
    }

  private:
    top_n<heap_usage, 8> kept_;
};

// Leaked rows of one heap by type.
class leak_counts {
  public:
    void add(const row_type* type) noexcept {
        for (std::size_t i = 0; i < n_; ++i)
            if (types_[i].type == type) {
                ++types_[i].rows;
                return;
            }
        if (n_ < types_.size()) types_[n_++] = {type, 1};
        else ++others_;
    }
    ALLOT_OUTLINE_WARM std::size_t write(text_writer& out, const char* heap, std::size_t slot_bytes) const noexcept {
        std::size_t rows = others_;
        for (std::size_t i = 0; i < n_; ++i) {
            line(out, heap, slot_bytes, types_[i].type->name, types_[i].rows);
            rows += types_[i].rows;
        }
        if (others_ != 0) line(out, heap, slot_bytes, "other types", others_);
        return rows;
    }

  private:
    struct entry {
        const row_type* type = nullptr;
        std::size_t rows = 0;
    };
    ALLOT_OUTLINE_WARM static void line(text_writer& out, const char* heap, std::size_t slot_bytes, const char* type,
                                        std::size_t rows) noexcept {
        put_heap(out.put("    heap "), heap, slot_bytes);
        out.put(": ").number(rows).put(" rows of type ").put(type).newline();
    }
    std::array<entry, 16> types_{};
    std::size_t n_ = 0;
    std::size_t others_ = 0;
};

// Writes rows that were not released to the sink, by heap and type; nothing if there are none.
// add_huge(leak_counts&): adds the huge ones.
ALLOT_OUTLINE_COLD void report_leaks(const heap_group& heaps, function_ref<void(leak_counts&)> add_huge,
                                     const char* name, const char* set, const leak_sink& sink) noexcept {
    char page[out_of_memory::report_bytes];
    text_writer out{page};
    std::size_t leaked = 0;
    heaps.for_each([&](heap_base& heap) {
        const heap_usage u = heap.usage();
        if (u.live_rows == 0) return;
        leak_counts leaks;
        heap.visit_rows([](void* to, std::byte*, const row_type* type) { static_cast<leak_counts*>(to)->add(type); },
                        &leaks);
        const std::size_t named = leaks.write(out, u.name, u.slot_bytes);
        if (named == 0) {
            put_heap(out.put("    heap "), u.name, u.slot_bytes);
            out.put(": ").number(u.live_rows).put(" rows").newline();
        }
        leaked += named != 0 ? named : u.live_rows;
    });
    leak_counts leaks;
    add_huge(leaks);
    leaked += leaks.write(out, "huge", 0);
    if (leaked == 0) return;
    char head[256];
    text_writer first{head};
    first.put("allot: row manager ").brief(name).put(" (set ").put(set).put(") ended with ");
    first.number(leaked).put(" rows not released:").newline();
    sink.write(sink.context, first.view());
    sink.write(sink.context, out.view());
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
