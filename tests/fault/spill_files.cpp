// Every call to the system fails once: files are opened or say why not, an object is written elsewhere or stays as it
// was, nothing that is kept is lost, and later writes succeed.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/sys/fault.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <set>
#include <string_view>
#include <vector>

#include <unistd.h>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;
namespace fault = allot::detail::sys::fault;

namespace {

constexpr allot::spill_file_options small{.extent_bytes = 64_KiB, .staging_buffers = 2, .uring = ALLOT_URING != 0};

struct scene {
    explicit scene(std::initializer_list<std::string_view> directories)
        : files{disk, directories, small, std::nothrow} {}

    // Writes, reads, drops and writes again, in one piece and in many. Nothing is lost, whatever fails.
    void run() {
        if (!files.status()) {
            CHECK(fault::has_failed());
            CHECK(files.status().how == home_status::outcome::failed);
            CHECK(files.status().error != 0);
            return;
        }
        for (unsigned i = 0; i != 6; ++i) {
            all.emplace_back(files, 300'000);
            write(i, i % 2 != 0);
        }
        for (unsigned i = 0; i < 6; i += 2)
            if (all[i].is_written()) all[i].drop();
        for (unsigned i = 0; i != 6; ++i) {
            if (!all[i].is_written()) write(i, i % 4 == 0);
            read(i);
        }
        write_small();
        for (const unsigned i : {1u, 4u})
            if (all[i].is_written()) all[i].drop();
        kept_bytes more{files, 2_MiB}; // needs fresh space, and holes are punched for it
        const auto data = some_bytes(2_MiB, 9);
        if (keep(more, data)) CHECK((read_back(more) == data || fault::has_failed()));
        else CHECK(fault::has_failed());
    }
    // After the failures.
    void recovers() {
        if (!files.status()) return;
        std::size_t used = 0;
        for (unsigned i = 0; i != 6; ++i) {
            if (!all[i].is_written()) write(i, false);
            CHECK(all[i].is_written());
            CHECK(read_back(all[i]) == some_bytes(bytes(i), i));
            used += (bytes(i) + 4095) / 4096 * 4096;
        }
        CHECK(disk.used() == used);
        CHECK(files.stats().file_bytes == used);
        CHECK(files.stats().failures >= failures);
        CHECK(files.valid());
        all.clear();
        CHECK(disk.used() == 0);
        CHECK(files.stats().extents == 0);
    }

    static std::size_t bytes(unsigned i) { return 100'000 + i * 39'000; }
    void write(unsigned i, bool in_pieces) {
        const auto data = some_bytes(bytes(i), i);
        const std::size_t used = disk.used();
        source_in_pieces pieces(data);
        const home_status s = in_pieces ? all[i].write(pieces) : keep(all[i], data);
        if (s) return;
        CHECK(fault::has_failed());
        CHECK(s.how == home_status::outcome::failed);
        CHECK(s.error == fault::file_error);
        CHECK(std::string_view(s.call) == "write");
        CHECK(std::string_view(s.file) == "/tmp");
        CHECK(s.bytes != 0);
        CHECK(disk.used() == used);
        CHECK(all[i].has_room(data.size()));
        CHECK(files.valid());
        ++failures;
    }
    // Several by one call: each is kept, or says why not.
    void write_small() {
        std::vector<kept_bytes> few;
        std::vector<std::vector<std::byte>> data;
        for (unsigned i = 0; i != 5; ++i) few.emplace_back(files, 5000), data.push_back(some_bytes(5000 - i, i));
        const std::size_t used = disk.used();
        std::size_t kept = 0;
        kept_bytes::write_together(
            files, 5, [&](std::size_t i) -> kept_bytes& { return few[i]; },
            [&](std::size_t i) { return std::span<const std::byte>(data[i]); },
            [&](std::size_t i, const home_status& s) {
                CHECK(static_cast<bool>(s) == few[i].is_written());
                CHECK((s || (fault::has_failed() && s.error == fault::file_error)));
                kept += few[i].is_written();
                failures += !s;
            });
        CHECK(disk.used() == used + kept * 8_KiB);
        for (unsigned i = 0; i != 5; ++i)
            if (few[i].is_written()) CHECK((read_back(few[i]) == data[i] || fault::has_failed()));
    }
    void read(unsigned i) {
        if (!all[i].is_written()) return;
        std::vector<std::byte> to(bytes(i));
        allot::byte_sink sink{std::span{to}};
        const home_status s = all[i].read(sink);
        if (s) {
            CHECK(to == some_bytes(bytes(i), i));
        } else {
            CHECK(fault::has_failed());
            CHECK(std::string_view(s.call) == "read");
            ++failures;
        }
    }

    account disk{name{"disk"}, allot::limit{3_MiB}};
    spill_files files;
    std::vector<kept_bytes> all;
    unsigned failures = 0;
};

// Returns how many calls there are, and in `failed` how many scenes an operation failed in.
std::uint64_t fail_each(std::initializer_list<std::string_view> directories, int error, unsigned& failed) {
    fault::file_error = error;
    for (std::uint64_t n = 1;; ++n) {
        fault::fail_nth(n);
        scene s(directories);
        s.run();
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        s.recovers();
        failed += s.failures != 0;
        if (!has_failed) return n - 1;
        REQUIRE(n < 1000);
    }
}

} // namespace

TEST_CASE("spill files outlive each call to the system that fails", "[spill][fault]") {
    unsigned failed = 0;
    CHECK(fail_each({"/tmp"}, EIO, failed) > 30);
    CHECK(failed > (ALLOT_URING != 0 ? 5u : 20u)); // staged writes of io_uring are made once more by a call
    failed = 0;
    CHECK(fail_each({"/tmp"}, ENOSPC, failed) > 30);
    CHECK(failed > (ALLOT_URING != 0 ? 5u : 20u));
    failed = 0;
    CHECK(fail_each({"/tmp"}, EFBIG, failed) > 30); // the second file of the directory serves, but for reads
    CHECK(failed > 5);
    failed = 0;
    CHECK(fail_each({"/tmp"}, 0, failed) > 30); // short calls go on
    CHECK(failed == 0);
}

TEST_CASE("where a directory fails the others serve", "[spill][fault]") {
    for (const int error : {EIO, ENOSPC}) {
        unsigned failed = 0;
        CHECK(fail_each({"/tmp", "/tmp"}, error, failed) > 30);
        scene s({"/tmp", "/tmp"});
        const auto data = some_bytes(300'000);
        for (int i = 0; i != 6; ++i) {
            kept_bytes kept{s.files, data.size()};
            fault::file_error = error;
            fault::fail_nth(1);
            REQUIRE(keep(kept, data));
            CHECK(fault::has_failed());
            fault::fail_nth(0);
            CHECK(read_back(kept) == data);
            source_in_pieces pieces(data);
            kept_bytes other{s.files, data.size()};
            fault::fail_nth(3); // in the middle of an object
            REQUIRE(other.write(pieces));
            CHECK(fault::has_failed());
            fault::fail_nth(0);
            CHECK(read_back(other) == data);
            CHECK(s.files.valid());
        }
        CHECK(s.files.stats().failures == (ALLOT_URING != 0 ? 6u : 12u));
        CHECK(s.files.stats().last_failure.error == error);
        CHECK(s.disk.used() == 0);
    }
}

TEST_CASE("a directory that failed is used in turn again once the pause is ended", "[spill][fault]") {
    scene s({"/tmp", "/tmp"});
    const auto data = some_bytes(10'000);
    std::vector<kept_bytes> all;
    const auto used = [&] {
        std::set<int> files;
        for (int i = 0; i != 4; ++i) {
            all.emplace_back(s.files, data.size());
            REQUIRE(keep(all.back(), data));
            files.insert(s.files.extents_of(all.back()).front().descriptor());
        }
        return files.size();
    };
    CHECK(used() == 2);
    fault::file_error = EIO;
    all.emplace_back(s.files, data.size());
    fault::fail_nth(1);
    REQUIRE(keep(all.back(), data));
    CHECK(fault::has_failed());
    fault::fail_nth(0);
    CHECK(used() == 1);
    s.files.end_pause();
    CHECK(used() == 2);
}

TEST_CASE("calls that move a part of the bytes for ever fail in the end", "[spill][fault]") {
    scene s({"/tmp", "/tmp"});
    const auto data = some_bytes(100'000);
    kept_bytes kept{s.files, data.size()};
    fault::file_error = 0;
    fault::fail_nth(1, 1'000'000);
    const home_status w = keep(kept, data);
    CHECK(w.how == home_status::outcome::failed);
    CHECK(w.error == EIO);
    CHECK(s.disk.used() == 0);
    fault::fail_nth(0);
    REQUIRE(keep(kept, data));
    fault::fail_nth(1, 1'000'000);
    CHECK(read_back(kept).empty());
    fault::fail_nth(0);
    CHECK(s.files.stats().last_failure.how == home_status::outcome::failed);
    CHECK(read_back(kept) == data);
}

TEST_CASE("a file system without files that have no name serves, too", "[spill][fault]") {
    char directory[] = "/tmp/allot_test_XXXXXX";
    REQUIRE(::mkdtemp(directory) != nullptr);
    account disk{name{"disk"}};
    fault::fail_nth(1);
    spill_files files{disk, directory, std::nothrow};
    CHECK(fault::has_failed());
    CHECK(::rmdir(directory) == 0); // nothing is in it
    fault::fail_nth(0);
    REQUIRE(files.status());
    const auto data = some_bytes(10'000);
    kept_bytes kept{files, data.size()};
    REQUIRE(keep(kept, data));
    CHECK(read_back(kept) == data);
    fault::fail_nth(1, 2);
    const spill_files none{disk, "/tmp", std::nothrow};
    fault::fail_nth(0);
    CHECK(none.status().error == EACCES);
}

TEST_CASE("a source or sink that fails ends a write or read, and nothing changes", "[spill]") {
    scene s({"/tmp"});
    const auto data = some_bytes(300'000);
    kept_bytes kept{s.files, data.size()};
    source_in_pieces half(data, 100'000);
    const home_status w = kept.write(half);
    CHECK(w.how == home_status::outcome::failed);
    CHECK(std::string_view(w.call) == "copy");
    CHECK(s.disk.used() == 0);
    CHECK(kept.has_room(data.size()));
    REQUIRE(keep(kept, data));
    sink_in_pieces to(data.size(), 100'000);
    CHECK(std::string_view(kept.read(to).call) == "copy");
    CHECK(read_back(kept) == data);
}
