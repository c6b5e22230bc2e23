// Prints the parts of docs/tasks.md that are drawn from tables: the states of a task, or with "operands" of an operand.
//
// A test in tests/docs/ compares the page with this output.
#include <allot/task/operand_state.hpp>
#include <allot/task/task_state.hpp>

#include <iostream>
#include <string>
#include <string_view>

namespace {

// All events that lead from one state to another are one arrow.
template <class Steps> void draw(const Steps& steps) {
    std::cout << "```mermaid\nstateDiagram-v2\n    [*] --> " << text_of(steps.front().from) << "\n";
    for (const auto& first : steps) {
        std::string events;
        bool is_first = true;
        for (const auto& s : steps) {
            if (s.from != first.from || s.to != first.to) continue;
            if (events.empty()) is_first = s.by == first.by;
            events += (events.empty() ? "" : ", ") + std::string(text_of(s.by));
        }
        if (is_first && first.from != first.to)
            std::cout << "    " << text_of(first.from) << " --> " << text_of(first.to) << " : " << events << "\n";
    }
    std::cout << "```\n";
}

} // namespace

int main(int, char** argv) {
    if (argv[1] != nullptr && std::string_view(argv[1]) == "operands") draw(allot::operand::steps);
    else draw(allot::detail::task_transitions);
}
