// Results as JSON: every sample, the ratios, the targets. bench/table.py reads it.
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
    void truth(const char* key, bool value) {
        item(key);
        std::fputs(value ? "true" : "false", to_);
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
    void of(const char* key, const spread& s) { numbers(key, {s.q1, s.median, s.q3}); }

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
            if (c == '\n')
                std::fputs("\\n", to_);
            else if (c == '"' || c == '\\')
                std::fprintf(to_, "\\%c", c);
            else if (static_cast<unsigned char>(c) >= 32)
                std::fputc(c, to_);
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
        out.open('{');
        out.text("workload", std::string(name_of(c.what.work).name));
        out.text("about", std::string(name_of(c.what.work).about));
        out.text("size", c.what.size());
        out.truth("threaded", name_of(c.what.work).threaded);
        const series* const bound = c.bound();
        const series* const rows = c.best(kind::peer_rows);
        const series* const raw = c.best(kind::peer_raw);
        out.text("bound", bound != nullptr ? bound->subject : "");
        out.text("best_rows", rows != nullptr ? rows->subject : "");
        out.text("best_raw", raw != nullptr ? raw->subject : "");
        out.open('[', "series");
        for (const series& s : c.all) {
            if (s.cpu.empty()) continue;
            out.open('{');
            out.text("subject", s.subject);
            out.text("kind", text_of(s.what));
            out.of("cpu_quartiles", spread_of(s.cpu));
            out.numbers("cpu", s.cpu);
            if (name_of(c.what.work).threaded) {
                out.of("wall_quartiles", spread_of(s.wall));
                out.numbers("wall", s.wall);
            }
            if (bound != nullptr) out.of("to_bound", ratio_of(s.cpu, bound->cpu));
            if (rows != nullptr) out.of("to_best_rows", ratio_of(s.cpu, rows->cpu));
            if (raw != nullptr) out.of("to_best_raw", ratio_of(s.cpu, raw->cpu));
            out.close('}');
        }
        out.close(']');
        out.close('}');
    }
    out.close(']');
    out.open('[', "bytes");
    for (const auto& b : all.bytes) {
        out.open('{');
        out.text("subject", b.subject);
        out.text("kind", text_of(b.what));
        out.number("charged", b.charged);
        out.number("resident", b.resident);
        out.number("resident_few", b.few);
        out.close('}');
    }
    out.close(']');
    out.open('[', "targets");
    for (const auto& t : all.targets) {
        out.open('{');
        out.text("text", t.text);
        out.text("subject", t.subject);
        out.text("against", t.against);
        out.number("value", t.value);
        out.number("most", t.most);
        out.truth("met", t.met());
        out.close('}');
    }
    out.close(']');
    out.close('}');
    std::fputc('\n', file);
    return std::fclose(file) == 0;
}

} // namespace bench
