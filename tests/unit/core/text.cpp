#include <support/catch.hpp>

#include <allot/core/text.hpp>

#include <cstdint>
#include <cstring>
#include <string>

using allot::text_writer;

namespace {

std::string as_bytes(std::size_t n) {
    char buffer[64];
    text_writer out{buffer};
    return std::string{out.bytes(n).view()};
}

} // namespace

TEST_CASE("text is put together and always ends in NUL") {
    char buffer[64];
    text_writer out{buffer};
    CHECK(out.view().empty());
    out.put("a").put('b').number(0).put(' ').number(UINT64_MAX).put(' ').hex(0xbeef).newline();
    CHECK(out.view() == "ab0 18446744073709551615 0xbeef\n");
    CHECK(std::strlen(buffer) == out.size());
    out.clear();
    CHECK(out.view().empty());
    out.pointer(nullptr);
    CHECK(out.view() == "null");
    out.clear();
    out.hundredths(1234).put(' ').hundredths(5);
    CHECK(out.view() == "12.34 0.05");
}

TEST_CASE("a text that does not fit ends in dots and never leaves its buffer") {
    char buffer[16];
    std::memset(buffer, '#', sizeof buffer);
    text_writer out{buffer, 8};
    out.put("1234567");
    CHECK(out.view() == "1234567");
    CHECK_FALSE(out.is_truncated());
    out.put("8");
    CHECK(out.view() == "1234...");
    CHECK(out.is_truncated());
    out.number(99).newline().column(40);
    CHECK(out.view() == "1234...");
    CHECK(buffer[7] == '\0');
    CHECK(buffer[8] == '#');
}

TEST_CASE("a text is not cut within a character, and a name is one line of UTF-8") {
    const std::string euro = "\xE2\x82\xAC", lost = "\xEF\xBF\xBD";
    char buffer[512];
    for (std::size_t before = 0; before != 12; ++before) { // capacity 10: 7 bytes and the dots
        text_writer out{buffer, 11};
        out.put(std::string(before, 'a') + euro + euro + euro + euro).put("more");
        std::string is(before < 7 ? before : 7, 'a');
        while (is.size() + 3 <= 7) is += euro;
        CHECK(out.view() == is + "...");
        CHECK(std::strlen(buffer) == out.size());
    }
    text_writer wrong{buffer, 11}; // no UTF-8: cut anywhere
    wrong.put(std::string(20, '\x80'));
    CHECK(wrong.view() == std::string(7, '\x80') + "...");
    text_writer out{buffer};
    out.name("a\nb\x7f" + euro + "\xFF\xE2\x82 \xE2\x80\xAE\xE2\x81\xA6z");
    CHECK(out.view() == "a\xE2\x90\x8A"
                        "b\xE2\x90\xA1" +
                            euro + lost + lost + ' ' + lost + lost + 'z');
    out.clear();
    const std::string sixty(60, 'x');
    out.brief(sixty + euro + euro);
    CHECK(out.view() == sixty + "...");
}

TEST_CASE("the smallest buffers hold what they can") {
    char buffer[4] = {'#', '#', '#', '#'};
    text_writer none{buffer, 1};
    none.put("x");
    CHECK(none.view().empty());
    CHECK(buffer[1] == '#');
    text_writer two{buffer, 3};
    two.put("abc");
    CHECK(two.view() == "..");
    CHECK(buffer[3] == '#');
}

TEST_CASE("bytes are reported in the unit that people read") {
    CHECK(as_bytes(0) == "0 bytes");
    CHECK(as_bytes(1) == "1 byte");
    CHECK(as_bytes(1000) == "1000 bytes");
    CHECK(as_bytes(1024) == "1 KiB");
    CHECK(as_bytes(1025) == "1025 bytes");
    CHECK(as_bytes(64 << 10) == "64 KiB");
    CHECK(as_bytes(1 << 20) == "1 MiB");
    CHECK(as_bytes((3 << 20) / 2) == "1.50 MiB");
    CHECK(as_bytes((std::size_t{1} << 30) - 1) == "1024.00 MiB");
    CHECK(as_bytes(std::size_t{3} << 29) == "1.50 GiB");
    CHECK(as_bytes(std::size_t{5} << 40) == "5 TiB");
    CHECK(as_bytes(SIZE_MAX) == "16.00 EiB");
}

TEST_CASE("columns count from the last line's start") {
    char buffer[64];
    text_writer out{buffer};
    out.put("first line\n").put("ab").column(5).put("cd").column(3).put("e");
    CHECK(out.view() == "first line\nab   cd e");
}

TEST_CASE("text is written at compile time as well") {
    constexpr auto size = [] {
        char buffer[32];
        text_writer out{buffer};
        return out.put("limit ").bytes(1 << 20).size();
    }();
    STATIC_REQUIRE(size == 11);
}

TEST_CASE("a writer with a sink has text of any length, until the sink fails", "[text]") {
    struct taken {
        std::string all;
        unsigned calls = 0, fails = ~0u;
    } to;
    const allot::text_sink sink{[](void* context, std::string_view part) noexcept {
                                    auto& t = *static_cast<taken*>(context);
                                    if (++t.calls == t.fails) return false;
                                    t.all += part;
                                    return true;
                                },
                                &to};
    char buffer[8];
    {
        allot::text_writer out{buffer, sizeof buffer, sink};
        out.put("0123456").put("789").number(12345).put("");
        CHECK(to.all == "01234567891234");
        CHECK(out.flush());
        CHECK(out.flush()); // of nothing
        CHECK(to.all == "012345678912345");
        CHECK(to.calls == 3);
        CHECK_FALSE(out.is_truncated());
    }
    to = {{}, 0, 2};
    allot::text_writer out{buffer, sizeof buffer, sink};
    out.put("01234567890123456789");
    CHECK(to.all == "0123456");
    CHECK(out.is_truncated());
    CHECK_FALSE(out.flush());
    out.put("more");
    CHECK(to.calls == 2);
    char alone[8];
    CHECK_FALSE(allot::text_writer{alone}.flush());
}
