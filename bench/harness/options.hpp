// The command line of allot_bench and allot_moving.
#pragma once

#include <harness/job.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <errno.h>

namespace bench {

struct options {
    std::size_t rounds = 5;
    std::vector<std::string> sizes{"64", "mixed"};
    std::vector<std::string> works;                         // empty: all
    std::vector<std::string> subjects;                      // empty: all
    std::vector<std::pair<std::string, std::string>> peers; // name, library
    std::string json;
    std::string command;
    bool smoke = false;
};

inline constexpr const char* usage =
    "allot_bench [--rounds N] [--sizes 64,mixed,...] [--workloads W1,tail/*,...] [--peer NAME=LIBRARY]...\n"
    "            [--subjects NAME,...] [--json FILE] [--smoke]\n"
    "  --rounds     number of interleaved rounds (default 5)\n"
    "  --sizes      row sizes from 8 to 65536 bytes, or mixed: 24 to 600 bytes (default 64,mixed)\n"
    "  --workloads  names, or prefixes with a star (default all)\n"
    "  --subjects   names of subjects, or prefixes with a star (default all); a run prints the names\n"
    "  --peer       a further malloc library; repeatable\n"
    "  --json       write all samples to FILE; bench/table.py makes Markdown from it\n"
    "  --smoke      a run of seconds, only to see that it works; its results mean nothing\n"
    "workloads:";

inline std::span<const workload> offered{workloads}; // by this program

inline void tell_usage(std::FILE* to) {
    std::fputs(usage, to);
    for (const auto& w : offered) std::fprintf(to, " %s", std::string(w.name).c_str());
    std::fputc('\n', to);
}

[[noreturn]] inline void refuse(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
    tell_usage(stderr);
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
        refuse("'" + text + "' is not a number from " + std::to_string(least) + " to " + std::to_string(most));
    return n;
}

// A name, or a beginning and a star.
inline bool matches(std::string_view asked, std::string_view name) noexcept {
    if (asked.ends_with('*')) return name.starts_with(asked.substr(0, asked.size() - 1));
    return asked == name;
}

inline bool named(const std::vector<std::string>& asked, std::string_view name) noexcept {
    return std::any_of(asked.begin(), asked.end(), [&](auto& one) { return matches(one, name); });
}

inline options parse(int argc, char** argv) {
    options all;
    for (int i = 0; i < argc; ++i)
        all.command.append(i == 0 ? program_invocation_short_name : argv[i]).append(i + 1 < argc ? " " : "");
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        const auto value = [&] {
            if (++i == argc) refuse(std::string(flag) + " needs a value");
            return std::string(argv[i]);
        };
        if (flag == "--rounds") all.rounds = number(value(), 1, 10'000);
        else if (flag == "--sizes") all.sizes = split(value());
        else if (flag == "--workloads") all.works = split(value());
        else if (flag == "--subjects") all.subjects = split(value());
        else if (flag == "--peer") {
            const std::string text = value();
            const auto at = text.find('=');
            if (at == text.npos || at == 0 || at + 1 == text.size()) refuse("--peer needs NAME=LIBRARY");
            all.peers.emplace_back(text.substr(0, at), text.substr(at + 1));
        } else if (flag == "--json") all.json = value();
        else if (flag == "--smoke") all.smoke = true;
        else if (flag == "--help") {
            tell_usage(stdout);
            std::exit(0);
        } else refuse("unknown option '" + std::string(flag) + "'");
    }
    for (const auto& size : all.sizes)
        if (size != "mixed") number(size, 8, 65536);
    for (const auto& name : all.works)
        if (std::none_of(offered.begin(), offered.end(), [&](auto& w) { return matches(name, w.name); }))
            refuse("no workload matches '" + name + "'");
    if (all.smoke) all.rounds = 1;
    return all;
}

inline bool chosen(const options& all, const workload& work) {
    if (all.works.empty()) return work.runs == when::always || (work.runs == when::not_in_smoke && !all.smoke);
    return named(all.works, work.name);
}

} // namespace bench
