// Writes all samples as JSON; bench/table.py computes ratios and judges goals from it.
#pragma once

#include <harness/results.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

class json_writer {
  public:
    explicit json_writer(std::FILE* to) noexcept : to_(to) {}

    void open(char bracket, const char* key = nullptr) {
        item(key);
        std::fputc(bracket, to_);
        first_ = true;
        ++depth_;
    }
    void close(char bracket) {
        --depth_;
        line();
        std::fputc(bracket, to_);
        first_ = false;
    }
    void text(const char* key, const std::string& value) {
        item(key);
        quoted(value);
    }
    void number(const char* key, double value) {
        item(key);
        plain(value);
    }
    void numbers(const char* key, const std::vector<double>& values) {
        item(key);
        std::fputc('[', to_);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i != 0) std::fputs(", ", to_);
            plain(values[i]);
        }
        std::fputc(']', to_);
    }

  private:
    void item(const char* key) {
        if (depth_ != 0) {
            if (!first_) std::fputc(',', to_);
            line();
        }
        first_ = false;
        if (key != nullptr) {
            quoted(key);
            std::fputs(": ", to_);
        }
    }
    void line() { std::fprintf(to_, "\n%*s", depth_, ""); }
    void plain(double v) { std::isfinite(v) ? std::fprintf(to_, "%.6g", v) : std::fprintf(to_, "null"); }
    void quoted(const std::string& value) {
        std::fputc('"', to_);
        for (const char c : value) {
            if (c == '\n') std::fputs("\\n", to_);
            else if (c == '"' || c == '\\') std::fprintf(to_, "\\%c", c);
            else if (static_cast<unsigned char>(c) >= 32) std::fputc(c, to_);
        }
        std::fputc('"', to_);
    }

    std::FILE* to_;
    int depth_ = 0;
    bool first_ = true;
};

inline bool write_json(const results& all, const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    json_writer out(file);
    out.open('{');
    out.text("format", "allot_bench 2"); // as goals.py wants it
    out.text("command", all.command);
    out.number("rounds", static_cast<double>(all.rounds));
    out.open('{', "machine");
    for (const auto& [name, value] : all.header) out.text(name.c_str(), value);
    out.close('}');
    out.open('[', "sets");
    for (const auto& set : all.sets) out.text(nullptr, set);
    out.close(']');
    out.open('[', "cells");
    for (const cell& c : all.cells) {
        const workload& of = *c.what.of;
        out.open('{');
        out.text("workload", std::string(of.name));
        out.text("about", std::string(of.about));
        out.text("size", c.what.size());
        out.text("bound", c.bound() != nullptr ? c.bound()->subject : "");
        out.open('[', "figures");
        for (const auto name : of.stats)
            if (!name.empty()) out.text(nullptr, std::string(name));
        out.close(']');
        out.open('[', "series");
        for (const series& s : c.all) {
            if (s.empty()) continue;
            out.open('{');
            out.text("subject", s.subject);
            out.text("kind", text_of(s.what));
            out.open('[', "samples"); // a list a figure, a value a round
            for (std::size_t i = 0; i < most_stats; ++i)
                if (!of.stats[i].empty()) out.numbers(nullptr, s.stats[i]);
            out.close(']');
            out.close('}');
        }
        out.close(']');
        out.close('}');
    }
    out.close(']');
    out.close('}');
    std::fputc('\n', file);
    return std::fclose(file) == 0;
}

} // namespace bench
