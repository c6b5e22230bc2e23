// The bench's command line.
#pragma once

#include <harness/job.hpp>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct options {
    std::size_t rounds = 5;
    std::vector<std::string> sizes{"64"};
    std::vector<std::string> workloads; // empty: all
    std::string json;
    std::string command;
    bool smoke = false;
};

inline constexpr const char* usage =
    "allot_bench [--rounds N] [--sizes 64,mixed,...] [--workloads W1,W2,...] [--json FILE] [--smoke]\n"
    "  --rounds     interleaved rounds (5)\n"
    "  --sizes      row sizes from 8 to 65536 bytes, or mixed (24 to 600 bytes) (64)\n"
    "  --workloads  of W1 W2 W3 W4 W5 W6 W7 T1 T2 pages bytes (all)\n"
    "  --json       write every sample there; bench/table.py makes Markdown from it\n"
    "  --smoke      seconds instead of minutes; the figures mean nothing\n";

[[noreturn]] inline void refuse(const std::string& why) {
    std::fprintf(stderr, "allot_bench: %s\n%s", why.c_str(), usage);
    std::exit(2);
}

inline std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
    }
    return parts;
}

inline std::size_t number(const std::string& text, std::size_t least, std::size_t most) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size() || n < least || n > most)
        refuse("'" + text + "' is not a number from " + std::to_string(least) + " to " +
               std::to_string(most));
    return n;
}

inline options parse(int argc, char** argv) {
    options all;
    for (int i = 0; i < argc; ++i)
        all.command.append(i == 0 ? "allot_bench" : argv[i]).append(i + 1 < argc ? " " : "");
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const auto value = [&] {
            if (++i == argc) refuse(std::string(word) + " needs a value");
            return std::string(argv[i]);
        };
        if (word == "--rounds")
            all.rounds = number(value(), 1, 10'000);
        else if (word == "--sizes")
            all.sizes = split(value());
        else if (word == "--workloads")
            all.workloads = split(value());
        else if (word == "--json")
            all.json = value();
        else if (word == "--smoke")
            all.smoke = true;
        else if (word == "--help") {
            std::fputs(usage, stdout);
            std::exit(0);
        } else
            refuse("what is '" + std::string(word) + "'?");
    }
    for (const auto& size : all.sizes)
        if (size != "mixed") number(size, 8, 65536);
    for (const auto& work : all.workloads) {
        bool known = work == "bytes";
        for (const auto& name : workload_names) known = known || work == name.name;
        if (!known) refuse("no workload '" + work + "'");
    }
    if (all.smoke) all.rounds = 1;
    return all;
}

inline bool chosen(const options& all, std::string_view work) {
    if (all.workloads.empty()) return true;
    for (const auto& name : all.workloads)
        if (name == work) return true;
    return false;
}

} // namespace bench
