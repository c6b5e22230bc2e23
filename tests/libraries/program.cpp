// A program that loads libraries which use heap::per_thread, and unloads them while threads that ran them live on.
//
//   program LIBRARY...
//
// Whether rows can be released by their address alone in another library than the one that allocated them depends on
// the linker (docs/rules.md): told by TABLE_IS_SHARED. Through their manager they always can.
#include "library.hpp"

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

namespace {

int failures = 0;
void check(bool good, const char* what, const std::string& about) {
    if (good) return;
    ++failures;
    std::printf("failed: %s (%s)\n", what, about.c_str());
}

class library {
  public:
    explicit library(const std::string& path) : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) {
            std::printf("%s\n", dlerror());
            std::exit(2);
        }
        api_ = reinterpret_cast<library_entry*>(dlsym(handle_, "allot_test_library"))();
    }
    const library_api* operator->() const { return api_; }
    void close() { check(dlclose(handle_) == 0, "dlclose", path_); }

  private:
    std::string path_;
    void* handle_;
    const library_api* api_;
};

template <class Body> void on_thread(Body body) { std::thread(body).join(); }

void rows_cross(const std::string& one, const std::string& other) {
    const std::string about = one + ", " + other;
    library a(one), b(other);
    a->start();
    if (&one != &other) b->start();
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 200; ++i) { // past the point where threads get caches
            auto& rows = *a->common();
            rows.release(a->take_common(40)); // the program's code, the library's manager
            b->give_to_common(a->take_common(50), rows);
            b->give_to_common(rows.allocate(60), rows);
            a->give_to_common(rows.allocate(70), rows);
            a->give(a->take_own(80));
            a->give(a->take_common(90));
#if TABLE_IS_SHARED
            allot::release(a->take_common(40));
            allot::release(a->take_own(50));
            b->give(a->take_common(60));
            b->give(a->take_own(70));
            a->give(rows.allocate(80));
            rows.make<int>(1).reset();
#endif
        }
        on_thread([&] { check(a->churn(500) && b->churn(500), "rows on a thread", about); });
    }
    check(a->end(), "all rows of the first library were released", about);
    if (&one != &other) check(b->end(), "all rows of the second library were released", about);
    b.close();
    a.close();
}

// Threads that used a library end before it is closed, or after; who closes it did not use it, or did.
void closed_under_threads(const std::string& path, bool by_another) {
    library lib(path);
    lib->start();
    allot::row_manager<common_set> mine(allot::limit{8 << 20});
    constexpr int count = 3;
    std::barrier used(count + 1), closed(count + 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
        threads.emplace_back([&, t] {
            if (t != 1) check(lib->churn(1000), "rows on a thread", path);
            if (t != 0) { // the program's code, the library's manager
                auto& rows = *lib->common();
                for (int i = 0; i < 100; ++i) rows.release(rows.allocate(100));
            }
            used.arrive_and_wait();
            closed.arrive_and_wait();
            for (int i = 0; i < 100; ++i) mine.release(mine.allocate(100));
        });
    used.arrive_and_wait();
    const auto end = [&] {
        check(lib->end(), "all rows of the library were released", path);
        lib.close();
    };
    if (by_another) on_thread(end);
    else end();
    closed.arrive_and_wait();
    for (auto& t : threads) t.join();
    check(mine.live_rows() == 0 && mine.valid(), "the program's own manager", path);
}

std::size_t resident() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6)) * 1024;
    return 0;
}

bool is_mapped(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(path.substr(path.rfind('/') + 1))) return true;
    return false;
}

} // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> paths(arguments + 1, arguments + count);
    for (const std::string& one : paths)
        for (const std::string& other : paths) rows_cross(one, other);
    for (const std::string& path : paths)
        for (const bool by_another : {false, true}) closed_under_threads(path, by_another);
    const std::size_t before = resident();
    for (int i = 0; i < 40; ++i)
        for (const std::string& path : paths) closed_under_threads(path, i % 2 == 0);
    if (!ALLOT_ASAN && !ALLOT_TSAN)
        check(resident() < before + (std::size_t{4} << 20), "resident memory does not grow",
              std::to_string(resident() - before));
    for (const std::string& path : paths) check(is_mapped(path), "a library that threads used stays mapped", path);
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
