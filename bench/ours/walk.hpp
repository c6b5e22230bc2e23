// Our subjects of the walk: each combines a `page` policy and a `retain` policy. Rows of one size come from a unique
// heap, rows of mixed sizes from rows.local().
#pragma once

#include <ours/subjects.hpp>

#include <allot/core/policies.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace bench {

using small_os_pages = allot::page::mapped<allot::page::mapped_options{.transparent_huge = false}>;
using transparent_pages = allot::page::mapped<>;
using preallocated_pages = allot::page::huge_pages<>;

template <class Page, class Retain>
struct walk_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>, Page, Retain> {
    static constexpr bool preallocated = std::is_same_v<Page, preallocated_pages>;
    using retain = Retain;
};

template <class Set, class Subject> struct walk_subject : Subject {
    static constexpr bool walks = true, threads = false;
    static bool fits(const job& what) noexcept { return what.of->id == work::walk; }
    explicit walk_subject(const job& what) : Subject(what) {
        if (Set::preallocated && std::string_view(this->rows.arena().page_kind()) != "hugetlb") std::abort();
    }
    // Everything was released: what a program does that chose this answer.
    void give_back() {
        this->rows.release_empty_pages();
        if constexpr (!Set::retain::under_pressure) this->rows.arena().trim(); // retain::never keeps them all the same
    }
};
template <class Set> using walk_one = walk_subject<Set, local_heap_subject<Set, allot::heap::unique>>;
template <class Set> struct walk_mixed : walk_subject<Set, local_rows_subject<Set>> {
    static constexpr bool one_size = false;
    using walk_subject<Set, local_rows_subject<Set>>::walk_subject;
};

template <class Add> void add_walks(Add add) {
    const auto both = [&]<class Page, class Retain>(const char* name) {
        add.template operator()<walk_one<walk_rows<Page, Retain>>>(name);
        add.template operator()<walk_mixed<walk_rows<Page, Retain>>>(name);
    };
    using namespace allot::retain;
    both.template operator()<small_os_pages, on_pressure>("plain pages, kept");
    both.template operator()<small_os_pages, on_call>("plain pages, given back");
    both.template operator()<transparent_pages, on_pressure>("huge pages, kept");
    both.template operator()<transparent_pages, never>("huge pages, never given back");
    both.template operator()<transparent_pages, on_call>("huge pages, given back");
    // The manager's limit is what is preallocated.
    constexpr std::size_t wanted = std::size_t{2048} << 20;
    std::size_t pages = 0, each = 0;
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("HugePages_Free:")) pages = std::stoul(line.substr(15));
        if (line.starts_with("Hugepagesize:")) each = std::stoul(line.substr(13)) * 1024;
    }
    if (pages * each >= wanted) both.template operator()<preallocated_pages, never>("preallocated huge pages");
    else
        std::fprintf(stderr, "skipped - walk over preallocated huge pages: %zu MiB of them are free, 2048 are wanted\n",
                     pages * each >> 20);
}

} // namespace bench
