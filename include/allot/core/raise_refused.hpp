// The out_of_memory of a refused request: one text for all products, accounts and adapters.
//
// Cost: none but where a request fails. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/function_ref.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Raises an out_of_memory: the line "allot: REQUEST refused by BY NAME: WHY" and what more(out) writes, and a page of
// "REQUEST refused: WHY" and what rest(out) writes. `request` writes "out of memory: 64 bytes for order"; `named`: the
// bytes that it names.
using writes_text = function_ref<void(text_writer&)>;
[[noreturn]] ALLOT_OUTLINE_COLD void raise_refused(
    writes_text request, std::string_view by, std::string_view name, const charge_status& why, std::size_t named,
    writes_text rest, writes_text more = [](text_writer&) {}) {
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    request(text.put("allot: "));
    text.put(" refused by ").brief(by).put(name.empty() ? "" : " ").brief(name);
    write(text.put(": "), why, named);
    more(text);
    const auto write_page = [&](text_writer& out) {
        request(out);
        write(out.put(" refused: "), why, named);
        rest(out.newline());
    };
    raise(out_of_memory(text.view(), write_page, why));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
