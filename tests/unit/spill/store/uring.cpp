// Files that are read and written by io_uring. Where it is not compiled in, files that are to use it are not opened;
// where the system does not let the process use it, they are used by pwritev.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cerrno>
#include <cstddef>
#include <new>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot::literals;
using allot::account;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

#if ALLOT_URING

TEST_CASE("what io_uring writes is read back, by whichever way", "[spill]") {
    account disk{name{"disk"}};
    for (const char* const directory : {"/var/tmp", "/dev/shm"}) { // with a cache that is passed, and without
        spill_files files{disk, directory, allot::spill_file_options{.uring = true}};
        if (!files.stats().uses_uring) SKIP("no io_uring here");
        for (const std::size_t n : {0_KiB, 1_KiB / 1024, 4095_KiB / 1024, 4097_KiB / 1024, 1_MiB + 1, 9_MiB + 5}) {
            const auto data = some_bytes(n);
            for (const bool in_pieces : {false, true, false}) {
                kept_bytes kept{files, n};
                source_in_pieces from(data);
                REQUIRE((in_pieces ? kept.write(from) : keep(kept, data)));
                CHECK(read_back(kept) == data);
                CHECK(read_back(kept, n / 3, n / 2) ==
                      std::vector<std::byte>(data.begin() + static_cast<std::ptrdiff_t>(n / 3),
                                             data.begin() + static_cast<std::ptrdiff_t>(n / 3 + n / 2)));
                sink_in_pieces to(n);
                REQUIRE(kept.read(to));
                CHECK(to.all == data);
                for (const auto& e : files.extents_of(kept)) {
                    std::vector<std::byte> all(e.length());
                    CHECK(e.read(all));
                }
            }
        }
        CHECK(files.stats().failures == 0);
        CHECK(files.stats().damaged == 0);
        CHECK(files.valid());
    }
    CHECK(disk.used() == 0);
}

TEST_CASE("a file that is too short for io_uring is damaged", "[spill]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/var/tmp", allot::spill_file_options{.uring = true}};
    const auto data = some_bytes(5_MiB);
    kept_bytes kept{files, data.size()};
    REQUIRE(keep(kept, data));
    REQUIRE(::ftruncate(files.extents_of(kept)[0].descriptor(), 4_MiB + 100) == 0);
    CHECK(read_back(kept).empty());
    CHECK(files.stats().last_failure.how == allot::home_status::outcome::damaged);
    CHECK(read_back(kept, 0, 4_MiB).size() == 4_MiB);
}

TEST_CASE("without io_uring the files are used by calls", "[spill]") {
    const pid_t child = ::fork();
    if (child == 0) {
        sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, // the number of a system call
                              {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_io_uring_setup},
                              {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                              {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
        const sock_fprog program{4, code};
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(2);
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(2);
        account disk{name{"disk"}};
        spill_files files{disk, "/var/tmp", std::nothrow, allot::spill_file_options{.uring = true}};
        const auto data = some_bytes(3_MiB + 3);
        kept_bytes kept{files, data.size()}, other{files, data.size()};
        source_in_pieces pieces(data);
        ::_exit(files.status() && !files.stats().uses_uring && keep(kept, data) && other.write(pieces) &&
                        read_back(kept) == data && read_back(other) == data
                    ? 0
                    : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}

#else

TEST_CASE("files that are to use io_uring are not opened without it", "[spill]") {
    account disk{name{"disk"}};
    const spill_files files{disk, "/tmp", allot::spill_file_options{.uring = true}, std::nothrow};
    CHECK(files.status().error == ENOTSUP);
    CHECK_FALSE(files.stats().uses_uring);
}

#endif
