// The reader of the flights example cuts a file into blocks and hands them to threads. Whatever stands at the
// edges of the blocks, it must find the records that a reader of one character at a time finds in the whole
// text.
#include "csv.hpp"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace csv = flights::csv;

/// What a record came to, by the line it starts in: its fields, or what is wrong with it.
using records = std::map<std::uint64_t, std::string>;

static std::string reported(csv::flaw what, const std::vector<std::string>& fields) {
    if (what != csv::flaw::none) return csv::explain(what);
    std::string all;
    for (const std::string& f : fields) all += '<' + f + '>';
    return all;
}

/// The plain reader. `at` is moved past the record.
static std::string read_plainly(const std::string& text, std::size_t& at) {
    const std::size_t start = at, limit = std::min(text.size(), at + csv::longest_record);
    bool quoted = false, field_start = true;
    for (; at != limit && (quoted || text[at] != '\n'); ++at) {
        if (quoted && text[at] == '"' && at + 1 != limit && text[at + 1] == '"') {
            ++at;
        } else if (text[at] == '"' && (quoted || field_start)) {
            quoted = !quoted;
            field_start = false;
        } else if (!quoted) {
            field_start = text[at] == ',';
        }
    }
    if (at == limit && (quoted || limit != text.size())) at = std::min(text.find('\n', start), text.size());
    std::size_t end = at;
    at += at != text.size();
    if (at - start > csv::longest_record) return csv::explain(csv::flaw::too_long);
    if (end != start && text[end - 1] == '\r') --end;

    std::vector<std::string> fields(1);
    enum { begin, plain, inside, after } state = begin;
    for (std::size_t i = start; i != end; ++i) {
        const char c = text[i];
        if (state == inside) {
            if (c == '"' && i + 1 != end && text[i + 1] == '"') fields.back() += text[++i];
            else if (c == '"') state = after;
            else fields.back() += c;
        } else if (c == ',') {
            fields.emplace_back();
            state = begin;
        } else if (state == after) {
            return csv::explain(csv::flaw::text_after_quote);
        } else if (c == '"') {
            if (state == plain) return csv::explain(csv::flaw::stray_quote);
            state = inside;
        } else {
            fields.back() += c;
            state = plain;
        }
    }
    return state == inside ? csv::explain(csv::flaw::open_quote) : reported(csv::flaw::none, fields);
}

static records expected_of(const std::string& text) {
    records found;
    std::uint64_t line = 1;
    for (std::size_t at = 0; at != text.size();) {
        const std::size_t start = at;
        std::string what = read_plainly(text, at);
        if (line != 1) found[line] = std::move(what);
        line += static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(start),
                                                      text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
    return found;
}

static records found_in(const std::string& path, unsigned threads) {
    flights::progress silent;
    allot::heap_memory heap;
    allot::account account{allot::name{"blocks"}};
    const csv::block_memory memory{heap, account};
    csv::source file(path, memory, silent);
    records found;
    std::mutex lock;
    auto read = [&] {
        csv::block block(memory);
        csv::record fields;
        while (file.next(block)) {
            std::uint64_t line = block.first_line;
            for (char* at = block.begin(); at != block.end();) {
                char* const end = csv::record_end(at, block.end(), false);
                const auto lines = static_cast<std::uint64_t>(std::count(at, end, '\n'));
                const csv::flaw what = csv::split(at, end, fields);
                std::vector<std::string> texts;
                for (std::size_t f = 0; f != fields.count; ++f) texts.emplace_back(fields.fields[f].text);
                const std::lock_guard held{lock};
                found[line] = reported(what, texts);
                at = end;
                line += lines;
            }
        }
    };
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(read);
    read();
    others.clear();
    return found;
}

static std::string random_text(std::mt19937& random) {
    const auto upto = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::string text = "one,two,three\n";
    const std::size_t size = 100'000 + upto(500'000);
    const bool crlf = upto(2) == 0, quotes = upto(4) != 0, accidents = quotes && upto(2) == 0;
    while (text.size() < size) {
        for (unsigned f = 0; f != 3; ++f) {
            if (f != 0) text += ',';
            if (accidents && upto(200) == 0) text += '"'; // never closed, or text after a closing quote
            const bool quoted = quotes && upto(5) == 0;
            if (quoted) text += '"';
            const unsigned length = upto(300) == 0 ? upto(40'000) : upto(40);
            for (unsigned c = 0; c != length; ++c) {
                const unsigned kind = upto(40);
                if (quoted && kind == 0) text += "\"\"";
                else if (quoted && kind == 1) text += '\n';
                else if (quoted && kind == 2) text += ',';
                else if (accidents && upto(2000) == 0) text += '"';
                else text += static_cast<char>('a' + upto(26));
            }
            if (quoted) text += '"';
        }
        text += crlf ? "\r\n" : "\n";
    }
    if (upto(2) == 0) text.erase(text.find_last_not_of("\r\n") + 1);
    return text;
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::size_t checked = 0, bad = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        const std::string text = random_text(random);
        std::ofstream(argv[1], std::ios::binary) << text;
        const records expected = expected_of(text), found = found_in(argv[1], 1 + seed % 3);
        for (auto e = expected.begin(), f = found.begin(); e != expected.end() || f != found.end();
             ++e, ++f, ++checked) {
            if (e != expected.end() && f != found.end() && *e == *f) continue;
            std::printf("seed %u: expected line %zu %.200s\n  found line %zu %.200s\n", seed,
                        e == expected.end() ? 0 : static_cast<std::size_t>(e->first),
                        e == expected.end() ? "" : e->second.c_str(),
                        f == found.end() ? 0 : static_cast<std::size_t>(f->first),
                        f == found.end() ? "" : f->second.c_str());
            return 1;
        }
        for (const auto& [line, what] : expected) bad += what.empty() || what[0] != '<';
    }
    std::remove(argv[1]);
    std::printf("%zu records, %zu of them bad\n", checked, bad);
    return 0;
}
