// What we hold ourselves to, at 64 bytes. Ratios are medians over paired rounds.
//
// Peers are judged twice: as rows (with a link count, like ours, but dropped by an atomic subtraction) and raw
// (no count at all, so they do less than we do). The second is the harder one.
#pragma once

#include <harness/results.hpp>

#include <string>

namespace bench {

inline void judge(results& all) {
    constexpr const char* quick[]{"heap.local bitmap", "heap.local linked", "rows.local bitmap"};
    const auto against = [&](workload work, const char* subject, const series* other, double most,
                             const std::string& text) {
        const cell* const at = all.find(work, 64);
        const series* const ours = at != nullptr ? at->find(subject) : nullptr;
        if (ours == nullptr || other == nullptr) return;
        all.targets.push_back({text, subject, ratio_of(ours->cpu, other->cpu).median, most, other->subject});
    };
    for (const char* subject : quick)
        if (const cell* const pair = all.find(workload::pair, 64))
            against(workload::pair, subject, pair->bound(), 1.9,
                    "W1, link count included, to the bare free list");
    for (const auto& [work, most] :
         {std::pair{workload::lifo, 1.0}, {workload::fifo, 1.0}, {workload::replace, 0.8}})
        for (const kind peers : {kind::peer_rows, kind::peer_raw})
            for (const char* subject : quick)
                if (const cell* const at = all.find(work, 64))
                    against(work, subject, at->best(peers), most,
                            std::string(name_of(work).name) + " to the best " + text_of(peers));
    for (const auto& line : all.bytes)
        if (line.subject == "packed, unique")
            all.targets.push_back(
                {"charged bytes of a packed row of 64", line.subject, line.charged, 68.3, ""});
    if (const cell* const pages = all.find(workload::pages, 64)) {
        const series* const none = pages->find("0 other heaps");
        const series* const many = pages->find("4000 other heaps");
        if (none != nullptr && many != nullptr)
            all.targets.push_back({"a page with 4000 other heaps to none", "unique heap",
                                   ratio_of(many->cpu, none->cpu).median, 1.5, none->subject});
    }
}

} // namespace bench
