// Extents as values: they outlive what they were made of, and every byte that changes in a file is found.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fcntl.h>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

namespace {

std::vector<std::byte> all_of(const std::vector<allot::extent_file>& extents) {
    std::vector<std::byte> all;
    for (const auto& e : extents) {
        std::vector<std::byte> some(e.length());
        if (!e.read(some)) return {};
        const auto first = some.begin() + static_cast<std::ptrdiff_t>(e.part_offset());
        all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(e.part_bytes()));
    }
    return all;
}
void flip(const allot::extent_file& e, std::size_t at, int bit = 0) {
    unsigned char c = 0;
    const auto where = static_cast<off_t>(e.offset() + at);
    REQUIRE(::pread(e.descriptor(), &c, 1, where) == 1);
    c = static_cast<unsigned char>(c ^ 1u << bit);
    REQUIRE(::pwrite(e.descriptor(), &c, 1, where) == 1);
}

} // namespace

TEST_CASE("extents outlive the object and the files", "[spill]") {
    account disk{name{"disk"}};
    std::vector<allot::extent_file> extents, some;
    const auto data = some_bytes(3_MiB + 100), other = some_bytes(3_MiB + 100, 2);
    {
        spill_files files{disk, "/tmp"};
        kept_bytes kept{files, data.size()};
        REQUIRE(keep(kept, data));
        extents = files.extents_of(kept);
        REQUIRE(extents.size() == 4);
        CHECK(extents[0].length() == 1_MiB);
        CHECK(extents[3].length() == 100);
        CHECK(extents[3].stored() == 100);
        CHECK(extents[3].offset() == extents[0].offset() + 3_MiB);
        CHECK(extents[0].checksum() != extents[1].checksum());
        some = files.extents_of(kept.slice(1_MiB - 1, 1_MiB + 2));
        REQUIRE(some.size() == 3);
        CHECK(some[0].part_offset() == 1_MiB - 1);
        CHECK(some[0].part_bytes() == 1);
        CHECK(some[2].part_bytes() == 1);
        REQUIRE(kept.drop());
        REQUIRE(keep(kept, other)); // elsewhere, without memory of the host
        CHECK(files.extents_of(kept)[0].offset() != extents[0].offset());
        CHECK(read_back(kept) == other);
        CHECK(all_of(extents) == data);
        CHECK(files.valid());
    }
    CHECK(all_of(extents) == data);
    CHECK(all_of(some) == std::vector<std::byte>(data.begin() + 1_MiB - 1, data.begin() + 2_MiB + 1));
    CHECK(disk.used() == 3_MiB + 4_KiB);
    allot::extent_file last = extents[2];
    extents.clear();
    some.clear();
    some = {last, last};
    some.pop_back();
    std::vector<std::byte> one(1_MiB);
    CHECK(last.read(one));
    some.clear();
    CHECK(disk.used() == 3_MiB + 4_KiB);
    last = allot::extent_file{std::move(last)};
    std::optional<allot::extent_file> moved{std::move(last)};
    moved.reset();
    CHECK(disk.used() == 0);
}

TEST_CASE("a file of extents has no name, and only its owner may read it", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp"};
    kept_bytes kept{files, 10};
    REQUIRE(keep(kept, some_bytes(10)));
    const int file = files.extents_of(kept)[0].descriptor();
    struct ::stat s{};
    REQUIRE(::fstat(file, &s) == 0);
    CHECK(s.st_nlink == 0);
    CHECK((s.st_mode & 07777) == 0600);
    CHECK((::fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("each byte that changes in a file is found", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp"};
    for (const std::size_t n : {1u, 200u, 4097u}) {
        const auto data = some_bytes(n);
        kept_bytes kept{files, n};
        REQUIRE(keep(kept, data));
        const auto e = files.extents_of(kept).at(0);
        std::vector<std::byte> to(n);
        std::uint64_t found = 0;
        const std::uint64_t before = files.stats().damaged;
        for (std::size_t at = 0; at < e.stored(); at += n < 1000 ? 1 : 37) {
            flip(e, at, static_cast<int>(at % 8));
            allot::byte_sink sink{std::span{to}};
            const home_status s = kept.read(sink);
            if (s.how == home_status::outcome::damaged && s.offset == e.offset() && s.bytes == e.stored() && !s)
                ++found;
            CHECK(std::string_view(s.file) == "/tmp");
            CHECK(e.read(to).how == home_status::outcome::damaged);
            flip(e, at, static_cast<int>(at % 8));
            CHECK(e.read(to));
            CHECK(to == data);
        }
        CHECK(found == (n < 1000 ? n : (n + 36) / 37));
        CHECK(files.stats().damaged == before + 2 * found);
    }
    CHECK(files.stats().last_failure.how == home_status::outcome::damaged);
}

TEST_CASE("damage of one extent leaves the others readable, and a part is verified as a whole", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp"};
    const auto data = some_bytes(4_MiB);
    kept_bytes kept{files, data.size()};
    REQUIRE(keep(kept, data));
    const auto extents = files.extents_of(kept);
    flip(extents[2], 77);
    CHECK(read_back(kept).empty());
    CHECK(read_back(kept, 2_MiB + 500'000, 10).empty());
    CHECK(read_back(kept, 0, 2_MiB) == std::vector<std::byte>(data.begin(), data.begin() + 2_MiB));
    CHECK(read_back(kept, 3_MiB + 1, 1000) ==
          std::vector<std::byte>(data.begin() + 3_MiB + 1, data.begin() + 3_MiB + 1001));
    flip(extents[2], 77);
    CHECK(read_back(kept) == data);
    REQUIRE(::ftruncate(extents[0].descriptor(), static_cast<off_t>(extents[3].offset() + 5)) == 0);
    allot::byte_sink none{std::span<std::byte>{}};
    CHECK(kept.read(3_MiB, none));
    CHECK(read_back(kept, 0, 3_MiB).size() == 3_MiB);
    std::vector<std::byte> to(1_MiB);
    const home_status s = extents[3].read(to);
    CHECK(s.how == home_status::outcome::damaged);
    CHECK(s.offset == extents[3].offset());
    CHECK(read_back(kept).empty());
}
