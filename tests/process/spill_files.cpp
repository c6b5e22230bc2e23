// Spill files in other processes: one that is killed, one with a limit of a file, one whose file system is full, and
// one that may not ask for memory.
#include <process/counted_new.hpp>

#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

namespace {

constexpr int cannot = 77; // this machine cannot run it

// Runs `body` in a child; its return value is the child's exit code, minus the signal when one ended it.
template <class Body> int in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
// An empty directory. Its end removes it, which only works if it is empty.
struct temporary {
    temporary() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    ~temporary() { CHECK(::rmdir(path.c_str()) == 0); }
    bool is_empty() const {
        DIR* const d = ::opendir(path.c_str());
        int n = 0;
        while (::readdir(d) != nullptr) ++n;
        ::closedir(d);
        return n == 2;
    }
    std::string path = "/var/tmp/allot_test_XXXXXX";
};
// A system call of this number ends the process from now on. False: the system has no such filters.
bool refuse_calls(std::initializer_list<unsigned> calls) {
    std::vector<sock_filter> code{{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}}; // the number
    for (const unsigned c : calls) {
        code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, c});
        code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS});
    }
    code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int with_files_of_one_mib(bool has_grown) {
    const rlimit few{1_MiB + 100, 1_MiB + 100};
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp", allot::spill_file_options{.extent_bytes = 64_KiB}};
    const auto data = some_bytes(512_KiB), large = some_bytes(5_MiB);
    kept_bytes first{files, 64_KiB};
    if (has_grown && !keep(first, std::span{data}.first(64_KiB))) return 7;
    first = {};
    ::setrlimit(RLIMIT_FSIZE, &few);
    kept_bytes much{files, large.size()};
    const home_status s = keep(much, large);
    if (s.how != home_status::outcome::failed || s.error != EFBIG || disk.used() != 0) return 1;
    std::vector<kept_bytes> all;
    for (int i = 0; i != 4; ++i) // a directory has a second file where the first one is full
        if (!keep(all.emplace_back(files, data.size()), data)) return 2;
    kept_bytes more{files, data.size()};
    if (keep(more, data).error != EFBIG) return 3;
    all[1].drop();
    if (!keep(more, data) || read_back(more) != data) return 4;
    for (const std::size_t i : {0u, 2u, 3u})
        if (read_back(all[i]) != data) return 5;
    return files.stats().files == 2 && files.valid() ? 0 : 6;
}

} // namespace

TEST_CASE("nothing is left of the files of a process that is killed", "[process][spill]") {
    const temporary directory;
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        account disk{name{"disk"}};
        spill_files files{disk, directory.path};
        kept_bytes kept{files, 3_MiB};
        const char c = keep(kept, some_bytes(3_MiB)) ? 'y' : 'n';
        if (::write(ready[1], &c, 1) == 1) ::pause();
        ::_exit(1);
    }
    char c = 0;
    REQUIRE(::read(ready[0], &c, 1) == 1);
    CHECK(c == 'y');
    CHECK(directory.is_empty()); // not even a name
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(directory.is_empty());
    ::close(ready[0]), ::close(ready[1]);
}

TEST_CASE("a limit of the size of files is a failure, and no signal", "[process][spill]") {
    for (const bool has_grown : {false, true}) { // before there is a limit
        const int code = in_child([&] { return with_files_of_one_mib(has_grown); });
        CHECK(code == 0);
    }
}

TEST_CASE("where a file system is full a write fails, and another directory serves", "[process][spill]") {
    const temporary directory;
    const int code = in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0) return cannot;
        if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return cannot;
        if (::mount("none", directory.path.c_str(), "tmpfs", 0, "size=8m") != 0) return cannot;
        account disk{name{"disk"}};
        const auto data = some_bytes(3_MiB), last = some_bytes(1_MiB, 2);
        {
            spill_files files{disk, directory.path};
            kept_bytes a{files, data.size()}, b{files, data.size()}, c{files, data.size()}, d{files, last.size()};
            if (!keep(a, data) || !keep(b, data)) return 1;
            const home_status s = keep(c, data);
            if (s.how != home_status::outcome::failed || s.error != ENOSPC) return 2;
            if (std::string(s.file) != directory.path || std::string(s.call) != "write") return 3;
            if (disk.used() != 6_MiB || files.stats().failures != 1) return 4;
            if (!keep(d, last)) return 5; // it fits
            if (read_back(a) != data || read_back(b) != data || read_back(d) != last) return 6;
            a.drop();
            if (!keep(c, data) || read_back(c) != data) return 7;
        }
        { // what is stale in pieces is returned to the file system
            spill_files files{disk, directory.path};
            std::vector<kept_bytes> all;
            for (int i = 0; i != 7; ++i)
                if (!keep(all.emplace_back(files, last.size()), last)) return 11;
            for (const std::size_t i : {0u, 2u, 4u, 6u}) all[i].drop();
            kept_bytes large{files, data.size()};
            if (!keep(large, data) || read_back(large) != data) return 12;
            if (files.stats().stale_bytes > 1_MiB || !files.valid()) return 13;
        }
        spill_files files{disk, {directory.path, "/tmp"}};
        std::vector<kept_bytes> all;
        for (int i = 0; i != 10; ++i)
            if (!keep(all.emplace_back(files, data.size()), data)) return 8;
        for (const kept_bytes& k : all)
            if (read_back(k) != data) return 9;
        return files.stats().failures == 1 && files.valid() ? 0 : 10; // then the other one is first
    });
    if (code == cannot) SKIP("no file system may be mounted here");
    CHECK(code == 0);
}

#if !ALLOT_ASAN && !ALLOT_TSAN // which need descriptors and memory
TEST_CASE("a process without a descriptor left gets no files, and says so", "[process][spill]") {
    const int code = in_child([] {
        const rlimit none{3, 3};
        account disk{name{"disk"}};
        ::setrlimit(RLIMIT_NOFILE, &none);
        const spill_files files{disk, "/tmp", std::nothrow};
        return files.status().error == EMFILE ? 0 : 1;
    });
    CHECK(code == 0);
}

TEST_CASE("to write and to read allocates nothing, and asks the system for no memory", "[process][spill]") {
    const int code = in_child([] {
        account disk{name{"disk"}, allot::limit{40_MiB}};
        spill_files files{disk, {"/tmp", "/var/tmp"}};
        std::vector<kept_bytes> all;
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i != 600; ++i) {
            sizes.push_back(i % 70 == 0 ? 4_MiB + i : 1000 + 900 * i);
            all.emplace_back(files, sizes.back());
        }
        const auto data = some_bytes(5_MiB);
        std::vector<std::byte> to(5_MiB);
        if (!refuse_calls({SYS_mmap, SYS_brk, SYS_mremap})) return cannot;
        news = 0;
        const std::size_t allocated = ::mallinfo2().uordblks;
        unsigned refused = 0;
        for (std::size_t round = 0; round != 4; ++round) {
            for (std::size_t i = 0; i != all.size(); ++i) {
                if (all[i].is_written()) continue;
                const std::span<const std::byte> some = std::span{data}.first(sizes[i]);
                source_in_pieces pieces(some);
                const home_status s = i % 2 == 0 ? keep(all[i], some) : all[i].write(pieces);
                if (s.how == home_status::outcome::refused) ++refused;
                else if (!s) return 1;
            }
            for (std::size_t i = 0; i != all.size(); ++i) {
                if (!all[i].is_written()) continue;
                allot::byte_sink sink{std::span{to}.first(sizes[i])};
                if (!all[i].read(sink)) return 2;
                if (i % 3 == round % 3) all[i].drop();
            }
        }
        if (refused == 0) return 3;
        return news == 0 && ::mallinfo2().uordblks == allocated ? 0 : 4;
    });
    if (code == cannot) SKIP("no filter of system calls here");
    CHECK(code == 0);
}
#endif
