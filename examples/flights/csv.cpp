#include "csv.hpp"
#include <algorithm>
#include <cstring>
#include <mutex>

namespace flights::csv {

const char* explain(flaw what) {
    switch (what) {
    case flaw::none: return "nothing";
    case flaw::field_count: return "not as many fields as the header";
    case flaw::open_quote: return "a quote is opened and never closed";
    case flaw::stray_quote: return "a quote inside an unquoted field";
    case flaw::text_after_quote: return "text after a closing quote";
    case flaw::too_long: return "longer than 65,535 bytes";
    case flaw::not_a_number: return "not a number";
    case flaw::out_of_range: return "a number out of range";
    }
    return "?";
}

void bad_lines::add(const bad_line& bad) {
    auto const last = first_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_++, kept));
    auto const at = std::find_if(first_.begin(), last, [&](const bad_line& b) { return bad.line < b.line; });
    if (at == first_.end()) return;
    std::move_backward(at, last == first_.end() ? last - 1 : last, last == first_.end() ? last : last + 1);
    *at = bad;
}

void bad_lines::add_all(const bad_lines& other) {
    const std::uint64_t both = count_ + other.count_;
    for (const bad_line& bad : other) add(bad);
    count_ = both;
}

static char* find(char* at, char* end, char wanted) {
    return static_cast<char*>(std::memchr(at, wanted, static_cast<std::size_t>(end - at)));
}

/// The quote that closes the one at `open`, skipping doubled ones; null: none.
static char* closing_quote(char* open, char* end) {
    for (;; ++open) {
        open = find(open + 1, end, '"');
        if (open == nullptr || open + 1 == end || open[1] != '"') return open;
    }
}

char* record_end(char* const at, char* const end, bool more_may_come) {
    char* const newline = find(at, end, '\n');
    if (newline != nullptr && find(at, newline, '"') == nullptr) return newline + 1;
    // Quotes: a quote at the start of a field hides newlines up to the quote that closes it.
    char* const last = static_cast<std::size_t>(end - at) > longest_record ? at + longest_record : end;
    bool field_start = true, open = false;
    for (char* p = at; p != last && !open; ++p) {
        if (*p == '\n') return p + 1;
        if (field_start && *p == '"') {
            char* const close = closing_quote(p, last);
            open = close == nullptr;
            if (!open) p = close;
            field_start = false;
        } else {
            field_start = *p == ',';
        }
    }
    if (last == end && more_may_come) return nullptr;
    if ((open || last != end) && newline != nullptr) return newline + 1; // too long: skip one line, not all
    return more_may_come ? nullptr : end;
}

flaw split(char* begin, char* end, record& out) {
    out.count = 0;
    if (static_cast<std::size_t>(end - begin) > longest_record) return flaw::too_long;
    if (begin != end && end[-1] == '\n') --end;
    if (begin != end && end[-1] == '\r') --end;
    for (char* at = begin;; ++at) {
        if (out.count == max_columns) return flaw::field_count;
        field& next = out.fields[out.count++];
        if (at != end && *at == '"') {
            char* to = ++at;
            char* const text = to;
            for (;; *to++ = *at++) {
                if (at == end) return flaw::open_quote;
                if (*at == '"' && (++at == end || *at != '"')) break;
            }
            next = {{text, static_cast<std::size_t>(to - text)}, true};
            if (at != end && *at != ',') return flaw::text_after_quote;
        } else {
            char* const comma = find(at, end, ',');
            char* const stop = comma == nullptr ? end : comma;
            if (find(at, stop, '"') != nullptr) return flaw::stray_quote;
            next = {{at, static_cast<std::size_t>(stop - at)}, false};
            at = stop;
        }
        if (at == end) return flaw::none;
    }
}

source::source(std::string path, const block_memory& memory, progress& shown)
    : path_(std::move(path)), shown_(shown), file_(path_, memory), carried_(memory) {
    shown_.begin(path_, file_.size());
    carried_.size = fill(carried_.begin(), block_bytes);
    read_header();
}

source::~source() { shown_.end(); }

std::size_t source::fill(char* at, std::size_t room) {
    std::size_t got = 0;
    while (got != room && !at_end_) {
        const std::size_t n = file_.read(at + got, room - got);
        at_end_ = n == 0;
        got += n;
    }
    bytes_read_ += got;
    return got;
}

void source::read_header() {
    char* begin = carried_.begin();
    char* const end = carried_.end();
    if (carried_.size >= 3 && std::memcmp(begin, "\xEF\xBB\xBF", 3) == 0) begin += 3; // a byte order mark
    char* const stop = record_end(begin, end, !at_end_);
    record names;
    if (stop == nullptr || stop == begin || split(begin, stop, names) != flaw::none)
        throw input_error(path_ + ": the first line is not a CSV header");
    for (std::size_t f = 0; f != names.count; ++f) columns_.emplace_back(names.fields[f].text);
    line_ += static_cast<std::uint64_t>(std::count(begin, stop, '\n'));
    carried_.size = static_cast<std::size_t>(end - stop);
    std::memmove(carried_.begin(), stop, carried_.size);
}

bool source::next(block& out) {
    const std::lock_guard held{lock_};
    std::copy(carried_.begin(), carried_.end(), out.begin());
    out.size = carried_.size + fill(out.begin() + carried_.size, block_bytes - carried_.size);
    if (out.size == 0) return false;

    char* const begin = out.begin();
    char* const end = out.end();
    char* cut = at_end_ ? end : begin;
    if (!at_end_ && find(begin, end, '"') == nullptr) {
        auto const newline = static_cast<char*>(::memrchr(begin, '\n', out.size));
        cut = newline == nullptr ? begin : newline + 1;
    } else if (!at_end_) {
        for (char* stop = begin; stop != nullptr && cut != end; stop = record_end(cut, end, true)) cut = stop;
    }
    if (cut == begin) throw input_error(path_ + ": line " + std::to_string(line_) + " does not end within 128 KiB");

    carried_.size = static_cast<std::size_t>(end - cut);
    std::copy(cut, end, carried_.begin());
    out.size = static_cast<std::size_t>(cut - begin);
    out.lines = static_cast<std::size_t>(std::count(begin, cut, '\n'));
    out.first_line = line_;
    out.sequence = sequence_++;
    line_ += out.lines;
    shown_.update(bytes_read_);
    return true;
}

} // namespace flights::csv
