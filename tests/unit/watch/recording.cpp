// The recorded format: what is written is read again, and damage is an error with its place.
#include <support/catch.hpp>

#include <allot/watch/recording.hpp>
#include <allot/watch/recording_reader.hpp>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <istream>
#include <random>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using allot::recorded_kind;
using allot::recorded_operation;
using allot::recording_format;

namespace {

struct text_sink {
    std::string all;
    std::size_t room = SIZE_MAX; // then writes fail

    allot::recording_sink sink() {
        return {[](void* self, std::string_view piece) noexcept {
                    auto& to = *static_cast<text_sink*>(self);
                    if (to.all.size() + piece.size() > to.room) return ENOSPC;
                    to.all += piece;
                    return 0;
                },
                this};
    }
};

struct read_back {
    std::vector<recorded_operation> operations;
    std::string error;
    bool has_end = false;
};
read_back read_all(const std::string& text) {
    std::istringstream from{text};
    allot::recording_reader reader{from};
    read_back all;
    for (recorded_operation o; reader.next(o);) all.operations.push_back(o);
    all.error = reader.error(), all.has_end = reader.has_end();
    return all;
}

std::byte memory[4096];

// Allocations of all sizes and alignments, resizes and deallocations.
std::string recorded_run(recording_format format, std::size_t operations) {
    text_sink to;
    allot::recording record{to.sink(), format};
    std::mt19937_64 random{7};
    std::vector<bool> live(sizeof memory);
    for (std::size_t i = 0; i != operations; ++i) {
        const std::size_t at = random() % sizeof memory;
        const std::size_t bytes = random() >> random() % 64;
        if (!live[at]) record.allocated(memory + at, bytes, std::size_t{1} << random() % 32, random() % 2);
        else if (random() % 4 != 0) record.deallocating(memory + at);
        else {
            allot::recording::resizing{record, memory + at}.done(memory + at, bytes);
            continue;
        }
        live[at] = live[at] ? false : true;
    }
    CHECK(record.close() == 0);
    return to.all;
}

} // namespace

TEST_CASE("a recording is read as it was written, as text and as bytes", "[watch]") {
    const read_back text = read_all(recorded_run(recording_format::text, 20'000)),
                    bytes = read_all(recorded_run(recording_format::binary, 20'000));
    CHECK(text.error == "");
    CHECK(bytes.error == "");
    CHECK(text.has_end);
    CHECK(bytes.has_end);
    CHECK(text.operations.size() == 20'000);
    CHECK(text.operations == bytes.operations);
}

TEST_CASE("encoded operations are decoded to the same, at the ends of all ranges", "[watch]") {
    const std::vector<recorded_operation> all{
        {recorded_kind::allocate, 1, 0, 1, 0, 0},
        {recorded_kind::allocate, UINT64_MAX, UINT64_MAX, 1U << 31, 7, UINT32_MAX},
        {recorded_kind::resize, 0, UINT64_MAX, 1, UINT32_MAX, 0},
        {recorded_kind::deallocate, UINT64_MAX / 2, 0, 1, 0, 1}};
    std::vector<unsigned char> bytes(all.size() * allot::detail::operation_coder::most_bytes);
    allot::detail::operation_coder writer, reader;
    unsigned char* end = bytes.data();
    for (const recorded_operation& o : all) {
        unsigned char* const from = end;
        end = writer.encode(o, end);
        CHECK(static_cast<std::size_t>(end - from) <= allot::detail::operation_coder::most_bytes);
    }
    const unsigned char* at = bytes.data();
    for (const recorded_operation& o : all) {
        recorded_operation read;
        const allot::detail::operation_coder before = reader;
        const unsigned char* const from = at;
        at = reader.decode(at, end, read);
        REQUIRE(at != nullptr);
        for (const unsigned char* cut = from; cut != at; ++cut) { // nothing is read beyond an end
            allot::detail::operation_coder again = before;
            recorded_operation none;
            CHECK(again.decode(from, cut, none) == nullptr);
        }
        CHECK(read == o);
        char line[allot::detail::most_line_bytes];
        char* const line_end = allot::detail::put_line(o, line);
        CHECK(allot::detail::parse_line({line, static_cast<std::size_t>(line_end - line - 1)}, read) == nullptr);
        CHECK(read == o);
    }
    CHECK(at == end);
}

TEST_CASE("text that a program wrote is an error where it is cut or changed", "[watch]") {
    const std::string good = recorded_run(recording_format::text, 60);
    const auto right = read_all(good).operations;
    REQUIRE(right.size() == 60);
    for (std::size_t n = 0; n != good.size(); ++n) {
        const read_back cut = read_all(good.substr(0, n));
        CAPTURE(n, cut.error);
        REQUIRE(cut.error.starts_with(n == 0 ? "offset 0: " : "line "));
        REQUIRE(!cut.has_end);
        REQUIRE(std::equal(cut.operations.begin(), cut.operations.end(), right.begin())); // no cut one
    }
    for (std::size_t i = 0; i != good.size(); ++i)
        for (int bit = 0; bit != 8; ++bit) {
            std::string changed = good;
            changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
            CAPTURE(i, bit);
            REQUIRE(read_all(changed).error != "");
        }
    const std::size_t first = good.find('\n') + 1;
    CHECK(read_all(good + good).error.find("follow the end") != std::string::npos);
    CHECK(read_all(good + "\n# a note\n").error == "");
    CHECK(read_all("#" + good.substr(first, good.rfind("end ") - first)).error == ""); // a person's now
    CHECK(read_all("# allot recording 2: a\nend 0 0\n").error.find("version") != std::string::npos);
}

// A stream of bytes, after which reads fail.
struct broken_bytes : std::streambuf {
    explicit broken_bytes(std::string bytes) : all(std::move(bytes)) {
        setg(all.data(), all.data(), all.data() + all.size());
    }
    int_type underflow() override {
        errno = EIO;
        throw std::ios_base::failure("broken");
    }
    std::string all;
};

TEST_CASE("a read that fails is an error with its reason, and so is a line without an end", "[watch]") {
    for (const auto format : {recording_format::text, recording_format::binary}) {
        const std::string good = recorded_run(format, 60);
        for (std::size_t n : {std::size_t{0}, std::size_t{4}, good.size() / 2, good.size() - 1}) {
            broken_bytes bytes{good.substr(0, n)};
            std::istream from{&bytes};
            allot::recording_reader reader{from};
            for (recorded_operation o; reader.next(o);) {
            }
            CAPTURE(n, reader.error());
            CHECK(reader.error().find("the recording cannot be read: Input/output error") != std::string::npos);
        }
    }
    const auto line_of = [](std::size_t n) { return "a 1 10\n#" + std::string(n - 1, ' ') + "\na 2 10\n"; };
    CHECK(read_all(line_of(4096)).operations.size() == 2);
    CHECK(read_all(line_of(4097)).error.starts_with("line 2: a line has more than 4096 bytes"));
    CHECK(read_all("a 1 10\na 2 10").error.starts_with("line 2: the last line has no newline"));
}

TEST_CASE("an alignment that no recording can have is rounded down, alike in both formats", "[watch]") {
    for (const auto format : {recording_format::text, recording_format::binary}) {
        text_sink to;
        allot::recording record{to.sink(), format};
        const std::vector<std::size_t> given{0, 1, 3, 48, std::size_t{1} << 31, std::size_t{1} << 63, SIZE_MAX};
        for (std::size_t i = 0; i != given.size(); ++i) record.allocated(memory + i, 100, given[i]);
        CHECK(record.close() == 0);
        const read_back read = read_all(to.all);
        CHECK(read.error == "");
        std::vector<std::uint64_t> alignments;
        for (const recorded_operation& o : read.operations) alignments.push_back(o.alignment);
        CHECK(alignments == std::vector<std::uint64_t>{1, 1, 2, 32, 1U << 31, 1U << 31, 1U << 31});
    }
}

TEST_CASE("a cut or changed binary recording is an error, and what was read before it is right", "[watch]") {
    const std::string good = recorded_run(recording_format::binary, 300);
    const auto right = read_all(good).operations;
    for (std::size_t n = 0; n != good.size(); ++n) {
        const read_back cut = read_all(good.substr(0, n));
        REQUIRE(cut.error.starts_with("offset "));
        REQUIRE((cut.operations.empty() || cut.operations == right)); // the end block alone is cut
    }
    for (std::size_t i = 0; i != good.size(); ++i)
        for (const char change : {'\1', '\x80', '\xFF'}) {
            std::string changed = good;
            changed[i] ^= change;
            const read_back read = read_all(changed);
            if (i == 0) REQUIRE(read.error != ""); // no magic: it is taken for text
            else REQUIRE(read.error.starts_with("offset "));
            REQUIRE((read.operations.empty() || read.operations == right)); // the end block alone is wrong
        }
    CHECK(read_all(good + "x").error.find("follow the end") != std::string::npos);
    CHECK(read_all(std::string{"\x1F\x8B"}).error.find("compressed") != std::string::npos);
    CHECK(read_all("").error.find("empty") != std::string::npos);
}

TEST_CASE("text that a person wrote needs no end, and its errors name the line", "[watch]") {
    const read_back some = read_all("# by hand\na 17 4096 64 0 2\n\na 18 100\r\nr 17 8192\nd 18 0 1\n");
    CHECK(some.error == "");
    CHECK_FALSE(some.has_end);
    REQUIRE(some.operations.size() == 4);
    CHECK(some.operations[0] == recorded_operation{recorded_kind::allocate, 17, 4096, 64, 0, 2});
    CHECK(some.operations[1] == recorded_operation{recorded_kind::allocate, 18, 100, 16, 0, 0});
    CHECK(some.operations[2] == recorded_operation{recorded_kind::resize, 17, 8192, 1, 0, 0});
    CHECK(some.operations[3] == recorded_operation{recorded_kind::deallocate, 18, 0, 1, 0, 1});
    for (const char* const wrong :
         {"b 1 2", "a 1", "a 1 x", "a 1 2 3", "a 1 2 64 0 0 9", "a -1 2", "a 99999999999999999999 1", "r 1", "d",
          "a 1 2 64 4294967296", "a", "aa 1 2", "end", "end 7", "end x", "a 1 2 8589934592", "allocate 1"}) {
        const read_back read = read_all(std::string{"a 1 2\n"} + wrong + "\nd 1\n");
        CAPTURE(wrong, read.error);
        CHECK(read.error.starts_with("line 2: "));
        CHECK(read.operations.size() == 1);
    }
    CHECK(read_all("a 1 2\nend 1\nd 1\n").error.starts_with("line 3: "));
    CHECK(read_all("a 1 2\nend 1\n\n").has_end);
}

TEST_CASE("a write that failed is reported at the end, and a file that cannot be opened at once", "[watch]") {
    text_sink to{"", 100};
    allot::recording record{to.sink()};
    for (int i = 0; i != 50'000; ++i) {
        record.allocated(memory, 8, 8);
        record.deallocating(memory);
    }
    CHECK(record.error() == ENOSPC);
    CHECK(record.close() == ENOSPC);
    CHECK(record.close() == ENOSPC);
    allot::recording nowhere{"/no such folder/record"};
    CHECK(nowhere.error() == ENOENT);
    nowhere.allocated(memory, 8, 8);
    CHECK(nowhere.close() == ENOENT);
    allot::recording full{"/dev/full"};
    for (int i = 0; i != 50'000; ++i) full.allocated(memory + i % 4096, 8, 8);
    CHECK(full.close() == ENOSPC);
}

TEST_CASE("threads record together: each allocation has one ID, and is deallocated once", "[watch]") {
    text_sink to;
    allot::recording record{to.sink()};
    std::barrier together{4};
    {
        std::vector<std::jthread> all;
        for (std::size_t t = 0; t != 4; ++t)
            all.emplace_back([&, t] {
                together.arrive_and_wait(); // all of them live at once
                for (std::size_t i = 0; i != 5'000; ++i) {
                    std::byte* const p = memory + 1024 * t + i % 1024;
                    record.allocated(p, i, 8);
                    allot::recording::resizing resize{record, p};
                    resize.done(i % 2 == 0 ? p : nullptr, i + 1);
                    record.deallocating(p);
                    record.deallocating(p); // of none: not recorded
                }
                together.arrive_and_wait();
            });
    }
    CHECK(record.close() == 0);
    const read_back read = read_all(to.all);
    CHECK(read.error == "");
    CHECK(read.operations.size() == 4 * (5'000 + 5'000 + 2'500));
    std::vector<int> state(20'001);
    std::vector<std::size_t> of_thread(4);
    for (const recorded_operation& o : read.operations) {
        REQUIRE(o.id < state.size());
        REQUIRE(o.thread < 4);
        ++of_thread[o.thread];
        const int before = o.kind == recorded_kind::allocate ? 0 : 1;
        REQUIRE(state[o.id] == before);
        state[o.id] = o.kind == recorded_kind::deallocate ? 2 : 1;
    }
    CHECK(of_thread == std::vector<std::size_t>(4, 12'500));
}
