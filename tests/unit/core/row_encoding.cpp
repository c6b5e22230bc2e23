// The writer and the reader of a row's encoding.
#include <support/catch.hpp>

#include <allot/core/row_encoding.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace {

constexpr std::string_view text = "0123456789";
std::span<const std::byte> bytes_of(std::string_view s) {
    return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

} // namespace

TEST_CASE("a writer counts all bytes, and keeps those of its window") {
    for (std::size_t from = 0; from != 12; ++from)
        for (std::size_t n = 0; n != 12; ++n) {
            std::array<std::byte, 12> window{};
            allot::row_writer to{std::span{window}.first(n), from};
            to.put(text.data(), 4), to.put(text.data(), 0), to.put(text.data() + 4, 6);
            CHECK(to.bytes() == 10);
            for (std::size_t i = 0; i != 12; ++i)
                CHECK(window[i] == (i < n && from + i < 10 ? static_cast<std::byte>(text[from + i]) : std::byte{0}));
        }
    allot::row_writer counts;
    counts.put(text.data(), 10);
    CHECK(counts.bytes() == 10);
}

TEST_CASE("a reader gives the bytes of one encoding after the other, from pieces") {
    struct pieces {
        std::string_view left = text;
        static std::span<const std::byte> next(void* self) noexcept {
            auto& me = *static_cast<pieces*>(self);
            const std::string_view piece = me.left.substr(0, 3);
            me.left.remove_prefix(piece.size());
            return bytes_of(piece);
        }
    } home;
    allot::row_reader from{{}, &pieces::next, &home, true};
    char got[10]{};
    CHECK((from.may_wait() && !from.has_failed()));
    from.begin(5);
    CHECK((from.get(got, 4) && std::string_view(got, 4) == "0123" && from.left() == 1));
    CHECK(from.end()); // passes '4' over
    from.begin(4);
    CHECK((from.get(got, 4) && std::string_view(got, 4) == "5678"));
    from.begin(5); // more than there is
    CHECK((from.get(got, 1) && *got == '9'));
    CHECK_FALSE(from.get(got, 1));
    CHECK((from.has_failed() && !from.get(got, 0) && !from.end()));
}

TEST_CASE("a reader gives no byte beyond the encoding") {
    allot::row_reader from{bytes_of(text)};
    char got[10]{};
    CHECK(from.left() == 10);
    from.begin(3);
    CHECK_FALSE(from.get(got, 4));
    CHECK((from.has_failed() && *got == 0 && !from.may_wait()));
}
