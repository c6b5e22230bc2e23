// Known answers, and what the two checks see.
#include <support/catch.hpp>

#include <allot/core/checksum.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

TEST_CASE("crc32c has the known answers", "[checksum]") { // RFC 3720, B.4
    const std::string digits = "123456789";
    CHECK(allot::crc32c(digits.data(), digits.size()) == 0xE3069283u);
    std::vector<unsigned char> data(32, 0);
    CHECK(allot::crc32c(data.data(), 32) == 0x8A9136AAu);
    data.assign(32, 0xFF);
    CHECK(allot::crc32c(data.data(), 32) == 0x62A8AB43u);
    for (unsigned i = 0; i < 32; ++i) data[i] = static_cast<unsigned char>(i);
    CHECK(allot::crc32c(data.data(), 32) == 0x46DD794Eu);
    CHECK(allot::crc32c(data.data(), 0) == 0);
    CHECK(allot::crc32c(data.data() + 5, 27, allot::crc32c(data.data(), 5)) == allot::crc32c(data.data(), 32));
    CHECK(allot::detail::crc32c_by_table(data.data() + 5, 27, allot::crc32c(data.data(), 5)) ==
          allot::crc32c(data.data(), 32));
}

TEST_CASE("crc32c by table and by instruction agree", "[checksum]") {
    std::mt19937 random(3);
    std::vector<unsigned char> data(300);
    for (auto& byte : data) byte = static_cast<unsigned char>(random());
    for (std::size_t from = 0; from < 9; ++from)
        for (std::size_t n = 0; n < 200; ++n)
            REQUIRE(allot::crc32c(data.data() + from, n) == allot::detail::crc32c_by_table(data.data() + from, n));
}

TEST_CASE("sum16 is the sum of words with the carries added back", "[checksum]") {
    const unsigned char words[] = {0x01, 0x00, 0xFF, 0xFF, 0x02, 0x00, 0x07};
    CHECK(allot::detail::sum16(words, 2) == 1);
    CHECK(allot::detail::sum16(words, 4) == 1); // 0x10000 carries
    CHECK(allot::detail::sum16(words, 6) == 3);
    CHECK(allot::detail::sum16(words, 7) == 10);
    CHECK(allot::detail::sum16(words, 0) == 0);
    const std::vector<unsigned char> many(100000, 0xFF);
    CHECK(allot::detail::sum16(many.data(), many.size()) == 0xFFFF);
}

TEST_CASE("both see any one changed bit", "[checksum]") {
    std::mt19937 random(4);
    std::vector<unsigned char> data(77);
    for (auto& byte : data) byte = static_cast<unsigned char>(random());
    const auto sum = allot::detail::sum16(data.data(), data.size());
    const auto crc = allot::crc32c(data.data(), data.size());
    bool good = true;
    for (std::size_t i = 0; i < data.size() * 8; ++i) {
        data[i / 8] ^= static_cast<unsigned char>(1u << i % 8);
        good = good && allot::detail::sum16(data.data(), data.size()) != sum &&
               allot::crc32c(data.data(), data.size()) != crc;
        data[i / 8] ^= static_cast<unsigned char>(1u << i % 8);
    }
    CHECK(good);
}
