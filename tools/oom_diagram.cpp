// Prints the part of docs/oom.md that is drawn from the transition table: a state diagram, and a table.
//
// An event that leads from `many` states or more to one state is a line of text, not as many arrows. A test in
// tests/docs/ compares the page with this output.
#include <allot/oom/thread_state.hpp>
#include <allot/oom/transition_table.hpp>

#include <cstddef>
#include <iostream>
#include <string>

namespace {

using namespace allot::oom;

constexpr std::size_t many = 6;

std::size_t sources(event by, thread_state to) {
    std::size_t n = 0;
    for (const allot::oom::detail::transition& t : allot::oom::detail::transitions) n += t.by == by && t.to == to;
    return n;
}
bool is_drawn(const allot::oom::detail::transition& t) { return sources(t.by, t.to) < many; }
std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

// The events that lead from one state to another, as the label of one arrow; empty if there is none, or the pair came
// before.
std::string label(const allot::oom::detail::transition& first) {
    std::string text;
    bool is_first = true;
    for (const allot::oom::detail::transition& t : allot::oom::detail::transitions) {
        if (t.from != first.from || t.to != first.to || !is_drawn(t)) continue;
        if (is_first && t.by != first.by) return "";
        is_first = false;
        text += (text.empty() ? "" : ", ") + std::string(text_of(t.by));
    }
    return text;
}

void draw() {
    std::cout << "```mermaid\nstateDiagram-v2\n";
    for (const allot::oom::detail::transition& t : allot::oom::detail::transitions)
        if (const std::string events_of_arrow = label(t); !events_of_arrow.empty())
            std::cout << "    " << text_of(t.from) << " --> " << text_of(t.to) << " : " << events_of_arrow << "\n";
    std::cout << "```\n";
}

// "From 9 states: `ended` leads to `unknown`."
void list() {
    std::cout << "\nNot drawn:\n\n";
    for (std::size_t e = 0; e != events; ++e)
        for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s) {
            const auto by = static_cast<event>(e);
            const auto to = static_cast<thread_state>(s);
            if (sources(by, to) < many) continue;
            std::string from;
            for (std::size_t f = 0; f != allot::oom::detail::thread_states; ++f)
                if (const auto state = static_cast<thread_state>(f);
                    allot::oom::detail::is_legal(state, by) && allot::oom::detail::after(state, by) == to)
                    from += (from.empty() ? "" : ", ") + quoted(text_of(state));
            std::cout << "- " << quoted(text_of(by)) << " leads to " << quoted(text_of(to)) << " from " << from
                      << ".\n";
        }
}

void tabulate() {
    std::cout << "\n| state | event → next state |\n|---|---|\n";
    for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s) {
        const auto from = static_cast<thread_state>(s);
        std::string row;
        for (const allot::oom::detail::transition& t : allot::oom::detail::transitions)
            if (t.from == from)
                row += (row.empty() ? "" : ", ") + quoted(text_of(t.by)) + " → " + quoted(text_of(t.to));
        std::cout << "| " << quoted(text_of(from)) << " | " << row << " |\n";
    }
}

} // namespace

int main() {
    draw();
    list();
    tabulate();
}
