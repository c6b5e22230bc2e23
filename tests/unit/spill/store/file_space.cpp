// Space of files: used again, charged, never more on the disk than the account's limit, and spread over directories.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <sys/stat.h>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

namespace {

std::size_t on_disk(int file) {
    struct ::stat s{};
    REQUIRE(::fstat(file, &s) == 0);
    return static_cast<std::size_t>(s.st_blocks) * 512;
}
struct object {
    kept_bytes kept;
    std::size_t bytes;
    unsigned seed;
};

} // namespace

TEST_CASE("freed space is used again, the lowest of equals first", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp"};
    const auto data = some_bytes(1_MiB);
    std::vector<kept_bytes> all;
    std::vector<std::uint64_t> offsets;
    for (int i = 0; i != 10; ++i) {
        all.emplace_back(files, data.size());
        REQUIRE(keep(all.back(), data));
        offsets.push_back(files.extents_of(all.back())[0].offset());
    }
    CHECK(offsets == std::vector<std::uint64_t>{0_MiB, 1_MiB, 2_MiB, 3_MiB, 4_MiB, 5_MiB, 6_MiB, 7_MiB, 8_MiB, 9_MiB});
    for (const std::size_t i : {7u, 2u, 5u}) all[i].drop();
    CHECK(files.stats().stale_bytes == 3_MiB);
    for (const std::uint64_t at : {2_MiB, 5_MiB, 7_MiB, 10_MiB}) {
        kept_bytes& k = all.emplace_back(files, data.size());
        REQUIRE(keep(k, data));
        CHECK(files.extents_of(k)[0].offset() == at);
    }
    CHECK(files.stats().stale_bytes == 0);
    CHECK(files.valid());
}

TEST_CASE("an object that finds no space in one piece is kept in several", "[spill]") {
    account disk{name{"disk"}, allot::limit{8_MiB}};
    spill_files files{disk, "/tmp"};
    const auto data = some_bytes(1_MiB), large = some_bytes(4_MiB, 2);
    std::vector<kept_bytes> all;
    for (int i = 0; i != 8; ++i) REQUIRE(keep(all.emplace_back(files, data.size()), data));
    for (std::size_t i = 0; i < 8; i += 2) all[i].drop();
    kept_bytes kept{files, large.size()};
    REQUIRE(keep(kept, large));
    CHECK(read_back(kept) == large);
    CHECK(on_disk(files.extents_of(kept)[0].descriptor()) <= 8_MiB + 64_KiB);
}

TEST_CASE("the account of files is a hard limit, and a refusal changes nothing", "[spill]") {
    account root{name{"root"}, allot::limit{3_MiB}}, disk{root, name{"disk"}, allot::limit{4_MiB}};
    spill_files files{disk, "/tmp"};
    const auto data = some_bytes(2_MiB);
    kept_bytes a{files, data.size()}, b{files, data.size()}, c{files, 1_MiB};
    REQUIRE(keep(a, data));
    const home_status s = keep(b, data);
    CHECK(s.how == home_status::outcome::refused);
    CHECK(s.why.at == &root);
    CHECK(s.why.requested == 2_MiB);
    CHECK(disk.used() == 2_MiB);
    CHECK(b.has_room(data.size()));
    REQUIRE(keep(c, std::span{data}.first(1_MiB)));
    CHECK(keep(b, std::span{data}.first(1)).how == home_status::outcome::refused);
    REQUIRE(a.drop());
    REQUIRE(keep(b, data));
    CHECK(read_back(b) == data);
    CHECK(files.stats().failures == 0);
    CHECK(root.used() == 3_MiB);
}

TEST_CASE("blocks on the disk never exceed the account's limit", "[spill]") {
    constexpr std::size_t most = 8_MiB;
    account disk{name{"disk"}, allot::limit{most}};
    spill_files files{disk, "/tmp", allot::spill_file_options{.extent_bytes = 64_KiB}};
    std::mt19937 random{7};
    const auto below = [&](std::size_t n) { return random() % n; };
    std::vector<object> all;
    int file = -1;
    unsigned refused = 0;
    for (unsigned step = 0; step != 1500; ++step) {
        if (below(5) < 3) {
            const std::size_t n = below(4) == 0 ? below(2_MiB) + 1 : below(100'000) + 1,
                              rounded = (n + 4095) / 4096 * 4096;
            object o{kept_bytes{files, n}, n, step};
            REQUIRE(o.kept);
            const bool fits = disk.used() + rounded <= most;
            const bool is_kept = bool(keep(o.kept, some_bytes(n, step)));
            CHECK(is_kept == fits);
            if (is_kept && file < 0) file = files.extents_of(o.kept)[0].descriptor();
            if (is_kept) all.push_back(std::move(o));
            else ++refused;
        } else if (!all.empty()) {
            std::swap(all[below(all.size())], all.back());
            const object& o = all.back();
            if (below(4) == 0) CHECK(read_back(o.kept) == some_bytes(o.bytes, o.seed));
            all.pop_back();
        }
        if (step % 50 == 0) CHECK(files.valid());
        if (file >= 0) REQUIRE(on_disk(file) <= most + 64_KiB); // the file system's own blocks
        const auto s = files.stats();
        CHECK(s.file_bytes == disk.used());
        CHECK(s.file_bytes + s.stale_bytes <= most);
    }
    CHECK(refused > 20);
    for (const object& o : all) CHECK(read_back(o.kept) == some_bytes(o.bytes, o.seed));
    all.clear();
    CHECK(disk.used() == 0);
}

TEST_CASE("a trim returns to the disk what is used no more", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, {"/tmp", "/tmp"}};
    const auto data = some_bytes(1_MiB);
    std::vector<kept_bytes> all;
    for (int i = 0; i != 12; ++i) REQUIRE(keep(all.emplace_back(files, data.size()), data));
    const int first = files.extents_of(all[0])[0].descriptor(), second = files.extents_of(all[1])[0].descriptor();
    CHECK(on_disk(first) + on_disk(second) >= 12_MiB);
    CHECK(files.trim() == 0);
    for (std::size_t i = 0; i != 12; ++i)
        if (i % 5 != 0) all[i].drop();
    CHECK(files.stats().stale_bytes == 9_MiB);
    CHECK(files.trim() == 9_MiB);
    CHECK(files.stats().stale_bytes == 0);
    CHECK(on_disk(first) + on_disk(second) <= 3_MiB + 128_KiB); // the file system's own blocks
    for (kept_bytes& k : all) {
        if (!k.is_written()) REQUIRE(keep(k, data));
        CHECK(read_back(k) == data);
    }
    CHECK(files.valid());
}

TEST_CASE("several directories have a file each, and share the objects", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, {"/tmp", "/var/tmp", "/tmp"}};
    CHECK(files.stats().files == 3);
    const auto data = some_bytes(100'000);
    std::vector<kept_bytes> all;
    std::set<int> used;
    for (int i = 0; i != 9; ++i) {
        REQUIRE(keep(all.emplace_back(files, data.size()), data));
        used.insert(files.extents_of(all.back())[0].descriptor());
    }
    CHECK(used.size() == 3);
    for (const kept_bytes& k : all) CHECK(read_back(k) == data);
}
