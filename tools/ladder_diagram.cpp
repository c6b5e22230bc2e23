// Prints the part of docs/short-of-memory.md that is drawn from the steps of a refused request (request/ladder.hpp).
//
// A test in tests/docs/ compares the page with this output.
#include <allot/request/ladder.hpp>

#include <cstddef>
#include <iostream>

namespace {

using allot::detail::ladder_step;

constexpr ladder_step first = ladder_step::own_idle;

const char* text_of(ladder_step s) {
    switch (s) {
    case ladder_step::own_idle: return "the object's own caches and empty pages";
    case ladder_step::tenants: return "idle memory of others below the account that refuses";
    case ladder_step::arena: return "idle memory of others in the arena that refuses";
    case ladder_step::in_transit: return "pages that another thread is moving";
    case ladder_step::reclaimers: return "reclaimers, the lowest cost first";
    case ladder_step::wait: return "wait, if the request may";
    case ladder_step::top: break;
    }
    return "refused";
}
int number(ladder_step s) { return static_cast<int>(s) + 1; }
ladder_step after(ladder_step s) { return static_cast<ladder_step>(static_cast<std::size_t>(s) + 1); }

} // namespace

int main() {
    std::cout << "```mermaid\nflowchart TD\n    request([request]) -- refused --> " << number(first) << "\n";
    for (ladder_step s = first;; s = after(s)) {
        std::cout << "    " << number(s) << (s == ladder_step::top ? "([" : "[") << text_of(s)
                  << (s == ladder_step::top ? "])\n" : "]\n");
        if (s == ladder_step::top) break;
    }
    for (ladder_step s = first; s != ladder_step::top; s = after(s)) {
        std::cout << "    " << number(s) << " -- nothing more --> " << number(after(s)) << "\n";
        std::cout << "    " << number(s) << " -. tried again, refused .-> "
                  << number(allot::detail::step_after_refusal(s)) << "\n";
    }
    std::cout << "```\n";
}
