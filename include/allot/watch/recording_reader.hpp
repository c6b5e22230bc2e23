// Reads a recording, text or binary: the first byte says which.
//
//     allot::recording_reader reader{stream};
//     for (allot::recorded_operation o; reader.next(o);) ...
//     if (!reader.error().empty()) std::puts(reader.error().c_str()); // "line 17: ..." or "offset 4711: ..."
//
// Invariant: what next() returned before an error is what the program did; of a damaged binary block nothing is
// returned. Text that a person wrote needs no end: has_end() says whether the recording is known to be whole.
// Cost: a block or a line of memory. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/watch/recorded_operation.hpp>
#include <allot/watch/recording.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

class recording_reader {
  public:
    /// Requires: the stream is binary and outlives the reader.
    explicit recording_reader(std::istream& from) : from_(from) {
        const int first = from_.peek();
        if (first == 0x89) begin_binary();
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
    bool fail_at(std::uint64_t offset, const char* what) {
        return fail("offset " + std::to_string(offset) + ": " + what);
    }
    std::size_t read(void* to, std::size_t n) {
        from_.read(static_cast<char*>(to), static_cast<std::streamsize>(n));
        return static_cast<std::size_t>(from_.gcount());
    }
    void begin_binary() {
        is_binary_ = true;
        std::array<char, 8> start{};
        const std::string_view magic = detail::recording_magic;
        const std::size_t n = read(start.data(), start.size());
        if (n != start.size() || std::string_view{start.data(), 7} != magic.substr(0, 7))
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
        if (n != header.size()) return fail_at(block_at_ + n, "the recording ends without its end: it was cut here");
        if (bytes > detail::most_block_bytes)
            return fail_at(block_at_, "a block is longer than any: the recording is damaged");
        block_.resize(header.size() + bytes + 4);
        std::copy(header.begin(), header.end(), block_.begin());
        const std::size_t more = read(block_.data() + header.size(), bytes + 4);
        if (more != bytes + 4)
            return fail_at(block_at_ + n + more, "the recording ends without its end: it was cut here");
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
    bool next_line(recorded_operation& o) {
        while (std::getline(from_, text_)) {
            ++line_;
            std::string_view line{text_};
            while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
            if (line.empty() || line[0] == '#') continue;
            if (line.starts_with("end ")) return end_text(line.substr(4));
            const char* const wrong = detail::parse_line(line, o);
            return wrong == nullptr || fail("line " + std::to_string(line_) + ": " + wrong);
        }
        if (from_.bad()) return fail("line " + std::to_string(line_) + ": the recording cannot be read");
        return false;
    }
    bool end_text(std::string_view count) {
        std::array<std::uint64_t, 1> n{};
        if (detail::numbers_of(count, n) != 1) return fail("line " + std::to_string(line_) + ": write: end OPERATIONS");
        has_end_ = true;
        if (n[0] != operations_)
            return fail("line " + std::to_string(line_) + ": the end counts " + std::to_string(n[0]) +
                        " operations, and there are " + std::to_string(operations_) + ": lines are missing or added");
        while (std::getline(from_, text_))
            if (++line_; !text_.empty() && text_[0] != '#' && text_[0] != '\r')
                return fail("line " + std::to_string(line_) + ": more lines follow the end: pass one recording");
        return false;
    }

    std::istream& from_;
    std::string error_, text_;
    std::vector<unsigned char> block_; // the operations of one
    detail::operation_coder coder_;
    std::size_t at_ = 0, block_bytes_ = 0; // in it; with header and checksum
    std::uint64_t left_ = 0, operations_ = 0, block_at_ = 0, place_ = 0, line_ = 0;
    bool is_binary_ = false, has_end_ = false;
};

} // namespace allot::inline ALLOT_ABI
