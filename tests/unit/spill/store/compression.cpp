// Extents that are compressed. Where LZ4 is not compiled in, files that are to use it are not opened.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include <unistd.h>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_compression;
using allot::spill_files;

namespace {

constexpr allot::spill_file_options by_lz4{.compress = spill_compression::lz4};

} // namespace

#if ALLOT_LZ4

TEST_CASE("compressed extents are read back, and charged as they are stored", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp", by_lz4};
    for (const std::size_t n : {0_KiB, 1_KiB / 1024, 15_KiB / 1024, 4096_KiB / 1024, 1_MiB - 1, 1_MiB, 5_MiB + 3}) {
        for (const bool shrinks : {true, false})
            for (const bool in_pieces : {true, false}) {
                const auto data = some_bytes(n, 5, shrinks);
                kept_bytes kept{files, n};
                source_in_pieces pieces(data);
                REQUIRE((in_pieces ? kept.write(pieces) : keep(kept, data)));
                CHECK(read_back(kept) == data);
                CHECK(read_back(kept, n / 3, n / 2) ==
                      std::vector<std::byte>(data.begin() + static_cast<std::ptrdiff_t>(n / 3),
                                             data.begin() + static_cast<std::ptrdiff_t>(n / 3 + n / 2)));
                sink_in_pieces to(n);
                REQUIRE(kept.read(to));
                CHECK(to.all == data);
                std::size_t stored = 0;
                for (const auto& e : files.extents_of(kept)) {
                    stored += (e.stored() + 4095) / 4096 * 4096;
                    const bool is_packed = e.compression() == spill_compression::lz4;
                    CHECK(is_packed == (e.stored() != e.length()));
                    if (e.length() > 1000) CHECK(is_packed == shrinks);
                    std::vector<std::byte> all(e.length());
                    CHECK(e.read(all));
                }
                CHECK(disk.used() == stored);
                CHECK(files.stats().file_bytes == stored);
                if (shrinks && n >= 1_MiB - 1) CHECK(stored < n / 4);
            }
        CHECK(disk.used() == 0);
        CHECK(files.valid());
    }
    CHECK(files.stats().bytes_stored < files.stats().bytes_written);
}

TEST_CASE("an account that a compressed object fits in", "[spill]") {
    account disk{name{"disk"}, allot::limit{3_MiB}};
    spill_files files{disk, "/tmp", by_lz4};
    const auto data = some_bytes(6_MiB, 5, true), other = some_bytes(3_MiB, 6);
    kept_bytes a{files, data.size()}, b{files, other.size()};
    REQUIRE(keep(a, data));
    CHECK(disk.used() < 6_MiB / 4);
    const std::size_t used = disk.used();
    CHECK(keep(b, other).how == home_status::outcome::refused); // in the middle
    CHECK(disk.used() == used);
    CHECK(files.stats().file_bytes == used);
    CHECK(read_back(a) == data);
}

TEST_CASE("each byte of a compressed extent that changes is found", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp", by_lz4};
    const auto data = some_bytes(20'000, 5, true);
    kept_bytes kept{files, data.size()};
    REQUIRE(keep(kept, data));
    const auto e = files.extents_of(kept).at(0);
    REQUIRE(e.compression() == spill_compression::lz4);
    for (std::size_t at = 0; at != e.stored(); ++at) {
        const auto where = static_cast<off_t>(e.offset() + at);
        unsigned char c = 0;
        REQUIRE(::pread(e.descriptor(), &c, 1, where) == 1);
        c = static_cast<unsigned char>(c ^ 16u);
        REQUIRE(::pwrite(e.descriptor(), &c, 1, where) == 1);
        CHECK(read_back(kept).empty());
        c = static_cast<unsigned char>(c ^ 16u);
        REQUIRE(::pwrite(e.descriptor(), &c, 1, where) == 1);
    }
    CHECK(files.stats().damaged == e.stored());
    CHECK(read_back(kept) == data);
}

#else

TEST_CASE("files that are to be compressed are not opened without LZ4", "[spill]") {
    account disk{name{"disk"}};
    const spill_files files{disk, "/tmp", by_lz4, std::nothrow};
    CHECK(files.status().error == ENOTSUP);
    try {
        const spill_files never{disk, "/tmp", by_lz4};
        CHECK(false);
    } catch (const allot::spill_error& e) {
        CHECK(std::strstr(e.what(), "ALLOT_LZ4") != nullptr);
    }
}

#endif
