// Prints docs/policies.md: the categories, their contracts and answers, as the headers state them.
//
// Add a new answer as one line in answers(). A test in tests/docs/ compares the page in the repository with this
// output.
#include <allot/core/describe.hpp>
#include <allot/device/on_device.hpp>
#include <allot/device/simulated.hpp>
#include <allot/fit/best.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/fit/runs.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/split.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/of.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/delay_release.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>

#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace allot;

// The last part of a type's name: "host_accessible".
template <class T> std::string last_name() {
    const std::string_view all = type_name<T>();
    return std::string{all.substr(all.rfind(':') + 1)};
}

template <class... Properties> std::string list(types<Properties...>) {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + last_name<Properties>()), ...);
    return text;
}

template <class Answer> void answer(std::string_view spelling) {
    using P = Answer;
    static_assert(P::category::template takes<P>);
    const std::string category{P::category::name};
    std::cout << "| `" << category << "::" << spelling << "` | " << P::about << " | " << P::cost << " | "
              << list(typename P::needs{}) << " | " << list(typename P::provides{}) << " |\n";
}

void answers(category::page) {
    answer<page::mapped<>>("mapped<Options>");
    answer<page::huge_pages<>>("huge_pages<Options>");
    answer<page::borrowed>("borrowed");
    answer<page::of<arena<>>>("of<Arena>");
    answer<page::on_device<device::simulated>>("on_device<Api>");
}
void answers(category::size) {
    answer<size::bucketed<>>("bucketed<List>");
    answer<size::packed>("packed");
    answer<size::exact>("exact");
    answer<size::in_spans>("in_spans");
}
void answers(category::slots) {
    answer<slots::linked>("linked");
    answer<slots::bitmap>("bitmap");
    answer<slots::scanning>("scanning");
    answer<slots::delay_release>("delay_release");
}
void answers(category::fit) {
    answer<fit::best>("best");
    answer<fit::buddy>("buddy");
    answer<fit::runs>("runs");
}
void answers(category::heap) {
    answer<heap::shared>("shared");
    answer<heap::unique>("unique");
    answer<heap::per_thread>("per_thread");
    answer<heap::shared_by<>>("shared_by<Users>");
}
void answers(category::refill) {
    answer<refill::single>("single");
    answer<refill::blocked<16>>("blocked<Slots>");
}
void answers(category::count) {
    answer<count::links>("links");
    answer<count::links_anywhere>("links_anywhere");
    answer<count::links_out_of_band>("links_out_of_band");
    answer<count::none>("none");
}
void answers(category::order) {
    answer<order::host>("host");
    answer<order::stream>("stream");
}
void answers(category::ledger) {
    answer<ledger::none>("none");
    answer<ledger::counter>("counter");
    answer<ledger::tree>("tree");
    answer<ledger::pool>("pool");
    answer<ledger::split>("split");
}
void answers(category::spill) {
    answer<spill::none>("none");
    answer<spill::chain>("chain");
}
void answers(category::oom) {
    answer<oom::null>("null");
    answer<oom::raise>("raise");
    answer<oom::state_machine>("state_machine");
}
void answers(category::retain) {
    answer<retain::never>("never");
    answer<retain::on_call>("on_call");
    answer<retain::on_pressure>("on_pressure");
}
void answers(category::guard) {
    answer<guard::none>("none");
    answer<guard::encoded>("encoded");
    answer<guard::canary>("canary");
    answer<guard::quarantine<>>("quarantine<Rows>");
    answer<guard::zero>("zero");
    answer<guard::all<guard::encoded, guard::canary>>("all<Guards...>");
}
void answers(category::watch) {
    answer<watch::none>("none");
    answer<watch::counters>("counters");
    answer<watch::peaks>("peaks");
    answer<watch::trace<>>("trace<Options>");
}

template <class Product, class Category> void reader(std::string& text) {
    if (detail::lists<typename Product::reads, Category>)
        text += (text.empty() ? "`" : ", `") + std::string{Product::name} + "`";
}

template <class Category> void section() {
    std::string readers;
    reader<product::row_manager, Category>(readers);
    reader<product::row_heap, Category>(readers);
    reader<product::arena, Category>(readers);
    reader<product::chunk_arena, Category>(readers);
    reader<product::device_allocator, Category>(readers);
    std::cout << "\n## " << Category::name << ": " << Category::question << "?\n\n"
              << "- Fallback: " << Category::fallback_rule << "\n"
              << "- Contract: " << Category::contract << "\n"
              << "- Read by: " << (readers.empty() ? "no product yet" : readers) << "\n"
              << "- Implemented in: `allot/" << Category::room << "/`\n\n"
              << "| answer | meaning | cost | needs | provides |\n|---|---|---|---|---|\n";
    answers(Category{});
}

template <class... Categories> void sections(types<Categories...>) { (section<Categories>(), ...); }

} // namespace

int main() {
    std::cout << "# Policies\n\n"
                 "Generated by `tools/policies_page.cpp` from the headers; do not edit.\n\n"
                 "A set names at most one policy per category, in any order; the other categories take their "
                 "fallback.\n"
                 "Each property that a policy *needs* must be *provided* by a policy of the same set. A product "
                 "reads some\n"
                 "categories and refuses policies of the others. `row_heap` is one heap of a row manager: its "
                 "categories are\n"
                 "those that `as<...>` may name.\n";
    sections(types<category::page, category::size, category::slots, category::fit, category::heap, category::refill,
                   category::count, category::order, category::ledger, category::spill, category::oom, category::retain,
                   category::guard, category::watch>{});
}
