// pages FOLDER: writes the pages that pages_are_drawn.py opens: small.html, large.html, roots.html, deep.html,
// stack.html, many.html, refused.html, part.html, empty.html, cut.html.
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/report/html.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct rows_set : allot::policies<allot::watch::peaks, allot::ledger::tree> {};
struct blocks_set : allot::policies<allot::ledger::tree, allot::fit::runs> {};

constexpr allot::row_type order_type{.name = "order"}, awful_type{.name = "<b>&amp;</script><!-- \" ' \xff"},
    index_type{.name = "index"};

bool finished(allot::html_page& page) {
    const std::error_code wrong = page.finish();
    if (wrong) std::fprintf(stderr, "pages: %s\n", wrong.message().c_str());
    return !wrong;
}

// `count` accounts, each with bytes of its own; two objects; 20,000 samples.
bool write(const std::string& path, std::size_t count, const char* report) {
    account root{name{"query <7> \xF0\x9F\x98\x80"}, limit{64_MiB}};
    std::vector<allot::account_line> lines(count + 8);
    allot::account_peak fullest{lines};
    root.keep_peak(&fullest);
    std::deque<std::string> names;
    std::vector<std::unique_ptr<account>> all;
    for (std::size_t i = 0; i != count; ++i) {
        names.push_back("operator " + std::to_string(i) + (i % 7 == 0 ? std::string(200, 'x') : "</script>"));
        all.push_back(std::make_unique<account>(i < 20 || i % 3 == 0 ? root : *all[i % 20], name{names.back().c_str()},
                                                limit{i % 5 == 0 ? 300'000 : SIZE_MAX}));
        for (const std::size_t bytes : {std::size_t{1000} + i * 7919 % 290'000, i % 13 == 0 ? 64_MiB : 0})
            static_cast<void>(all.back()->try_charge(bytes));     // some are refused
        if (all.back()->try_charge(500)) all.back()->refund(500); // a peak above what is used
    }
    if (count > 100) all.front()->force_charge(300'000); // beyond its limit
    allot::memory_timeline line{{.samples = 500, .marks = 40}};
    allot::row_manager<rows_set> rows{root, allot::page_bytes{64_KiB}, name{"orders"}};
    allot::chunk_arena<blocks_set> blocks{root, name{"blocks"}};
    std::vector<void*> held, buffers;
    for (std::size_t i = 0; i != 20'000; ++i) {
        held.push_back(rows.allocate(i % 4 == 0 ? 56 : 120, i % 4 == 0 ? order_type : awful_type));
        if (i % 100 == 0) buffers.push_back(blocks.allocate(100 + i).address);
        const std::uint64_t ns = (i + 1) * 1'000'000;
        line.add(ns, root.used(), root.used() + 10_MiB, i / 1000 * 1_MiB);
        if (i % 100 == 0) line.mark(ns, allot::timeline_event::wait, "query </script>");
        if (i % 3500 == 0) line.mark(ns, allot::timeline_event::rollback);
    }
    held.push_back(rows.allocate(1'500'000, index_type));
    for (std::size_t i = 0; i < held.size(); i += 2) rows.release(held[i]);
    root.keep_peak(nullptr);

    allot::html_page page{path.c_str(), "a <title> & more"};
    page.peak(fullest).accounts(root).timeline(line, root).rows(rows).chunks(blocks);
    if (report != nullptr) page.out_of_memory(report);
    const bool good = finished(page);
    for (std::size_t i = 1; i < held.size(); i += 2) rows.release(held[i]);
    for (void* const p : buffers) blocks.deallocate(p);
    for (const auto& a : all) a->refund(a->stats().own);
    while (!all.empty()) all.pop_back();
    return good;
}

// Two roots of one long name; the peak of the first only. Limits and a use that a double cannot have. A timeline of
// hours, of an account that is no root.
bool write_roots(const std::string& path) {
    const std::string same = "\xE2\x80\xAE" + std::string(200, 'x') + "\n";
    account first{name{same.c_str()}, limit{(std::size_t{1} << 62) + 1}}, second{name{same.c_str()}, limit{1_MiB}};
    account below{first, name{same.c_str()}, limit{std::size_t{1} << 63}}, small{second, name{"small"}, limit{5000}};
    allot::account_line lines[4];
    allot::account_peak fullest{lines};
    first.keep_peak(&fullest);
    const std::size_t exact = (std::size_t{1} << 53) + 1;
    bool good = below.try_charge(exact) && small.try_charge(4000);
    first.keep_peak(nullptr);
    below.refund(exact - 7);
    allot::memory_timeline line;
    for (std::uint64_t half = 0; half != 4; ++half) line.add(half * 1'800'000'000'000u, small.used()); // of an hour
    allot::row_manager<rows_set> rows{second, name{"no rows"}};
    allot::html_page page{path.c_str(), "two roots"};
    page.accounts(second).accounts(first).peak(fullest).timeline(line, small).rows(rows);
    good = finished(page) && good;
    below.refund(7), small.refund(4000);
    return good;
}

// 10,000 levels, and 150,000 samples.
bool write_deep(const std::string& path) {
    std::vector<std::unique_ptr<account>> levels;
    levels.push_back(std::make_unique<account>(name{"root"}));
    while (levels.size() != 10'000) levels.push_back(std::make_unique<account>(*levels.back(), name{"level"}));
    bool good = static_cast<bool>(levels.back()->try_charge(1_MiB));
    allot::memory_timeline line{{.samples = 150'000}};
    for (std::uint64_t i = 0; i != 150'000; ++i) line.add(i * 1000, i);
    allot::html_page page{path.c_str(), "deep"};
    page.accounts(*levels.front()).timeline(line);
    good = finished(page) && good;
    levels.back()->refund(1_MiB);
    while (!levels.empty()) levels.pop_back();
    return good;
}

// 100,000 accounts: 1,000 queries, and below one of them 60,000 operators.
bool write_many(const std::string& path) {
    account root{name{"engine"}};
    std::vector<std::unique_ptr<account>> all;
    for (std::size_t i = 0; i != 100'000; ++i) {
        all.push_back(std::make_unique<account>(i < 1000 ? root : *all[i < 61'000 ? 7 : i % 1000],
                                                name{i < 1000 ? "query" : "operator"}));
        static_cast<void>(all.back()->try_charge(1000 + i));
    }
    allot::html_page page{path.c_str(), "many"};
    page.accounts(root);
    const bool good = finished(page);
    for (const auto& a : all) a->refund(a->stats().own);
    while (!all.empty()) all.pop_back();
    return good;
}

// Memory of twelve accounts over time, in 500 samples of 3,000.
bool write_stack(const std::string& path) {
    account root{name{"engine"}, limit{8_MiB}}, query{root, name{"query 7"}};
    std::deque<std::string> names;
    std::deque<account> all;
    for (std::size_t i = 0; i != 12; ++i) {
        names.push_back("operator <" + std::to_string(i) + ">");
        all.emplace_back(query, name{names.back().c_str()});
    }
    allot::memory_timeline line{{.samples = 500, .by_account = true}};
    for (std::size_t i = 0; i != 3000; ++i) {
        account& a = all[i * 7 % 12];
        const std::size_t own = a.stats().own, wanted = (i * 7 % 12 + 1) * (i % 1500) * 40;
        if (wanted > own) static_cast<void>(a.try_charge(wanted - own));
        else a.refund(own - wanted);
        line.add(i * 1'000'000, root);
    }
    allot::html_page page{path.c_str(), "stack"};
    page.timeline(line, root);
    const bool good = finished(page);
    for (account& a : all) a.refund(a.stats().own);
    while (!all.empty()) all.pop_back();
    return good;
}

// A report whose holders have one name, long names, or none that a browser shows as it is.
bool write_refused(const std::string& path, const std::string& of_part) {
    const std::string long_name = "\xE2\x82\xAC" + std::string(60, 'x'), odd = "a: 1 <b> / \n\x7f \xE2\x80\xAE";
    account other{name{"other"}}, elsewhere{other, name{"query 2"}}, beside{elsewhere, name{"join"}};
    account engine{name{"engine"}, limit{64_MiB}};
    std::vector<allot::account_line> lines(32);
    allot::account_peak fullest{lines};
    engine.keep_peak(&fullest);
    account q1{engine, name{"query 1"}}, q2{engine, name{"query 2"}}, q3{engine, name{long_name.c_str()}};
    account j1{q1, name{"join"}}, j2{q2, name{"join"}}, j3{q3, name{long_name.c_str()}}, o1{q1, name{odd.c_str()}};
    account s1{j2, name{"stage"}}, s2{s1, name{"build"}}, s3{s2, name{"table"}}, l4{j3, name{long_name.c_str()}};
    account* const holders[] = {&j1, &j2, &j3, &o1, &s3, &l4, &engine};
    std::size_t bytes = 2_MiB;
    for (account* const a : holders) static_cast<void>(a->try_charge(bytes += 1_MiB));
    engine.keep_peak(nullptr);
    bool good = false;
    try {
        q1.charge(100_MiB);
    } catch (const allot::out_of_memory& e) {
        allot::html_page page{path.c_str(), "refused"};
        page.out_of_memory(e.report()).accounts(other).peak(fullest).accounts(engine);
        allot::html_page part{of_part.c_str(), "part"};
        part.out_of_memory(e.report()).accounts(other).accounts(j2).accounts(q3);
        good = finished(page) && finished(part);
    }
    for (account* const a : holders) a->refund(a->stats().own);
    return good;
}

bool write_cut(const std::string& path) {
    account root{name{"root"}};
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    const auto cuts = [&](std::string_view part) { // inside of the last report
        const std::size_t end = part.find("\"children\"");
        std::fwrite(part.data(), 1, end != part.npos ? end : part.size(), file);
        return end == part.npos;
    };
    allot::html_page page{cuts};
    page.accounts(root);
    const bool lost = static_cast<bool>(page.finish());
    return std::fclose(file) == 0 && lost;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const std::string folder = arguments[1];
    allot::html_page empty{(folder + "/empty.html").c_str()};
    return write(folder + "/small.html", 2, nullptr) &&
                   write(folder + "/large.html", 400, "out of memory: 1 < 2 & </pre>\n") && finished(empty) &&
                   write_roots(folder + "/roots.html") && write_deep(folder + "/deep.html") &&
                   write_many(folder + "/many.html") && write_stack(folder + "/stack.html") &&
                   write_refused(folder + "/refused.html", folder + "/part.html") && write_cut(folder + "/cut.html")
               ? 0
               : 1;
}
