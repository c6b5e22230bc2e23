// Reads a recording, text or binary: the first byte says which.
//
//     allot::recording_reader reader{stream};
//     for (allot::recorded_operation o; reader.next(o);) ...
//     if (!reader.error().empty()) std::puts(reader.error().c_str()); // "line 17: ..." or "offset 4711: ..."
//
// Invariant: a recording that is cut or changed ends with an error. What next() returned before it is what the program
// did; of a changed binary block nothing is returned, but changed text is found at its end only. Text that a person
// wrote, without the first line of a recording, needs no end: has_end() says whether it is known to be whole.
// Cost: a block of memory, or 4 KiB: longer lines are an error. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/watch/recorded_operation.hpp>
#include <allot/watch/recording.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

class recording_reader {
  public:
    /// Requires: the stream is binary and outlives the reader.
    ALLOT_OUTLINE explicit recording_reader(std::istream& from) : from_(from) {
        errno = 0;
        const int first = from_.peek();
        if (from_.bad()) fail("offset 0: " + unreadable());
        else if (first == 0x89) begin_binary();
        else if (first == 0x1F || first == 0xFD || first == 0x28)
            fail("offset 0: the recording is compressed: decompress it first, as by xz -dc or gzip -dc");
        else if (first == std::istream::traits_type::eof()) fail("offset 0: the recording is empty");
    }
    recording_reader(const recording_reader&) = delete;
    recording_reader& operator=(const recording_reader&) = delete;

    /// Returns: false at the end, and at an error.
    bool next(recorded_operation& o) {
        if (!error_.empty() || has_end_) return false;
        if (!(is_binary_ ? next_encoded(o) : next_line(o))) return false;
        ++operations_;
        return true;
    }
    /// Where it is wrong, what is wrong, and what to do; empty: nothing.
    const std::string& error() const noexcept { return error_; }
    /// Whether its end was read. A recording of this library has one; one that a person wrote need not.
    bool has_end() const noexcept { return has_end_; }
    bool is_binary() const noexcept { return is_binary_; }
    /// Of the last operation that next() returned: "line 17", or "offset 4711".
    std::string place() const {
        return is_binary_ ? "offset " + std::to_string(place_) : "line " + std::to_string(line_);
    }

  private:
    bool fail(std::string what) {
        error_ = std::move(what);
        return false;
    }
    ALLOT_OUTLINE bool fail_at(std::uint64_t offset, std::string_view what) {
        return fail(("offset " + std::to_string(offset) + ": ").append(what));
    }
    ALLOT_OUTLINE bool fail_in_line(std::string_view what) {
        return fail(("line " + std::to_string(line_) + ": ").append(what));
    }
    // At a read that failed, not at the end of the stream.
    static std::string unreadable() {
        const int error = errno;
        return "the recording cannot be read" + (error != 0 ? ": " + std::generic_category().message(error) : "");
    }
    bool fail_at_cut(std::uint64_t offset) {
        return fail_at(offset, from_.bad() ? unreadable() : "the recording ends without its end: it was cut here");
    }
    std::size_t read(void* to, std::size_t n) {
        errno = 0;
        from_.read(static_cast<char*>(to), static_cast<std::streamsize>(n));
        return static_cast<std::size_t>(from_.gcount());
    }
    void begin_binary() {
        is_binary_ = true;
        std::array<char, 8> start{};
        const std::string_view magic = detail::recording_magic;
        const std::size_t n = read(start.data(), start.size());
        if (n != start.size()) fail_at_cut(n);
        else if (std::string_view{start.data(), 7} != magic.substr(0, 7))
            fail_at(0, "no recording of allot begins so: pass a file of allot::recording, or text");
        else if (start[7] != magic[7])
            fail_at(7, "the recording has another version: read it with the version of allot that wrote it");
        block_at_ = start.size();
    }
    bool next_encoded(recorded_operation& o) {
        if (at_ == block_.size() && !next_block()) return false;
        const unsigned char* const first = block_.data();
        const unsigned char* const to = coder_.decode(first + at_, first + block_.size(), o);
        place_ = block_at_ + 8 + at_;
        if (to == nullptr || left_ == 0) return fail_at(place_, "no operation is encoded so: the recording is damaged");
        at_ = static_cast<std::size_t>(to - first);
        --left_;
        return true;
    }
    bool next_block() {
        if (left_ != 0) return fail_at(block_at_, "operations of this block are missing: the recording is damaged");
        block_at_ += block_bytes_;
        std::array<unsigned char, 8> header{};
        const std::size_t n = read(header.data(), header.size());
        const std::size_t bytes = detail::u32_at(header.data());
        if (n != header.size()) return fail_at_cut(block_at_ + n);
        if (bytes > detail::most_block_bytes)
            return fail_at(block_at_, "a block is longer than any: the recording is damaged");
        block_.resize(header.size() + bytes + 4);
        std::copy(header.begin(), header.end(), block_.begin());
        const std::size_t more = read(block_.data() + header.size(), bytes + 4);
        if (more != bytes + 4) return fail_at_cut(block_at_ + n + more);
        if (detail::u32_at(&block_[header.size() + bytes]) != crc32c(block_.data(), header.size() + bytes))
            return fail_at(block_at_, "the checksum of this block is wrong: the recording is damaged; record again");
        left_ = detail::u32_at(&header[4]), block_bytes_ = block_.size(), at_ = 0, coder_ = {};
        block_.erase(block_.begin(), block_.begin() + 8);
        block_.resize(bytes);
        if (bytes != 0) return true;
        has_end_ = true;
        if (left_ != static_cast<std::uint32_t>(operations_))
            return fail_at(block_at_, "the end counts other operations: blocks are missing; record again");
        if (from_.peek() != std::istream::traits_type::eof())
            return fail_at(block_at_ + block_bytes_, "more bytes follow the end: pass one recording");
        return false;
    }
    // The next line, without its newline. False: there is none, or it is wrong.
    bool read_line(std::string_view& line) {
        errno = 0;
        from_.getline(text_.data(), static_cast<std::streamsize>(text_.size()));
        const auto n = static_cast<std::size_t>(from_.gcount());
        if (n == 0 && from_.eof() && !from_.bad()) return false;
        ++line_;
        if (from_.bad()) return fail_in_line(unreadable());
        if (from_.eof()) return fail_in_line("the last line has no newline: it was cut; write one at its end if not");
        if (from_.fail()) return fail_in_line("a line has more than 4096 bytes: pass a recording");
        line = {text_.data(), n - 1};
        return true;
    }
    ALLOT_OUTLINE bool next_line(recorded_operation& o) {
        for (std::string_view whole; read_line(whole);) {
            std::string_view line = whole;
            while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
            if (line.starts_with("end ")) return end_text(line.substr(4));
            text_[whole.size()] = '\n';
            checksum_ = crc32c(whole.data(), whole.size() + 1, checksum_);
            if (line_ == 1 && whole.starts_with(detail::recording_text_magic) && !begin_text(whole)) return false;
            if (line.empty() || line[0] == '#') continue;
            const char* const wrong = detail::parse_line(line, o);
            return wrong == nullptr || fail_in_line(wrong);
        }
        if (!error_.empty() || !must_end_) return false;
        return fail_in_line("the recording ends without its end: it was cut after this line");
    }
    bool begin_text(std::string_view line) {
        must_end_ = line.substr(detail::recording_text_magic.size()).starts_with(detail::recording_text_version);
        return must_end_ || fail_in_line("the recording has another version: read it with the version of allot that "
                                         "wrote it");
    }
    bool end_text(std::string_view text) {
        std::array<std::uint64_t, 2> n{};
        const std::size_t found = detail::numbers_of(text, n);
        if (found != 2 && must_end_)
            return fail_in_line("a recording ends with: end OPERATIONS CHECKSUM; record again, or delete line 1 if a "
                                "person wrote it");
        if (found != 1 && found != 2) return fail_in_line("write: end OPERATIONS");
        if (n[0] != operations_)
            return fail_in_line("the end counts " + std::to_string(n[0]) + " operations, and there are " +
                                std::to_string(operations_) + ": lines are missing or added");
        if (found == 2 && n[1] != checksum_)
            return fail_in_line("the checksum of the lines is wrong: the recording is damaged; record again, or delete "
                                "line 1 and the checksum if a person changed it");
        has_end_ = true;
        for (std::string_view line; read_line(line);)
            if (!line.empty() && line[0] != '#' && line[0] != '\r')
                return fail_in_line("more lines follow the end: pass one recording");
        return false;
    }

    static constexpr std::size_t most_bytes_of_line = 4096;

    std::istream& from_;
    std::string error_, text_ = std::string(most_bytes_of_line + 1, '\0'); // a line
    std::vector<unsigned char> block_;                                     // the operations of one
    detail::operation_coder coder_;
    std::size_t at_ = 0, block_bytes_ = 0; // in it; with header and checksum
    std::uint64_t left_ = 0, operations_ = 0, block_at_ = 0, place_ = 0, line_ = 0;
    std::uint32_t checksum_ = 0;                                  // of the lines before
    bool is_binary_ = false, has_end_ = false, must_end_ = false; // a program wrote it
};

} // namespace allot::inline ALLOT_ABI
