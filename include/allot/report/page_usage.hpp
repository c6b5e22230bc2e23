// Maps of the pages of a row manager's arena: one character per page as text, runs of like pages as JSON.
//
//   -  never used     .  free, without memory     ,  free, may hold memory     #  used by another owner
//   0 .. 9  page of slots, tenths of them in use; F all of them     H  first page of a huge row, h its others
//
// Allocates nothing. Pages change while the map is drawn; each is correct at some moment.
// Cost: per 4096 pages of the arena that are not all untouched, a walk over all pages of the manager.
// Threads: any, at any time. Source: HPCC roxiemem's memory map, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/report/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::size_t map_part = 4096; // pages drawn at once

inline char letter(page_state state) noexcept {
    switch (state) {
    case page_state::untouched: return '-';
    case page_state::clean: return '.';
    case page_state::dirty: return ',';
    case page_state::taken: break;
    }
    return '#';
}
inline char letter(const page_use& use, std::size_t page) noexcept {
    if (use.slots == 0) return page == 0 ? 'H' : 'h';
    return use.used >= use.slots ? 'F' : static_cast<char>('0' + use.used * 10 / use.slots);
}
constexpr std::string_view kind(char letter) noexcept {
    switch (letter) {
    case '-': return "untouched";
    case '.': return "free";
    case ',': return "free_dirty";
    case '#': return "other";
    case 'H':
    case 'h': return "huge";
    default: return "slots";
    }
}

// Calls draw(letters) for the arena's pages in order, at most map_part at a time.
template <class Rows, class Draw> void draw_pages(const Rows& rows, Draw draw) noexcept {
    const page_arena& arena = rows.arena();
    std::array<char, map_part> letters;
    for (std::size_t from = 0; from < arena.page_count(); from += map_part) {
        const std::size_t n = std::min(map_part, arena.page_count() - from);
        bool taken = false;
        for (std::size_t i = 0; i < n; ++i) {
            letters[i] = letter(arena.state_of(from + i));
            taken = taken || letters[i] == '#';
        }
        if (taken)
            rows.visit_pages([&](const page_use& use) {
                const std::size_t first = static_cast<std::size_t>(use.first - arena.begin()) >> arena.page_shift();
                for (std::size_t p = std::max(first, from); p < first + use.pages && p < from + n; ++p)
                    letters[p - from] = letter(use, p - first);
            });
        draw(std::string_view{letters.data(), n});
    }
}

} // namespace detail

/// Writes 64 pages per line, after the number of the first; equal lines of one letter are counted, not repeated.
template <class Rows> void write_page_usage(text_writer& out, const Rows& rows) noexcept {
    const page_arena& arena = rows.arena();
    out.put("pages of ").bytes(arena.page_bytes()).put(" in arena ").name(arena.name());
    out.put(": - untouched, . free, ',' free with memory, 0-9 tenths of slots in use, F full, H huge, # other")
        .newline();
    char last = 0; // the only letter of the line before; 0 if several
    std::size_t at = 0, alike = 0;
    const auto write_run = [&] {
        if (alike != 0) out.put("         and ").number(alike).put(" lines like this").newline();
        alike = 0;
    };
    detail::draw_pages(rows, [&](std::string_view letters) {
        for (; !letters.empty(); letters.remove_prefix(std::min<std::size_t>(64, letters.size()))) {
            const std::string_view line = letters.substr(0, 64);
            const bool uniform = line.size() == 64 && line.find_first_not_of(line[0]) == std::string_view::npos;
            if (uniform && line[0] == last) ++alike;
            else {
                write_run();
                out.number(at).column(9).put(line).newline();
            }
            last = uniform ? line[0] : '\0';
            at += line.size();
        }
    });
    write_run();
}

/// Writes {"arena": .., "page_bytes": .., "pages": .., "runs": [{"first": 0, "pages": 3, "kind": "slots", "tenths": 7},
/// ..]}. Kinds are untouched, free, free_dirty, slots, huge (one run per row) and other.
template <class Rows> void write_page_usage_json(text_writer& out, const Rows& rows) noexcept {
    const page_arena& arena = rows.arena();
    detail::json_writer json{out};
    json.open().put("arena", arena.name()).put("page_bytes", arena.page_bytes()).put("pages", arena.page_count());
    json.key("runs").open('[');
    char run = 0;
    std::size_t first = 0, at = 0;
    const auto write_run = [&] {
        if (at == first) return;
        json.open().put("first", first).put("pages", at - first).put("kind", detail::kind(run));
        if (run == 'F' || (run >= '0' && run <= '9'))
            json.put("tenths", run == 'F' ? 10u : static_cast<unsigned>(run - '0'));
        json.close();
    };
    detail::draw_pages(rows, [&](std::string_view letters) {
        for (const char c : letters) {
            if (!(c == run && c != 'H') && !(c == 'h' && run == 'H')) {
                write_run();
                first = at;
                run = c;
            }
            ++at;
        }
    });
    write_run();
    json.close(']').close();
}

} // namespace allot::inline ALLOT_ABI
