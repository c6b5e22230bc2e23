// flights: reads CSV files and answers queries, with all rows in row managers under a limit. `flights --help` lists the
// options.
#include "../shared/device_error.hpp"
#include "../shared/exit_code.hpp"
#include "../shared/memory_page.hpp"
#include "../shared/output.hpp"
#include "../shared/resident.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sets.hpp"
#include <algorithm>
#include <allot/row_manager.hpp>
#include <exception>
#include <fmt/core.h>
#include <optional>

namespace flights {

namespace exit_code = shared::exit_code;

/// Compares the answers with the expected ones; prints differences to stderr.
static bool check(const outcome& result, const options& asked) {
    std::size_t equal = 0;
    for (const answer& a : result.answers) {
        const std::string differs = difference(a, asked.check);
        if (differs.empty()) ++equal;
        else fmt::print(stderr, "{}\n", differs);
    }
    if (!asked.json) fmt::print("\n{} of {} answers equal those in {}\n", equal, result.answers.size(), asked.check);
    return equal == result.answers.size();
}

static int run(const options& asked, std::size_t at_start) {
    const auto sets = all_sets();
    const set_entry& set =
        *std::find_if(sets.begin(), sets.end(), [&](const set_entry& s) { return s.name == asked.set; });
    if (asked.describe) {
        fmt::print("{}", set.describe());
        return exit_code::done;
    }
    std::optional<shared::memory_page> page;
    if (!asked.html.empty()) page.emplace(asked.html, "flights");
    outcome result;
    try {
        result = set.run(asked, page ? &*page : nullptr);
    } catch (...) {
        if (page) page->finish("flights", exit_code::failed); // what there is; the code is that of the exception
        throw;
    }
    result.peak_resident = shared::peak_resident_bytes() - at_start;
    fmt::print(stderr, "{}", bad_lines_of(result));
    fmt::print("{}", asked.json ? json_for(result, asked) : page_for(result, asked));
    for (const refusal& r : result.refused) fmt::print(stderr, "{}\n", r.page);
    const bool equal = asked.check.empty() || check(result, asked);
    const bool as_alone =
        std::all_of(result.tasks.begin(), result.tasks.end(), [](const task_use& t) { return t.equal; });
    const int code = !equal || !as_alone || !result.device.good() ? exit_code::wrong_answer
                     : !result.refused.empty()                    ? exit_code::out_of_memory
                                                                  : exit_code::done;
    return page ? page->finish("flights", code) : code;
}

} // namespace flights

int main(int argc, char** argv) {
    const std::size_t at_start = shared::peak_resident_bytes();
    namespace exit_code = shared::exit_code;
    flights::options asked;
    int code = exit_code::done;
    try {
        return shared::flushed("flights",
                               flights::parse(argc, argv, asked, code) ? flights::run(asked, at_start) : code);
    } catch (const allot::out_of_memory& e) {
        fmt::print(stderr, "{}\n", e.report());
        return exit_code::out_of_memory;
    } catch (const flights::operator_refused& e) {
        fmt::print(stderr, "{}\n", e.what());
        return exit_code::out_of_memory;
    } catch (const shared::device_error& e) {
        fmt::print(stderr, "flights: --device {}: {}\n", asked.device, e.what());
        return exit_code::no_device;
    } catch (const flights::csv::input_error& e) {
        fmt::print(stderr, "flights: {}\n", e.what());
        return exit_code::bad_input;
    } catch (const allot::spill_error& e) {
        fmt::print(stderr, "flights: --spill: {}\n", e.what());
        return exit_code::bad_input;
    } catch (const std::exception& e) {
        fmt::print(stderr, "flights: {}\n", e.what());
        return exit_code::failed;
    }
}
