#include "ranking.hpp"

#include <shared/text_table.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace replay {
namespace {

bool is_equal_in_time(const result& a, const result& b) {
    if (!a.has_spread() || !b.has_spread()) return a.time.median == b.time.median;
    return a.time.q1 <= b.time.q3 && b.time.q1 <= a.time.q3;
}
bool is_equal_in_peak(const result& a, const result& b) {
    const auto [least, most] = std::minmax(a.peak, b.peak);
    return static_cast<double>(most - least) < 0.01 * static_cast<double>(most);
}
// Ranks of sets in order: each equal to the first of its rank.
template <class Equal> void number(const std::vector<result*>& order, unsigned result::* as, Equal equal) {
    const result* first = nullptr;
    for (std::size_t i = 0; i != order.size(); ++i) {
        if (first == nullptr || !equal(*first, *order[i]))
            first = order[i], order[i]->*as = static_cast<unsigned>(i + 1);
        else order[i]->*as = first->*as;
    }
}
std::string percent(double more) { return fmt::format("{:.0f} %", 100 * more); }
double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string names(const std::vector<const result*>& all) {
    std::string text;
    for (const result* r : all) text += (text.empty() ? "" : ", ") + std::string(r->name);
    return text;
}
// The time and the peak of a set beside those of another.
std::string beside(const result& r, const result& other) {
    std::string text;
    if (is_equal_in_time(r, other)) text = fmt::format("as fast as {}", other.name);
    else if (r.time.median < other.time.median)
        text = fmt::format("{:.2f} times as fast as {}", ratio(other.time.median, r.time.median), other.name);
    else text = fmt::format("{:.2f} times as slow as {}", ratio(r.time.median, other.time.median), other.name);
    return text + fmt::format(", with {:.2f} times its peak",
                              ratio(static_cast<double>(r.peak), static_cast<double>(other.peak)));
}

} // namespace

double payload(const result& r, const sequence_counts& of) {
    return r.is_ranked() ? ratio(static_cast<double>(of.peak), static_cast<double>(r.peak)) : 0;
}

void rank(std::vector<result>& all) {
    for (result& r : all) r.time = bench::spread_of(r.seconds);
    const auto key = [](const result& r) { return r.is_ranked() && r.is_timed ? r.time.median : HUGE_VAL; };
    std::stable_sort(all.begin(), all.end(), [&](const result& a, const result& b) { return key(a) < key(b); });
    std::vector<result*> by_time, by_peak;
    for (result& r : all) {
        if (r.is_ranked() && r.is_timed) by_time.push_back(&r);
        if (r.is_ranked()) by_peak.push_back(&r);
    }
    std::stable_sort(by_peak.begin(), by_peak.end(),
                     [](const result* a, const result* b) { return a->peak < b->peak; });
    number(by_time, &result::time_rank, is_equal_in_time);
    number(by_peak, &result::peak_rank, is_equal_in_peak);
}

std::string advice(const std::vector<result>& all, const sequence_counts& of) {
    std::vector<const result*> fit, fastest;
    const result *reference = nullptr, *least = nullptr;
    for (const result& r : all) {
        if (r.is_candidate()) fit.push_back(&r);
        if (r.is_reference && r.is_ranked() && reference == nullptr) reference = &r;
    }
    if (std::none_of(all.begin(), all.end(), [](const result& r) { return r.is_timed && !r.is_reference; }))
        return "No set of allot was timed: name others by --sets.";
    if (fit.empty()) return "No set served every request: raise --limit, or replay other sets.";
    for (const result* r : fit) {
        if (is_equal_in_time(*fit.front(), *r)) fastest.push_back(r);
        if (least == nullptr || r->peak < least->peak) least = r;
    }
    const result* const take = *std::min_element(fastest.begin(), fastest.end(),
                                                 [](const result* a, const result* b) { return a->peak < b->peak; });
    std::string text = fmt::format("Take {}: ", take->name);
    std::erase(fastest, take);
    if (fit.size() == 1) text += "it is the only set of allot that was replayed and served every request";
    else if (fastest.empty())
        text += fmt::format("it is the fastest set of allot ({} needs {} more time)", fit[1]->name,
                            percent(ratio(fit[1]->time.median, take->time.median) - 1));
    else
        text +=
            fmt::format("no set of allot is faster beyond the spread of the rounds, and of those that are equal ({}) "
                        "it has the least peak",
                        names(fastest));
    text += reference != nullptr ? fmt::format("; it is {} and a payload of ", beside(*take, *reference))
                                 : std::string{"; its payload is "};
    text += percent(payload(*take, of));
    if (least != take && !is_equal_in_peak(*least, *take))
        text += fmt::format("; where memory counts more than time, take {}: {} less peak for {} more time", least->name,
                            percent(1 - ratio(static_cast<double>(least->peak), static_cast<double>(take->peak))),
                            percent(ratio(least->time.median, take->time.median) - 1));
    if (!take->has_spread())
        text += fmt::format("; of {} the spread is not known, so differences may be noise: pass --rounds 3 or more",
                            take->seconds.size() == 1 ? "one round" : "two rounds");
    return text + ".";
}

} // namespace replay
