// Objects are written in files and read back, whole and in parts, from one piece and from many.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

namespace {

constexpr const char* directory = "/tmp";
const std::size_t sizes[] = {0, 1, 4095, 4096, 4097, 1_MiB - 1, 1_MiB, 1_MiB + 1, 5_MiB + 3, 20_MiB + 1};

} // namespace

TEST_CASE("what is written in files is read back", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, directory};
    CHECK(files.keeps_copies());
    for (const std::size_t n : sizes) {
        const auto data = some_bytes(n);
        for (const bool in_pieces : {false, true}) {
            kept_bytes kept{files, n};
            REQUIRE(kept);
            CHECK_FALSE(kept.is_written());
            if (in_pieces) {
                source_in_pieces from(data);
                REQUIRE(kept.write(from));
                CHECK(from.done == n);
            } else {
                REQUIRE(keep(kept, data));
            }
            CHECK(disk.used() == (n + 4095) / 4096 * 4096);
            CHECK(read_back(kept) == data);
            sink_in_pieces to(n);
            REQUIRE(kept.read(to));
            CHECK(to.all == data);
            CHECK(to.done == n);
            CHECK(files.valid());
        }
        CHECK(disk.used() == 0);
        CHECK(files.stats().extents == 0);
    }
    const auto s = files.stats();
    CHECK(s.failures == 0);
    CHECK(s.damaged == 0);
    CHECK(s.bytes_written == s.bytes_stored);
    CHECK(s.files == 1);
    CHECK(s.file_bytes == 0);
}

TEST_CASE("a part is read without the rest, and slices share what is written", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, directory};
    const std::size_t n = 5_MiB + 3;
    const auto data = some_bytes(n);
    kept_bytes kept{files, n};
    REQUIRE(keep(kept, data));
    const auto part = [&](std::size_t from, std::size_t bytes) {
        return std::vector<std::byte>(data.begin() + static_cast<std::ptrdiff_t>(from),
                                      data.begin() + static_cast<std::ptrdiff_t>(from + bytes));
    };
    for (const auto& [from, bytes] : {std::pair{0_KiB, 1_KiB},
                                      {5_KiB, 1_MiB},
                                      {1_MiB, 1_MiB},
                                      {1_MiB - 1, 2_MiB + 2},
                                      {n - 1, 1_KiB / 1024},
                                      {3_MiB + 7, n - 3_MiB - 7},
                                      {n, 0_KiB}}) {
        CHECK(read_back(kept, from, bytes) == part(from, bytes));
        kept_bytes slice = kept.slice(from, bytes), inner = slice.slice(bytes / 2, bytes - bytes / 2);
        CHECK(read_back(slice) == part(from, bytes));
        CHECK(read_back(inner) == part(from + bytes / 2, bytes - bytes / 2));
        sink_in_pieces to(bytes);
        REQUIRE(slice.read(to));
        CHECK(to.all == part(from, bytes));
    }
    kept_bytes last = kept.slice(1_MiB, 1_MiB);
    CHECK_FALSE(kept.drop());
    CHECK(disk.used() != 0);
    CHECK(read_back(last) == part(1_MiB, 1_MiB));
    last = {};
    CHECK(disk.used() == 0);
}

TEST_CASE("room is written again after a drop, in the same place", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, directory};
    const auto a = some_bytes(3_MiB, 1), b = some_bytes(2_MiB + 5, 2);
    kept_bytes kept{files, 3_MiB};
    REQUIRE(keep(kept, a));
    const auto where = files.extents_of(kept).at(0).offset();
    REQUIRE(kept.drop());
    CHECK(files.stats().stale_bytes == 3_MiB);
    CHECK(kept.has_room(3_MiB));
    REQUIRE(keep(kept, b));
    CHECK(kept.bytes() == b.size());
    CHECK(read_back(kept) == b);
    CHECK(files.extents_of(kept).at(0).offset() == where);
    CHECK(files.valid());
}

TEST_CASE("extents of another size, and bytes that end inside a page", "[spill]") {
    account disk{name{"disk"}}, host{name{"host"}};
    {
        spill_files files{disk, directory,
                          allot::spill_file_options{.extent_bytes = 5000, .staging_buffers = 3, .staging_by = &host}};
        CHECK(host.used() == 3 * 8192);
        for (const std::size_t n : {1_KiB, 8191_KiB / 1024, 8_KiB, 8193_KiB / 1024, 100'001_KiB / 1024}) {
            const auto data = some_bytes(n, 3);
            kept_bytes kept{files, n};
            REQUIRE(keep(kept, data));
            CHECK(files.stats().extents == (n + 8191) / 8192);
            CHECK(read_back(kept) == data);
            CHECK(read_back(kept, n / 3, n / 3) ==
                  std::vector<std::byte>(data.begin() + static_cast<std::ptrdiff_t>(n / 3),
                                         data.begin() + static_cast<std::ptrdiff_t>(n / 3 * 2)));
        }
    }
    CHECK(host.used() == 0);
}

TEST_CASE("files that cannot be opened are reported", "[spill]") {
    account disk{name{"disk"}}, host{name{"host"}, allot::limit{1_MiB}};
    CHECK_THROWS_AS((spill_files{disk, "/no such directory"}), allot::spill_error);
    try {
        spill_files never{disk, {directory, "/no such directory"}, allot::spill_file_options{.name = "query 7"}};
    } catch (const allot::spill_error& e) {
        const std::string text = e.what();
        CHECK_THAT(text, ContainsSubstring("query 7"));
        CHECK_THAT(text, ContainsSubstring("open /no such directory"));
        CHECK_THAT(text, ContainsSubstring("No such file or directory"));
        CHECK(e.status().error == ENOENT);
        CHECK(std::string(e.status().file) == "/no such directory");
    }
    spill_files none{disk, "/proc/self/environ", std::nothrow};
    CHECK_FALSE(none.status());
    CHECK(none.status().how == allot::home_status::outcome::failed);
    kept_bytes never{none, 10};
    CHECK(keep(never, some_bytes(10)).error == none.status().error);
    CHECK_FALSE(never.is_written());
    spill_files refused{disk, directory, std::nothrow,
                        allot::spill_file_options{.staging_buffers = 2, .staging_by = &host}};
    CHECK(refused.status().how == allot::home_status::outcome::refused);
    CHECK(refused.status().why.at == &host);
    CHECK(host.used() == 0);
    CHECK(disk.used() == 0);
}
