// allot_phases: allocates and releases 100,000 rows, repeatedly, with one subject: for cachegrind and callgrind. The
// subject "null" runs only the loops.
//
//     valgrind --tool=cachegrind --cache-sim=yes --D1=32768,8,64 --LL=524288,8,64 allot_phases rows.local first mixed
//     allot_phases rows.local|uncounted|null|LIBRARY.so [last|first|random] [mixed|BYTES] [TIMES]
//
// LIBRARY.so is a malloc library; its rows have a link count in front, as in allot_bench. Prints the number of rows, to
// divide counts by.
#include <bounds/free_list.hpp>
#include <ours/list.hpp>
#include <peers/list.hpp>
#include <workloads/one_thread.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t live = 100'000;

struct asked {
    std::string_view subject, order = "first", sizes = "mixed";
    int times = 6;
};

template <class Subject, class Sizes, class... From>
void run(const asked& ask, const Sizes& sizes, const bench::job& what, From&&... from) {
    Subject subject(what, from...);
    typename Subject::user user(subject);
    std::vector<bench::word> rows(live);
    bench::random_source random;
    for (int time = 0; time != ask.times; ++time) {
        bench::fill(user, sizes, rows);
        if (ask.order == "random") bench::shuffle(rows, random);
        if (ask.order == "last") bench::drain_back(user, sizes, rows);
        else bench::drain(user, sizes, rows);
    }
    std::printf("%zu rows\n", live * static_cast<std::size_t>(ask.times));
}

template <class Sizes> int with(const asked& ask, const Sizes& sizes, std::size_t bytes) {
    const bench::job what{&bench::workloads[1], bytes, 1};
    if (ask.subject == "null") run<bench::null_bound>(ask, sizes, what);
    else if (ask.subject == "rows.local") run<bench::local_rows_subject<bench::fine_rows>>(ask, sizes, what);
    else if (ask.subject == "uncounted") run<bench::local_rows_subject<bench::uncounted_rows>>(ask, sizes, what);
    else {
        const auto peers = bench::open_peers({{"asked", std::string(ask.subject)}});
        for (const bench::peer& p : peers)
            if (p.name.starts_with("asked")) {
                run<bench::peer_subject<true, false>>(ask, sizes, what, p);
                return 0;
            }
        return 2; // why was told
    }
    return 0;
}

} // namespace

int main(int count, char** words) {
    asked ask;
    if (count > 1) ask.subject = words[1];
    if (count > 2) ask.order = words[2];
    if (count > 3) ask.sizes = words[3];
    if (count > 4) ask.times = std::atoi(words[4]);
    const std::size_t bytes = ask.sizes == "mixed" ? 0 : std::strtoul(words[3], nullptr, 10);
    if (count < 2 || count > 5 || ask.times <= 0 || (ask.sizes != "mixed" && bytes == 0) ||
        (ask.order != "last" && ask.order != "first" && ask.order != "random")) {
        std::fputs("allot_phases rows.local|uncounted|null|LIBRARY.so [last|first|random] [mixed|BYTES] [TIMES]\n",
                   stderr);
        return 2;
    }
    return bytes == 0 ? with(ask, bench::mixed_sizes{}, 0) : with(ask, bench::one_size{bytes}, bytes);
}
