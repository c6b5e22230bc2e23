// What happens in other processes: fork, little address space, very many managers.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace allot::literals;

namespace {

// Runs `body` in a child; its return value is the child's exit code, 99 when it died.
template <class Body> int in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

std::size_t status_bytes(const char* field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0) return std::stoul(line.substr(std::strlen(field))) * 1024;
    return 0;
}

} // namespace

TEST_CASE("a child of fork has its own copy of a manager's rows", "[process]") {
    allot::row_manager<sets::bitmap> rows{allot::limit{64_MiB}};
    std::vector<char*> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(static_cast<char*>(rows.allocate(100)));
        std::strcpy(all.back(), "parent");
    }
    const std::size_t used = rows.used();
    const int code = in_child([&] {
        for (char* p : all)
            if (std::strcmp(p, "parent") != 0) return 1;
        std::strcpy(all[0], "child");
        for (int i = 500; i < 1000; ++i) rows.release(all[static_cast<std::size_t>(i)]);
        for (int i = 0; i < 100000; ++i) std::strcpy(static_cast<char*>(rows.allocate(100)), "child");
        if (rows.live_rows() != 100500) return 2;
        return rows.valid() ? 0 : 3;
    });
    CHECK(code == 0);
    CHECK(rows.live_rows() == 1000);
    CHECK(rows.used() == used);
    for (char* p : all) CHECK(std::strcmp(p, "parent") == 0);
    for (char* p : all) rows.release(p);
    CHECK(rows.live_rows() == 0);
}

#if !ALLOT_ASAN && !ALLOT_TSAN
TEST_CASE("where address space is short an arena reserves less, and works", "[process]") {
    const int code = in_child([] {
        const std::size_t now = status_bytes("VmSize:");
        const rlimit few{now + 200_MiB, now + 200_MiB};
        ::setrlimit(RLIMIT_AS, &few);
        allot::row_manager<sets::quiet> rows; // would reserve as much as the machine has
        if (rows.arena().stats().reserved > 200_MiB) return 1;
        std::size_t bytes = 0;
        std::vector<void*> all;
        while (void* const p = rows.try_allocate(100000)) {
            std::memset(p, 1, 100000);
            all.push_back(p);
            bytes += 100000;
        }
        for (void* p : all) rows.release(p);
        return bytes > 30_MiB ? 0 : 2;
    });
    CHECK(code == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("where there is no address space at all it is reported", "[process]") {
    const int code = in_child([] {
        const std::size_t now = status_bytes("VmSize:");
        const rlimit none{now, now};
        ::setrlimit(RLIMIT_AS, &none);
        try {
            allot::row_manager<sets::plain> rows{allot::limit{64_MiB}};
        } catch (const allot::out_of_memory& error) {
            return std::strlen(error.report()) > 10 ? 0 : 1;
        }
        return 2;
    });
    CHECK(code == 0);
}
#endif
#endif

TEST_CASE("a thousand managers at once stay small", "[process]") {
    const int code = in_child([] {
        const std::size_t before = status_bytes("VmRSS:");
        std::vector<std::unique_ptr<allot::row_manager<sets::bitmap>>> all;
        std::vector<void*> rows;
        for (int i = 0; i < 1000; ++i) {
            all.push_back(std::make_unique<allot::row_manager<sets::bitmap>>(allot::limit{1_MiB}));
            rows.push_back(all.back()->allocate(64));
        }
        const std::size_t each = (status_bytes("VmRSS:") - before) / 1000;
        for (int i = 0; i < 1000; ++i) all[static_cast<std::size_t>(i)]->release(rows[static_cast<std::size_t>(i)]);
        all.clear();
        return each < (ALLOT_ASAN || ALLOT_TSAN ? 200_KiB : 40_KiB) ? 0 : 1;
    });
    CHECK(code == 0);
}

TEST_CASE("ten thousand managers come and go", "[process]") {
    for (int i = 0; i < 10000; ++i) {
        allot::row_manager<sets::plain> rows{allot::limit{1_MiB}};
        rows.release(rows.allocate(10));
    }
    SUCCEED();
}
