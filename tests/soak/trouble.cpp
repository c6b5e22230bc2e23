#include <soak/trouble.hpp>

#include <allot/config.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace soak {
namespace {

std::uint64_t seed_now = 0;
void (*describe_set)(const char*) = nullptr;
std::atomic<bool> reported{false};

// Formats on the stack of who is in trouble; several threads may be, the first one tells.
void report(const char* what, const void* row) {
    if (reported.exchange(true)) return;
    char text[512];
    const int n =
        std::snprintf(text, sizeof text, "soak: FAILED: %s (row %p)\nsoak: thread %d, at %s, set %s\nsoak: seed %llu\n",
                      what, row, here.thread, here.step, here.set, static_cast<unsigned long long>(seed_now));
    if (n > 0) static_cast<void>(!::write(2, text, static_cast<std::size_t>(n)));
}
void crashed(int signal) {
    report(signal == SIGABRT ? "aborted" : "crashed", nullptr);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

} // namespace

void begin_run(std::uint64_t seed) {
    seed_now = seed;
    std::signal(SIGABRT, crashed);
    if constexpr (!ALLOT_ASAN && !ALLOT_TSAN) // those tell more themselves
        for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, crashed);
}
void tell_set_by(void (*describe)(const char* set)) { describe_set = describe; }

void fail(const char* what, const void* row) {
    report(what, row);
    if (describe_set != nullptr) describe_set(here.set);
    std::fflush(stderr);
    std::_Exit(1);
}

void expect_same(std::size_t is, std::size_t must_be, const char* what) {
    if (is == must_be) return;
    std::fprintf(stderr, "soak: %s: is %zu, must be %zu\n", what, is, must_be);
    fail(what);
}

} // namespace soak
