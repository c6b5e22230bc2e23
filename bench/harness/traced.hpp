// Counts what a program executes by single-stepping it: instructions and locked read-modify-writes (the lock prefix, or
// an exchange with memory), in all threads and libraries. The counts are exact where times are noisy, and work for
// peers that valgrind cannot run. A repeated string instruction counts each repetition.
//
// The child runs at full speed outside the marks (timed.hpp). Between them an instruction takes microseconds and
// threads interleave at random, so the count of a contended path holds for that interleaving. x86-64 Linux only:
// elsewhere nothing is counted.
#pragma once

#include <harness/cores.hpp>
#include <harness/timed.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/ptrace.h>
#include <sys/user.h>
#define BENCH_TRACES 1
#else
#define BENCH_TRACES 0
#endif

namespace bench {
namespace detail {

#if BENCH_TRACES
class tracer {
  public:
    explicit tracer(pid_t child) noexcept : child_(child) {}

    // Until the child ends; false when it failed.
    bool follow() {
        int status = 0;
        if (waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) return false;
        ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
        resume(child_, 0);
        for (;;) {
            const pid_t thread = waitpid(-1, &status, __WALL);
            if (thread < 0) return false;
            if (WIFSTOPPED(status)) stopped(thread, status);
            else if (thread == child_) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
    }
    sample per_operation(std::uint64_t operations) const noexcept {
        return {static_cast<double>(instructions_) / static_cast<double>(operations),
                static_cast<double>(locked_) / static_cast<double>(operations)};
    }
    // Of single calls: mean, p99.9 and most, of allocate and of release.
    sample of_calls() {
        sample all{};
        for (std::size_t i = 0; i < 2; ++i) {
            auto& n = calls_[i];
            if (n.empty()) continue;
            std::sort(n.begin(), n.end());
            double sum = 0;
            for (const auto one : n) sum += one;
            all[3 * i] = sum / static_cast<double>(n.size());
            all[3 * i + 1] = n[(n.size() - 1) * 999 / 1000];
            all[3 * i + 2] = n.back();
        }
        return all;
    }

  private:
    enum class step : char { plain, locked, mark };
    struct thread_state {
        bool known = false, stepping = false;
        step next = step::plain;
        part of{};
        std::uint32_t instructions = 0, locked = 0;
    };

    void stopped(pid_t thread, int status) {
        thread_state& t = threads_[thread];
        const int signal = WSTOPSIG(status);
        const bool event = status >> 16 != 0, first_stop = !t.known && thread != child_ && signal == SIGSTOP;
        t.known = true;
        if (event || first_stop) return resume(thread, 0);
        if (signal != SIGTRAP) return resume(thread, signal);
        if (!t.stepping) {
            t = {.known = true,
                 .stepping = true,
                 .of = static_cast<part>(peek(thread, offsetof(user_regs_struct, rax)))};
        } else if (t.next == step::mark) {
            t.stepping = false;
            if (t.of != part::operations) calls_[t.of == part::release].push_back(t.instructions);
            instructions_ += t.instructions;
            locked_ += t.locked;
        } else {
            ++t.instructions;
            t.locked += t.next == step::locked;
        }
        if (t.stepping) t.next = kind_at(thread, peek(thread, offsetof(user_regs_struct, rip)));
        resume(thread, 0);
    }
    void resume(pid_t thread, int signal) {
        ptrace(threads_[thread].stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, thread, nullptr,
               static_cast<std::intptr_t>(signal));
    }
    static std::uint64_t peek(pid_t thread, std::size_t of_user) noexcept {
        return static_cast<std::uint64_t>(ptrace(PTRACE_PEEKUSER, thread, of_user, nullptr));
    }
    step kind_at(pid_t thread, std::uint64_t address) {
        const auto [at, is_new] = known_code_.try_emplace(address, step::plain);
        if (is_new) at->second = decode(static_cast<std::uint64_t>(ptrace(PTRACE_PEEKTEXT, thread, address, nullptr)));
        return at->second;
    }
    static step decode(std::uint64_t bytes) noexcept {
        for (int i = 0; i < 8; ++i, bytes >>= 8) {
            const auto byte = static_cast<unsigned char>(bytes);
            switch (byte) {
            case 0xCC: return step::mark;
            case 0xF0: return step::locked;
            case 0x26:
            case 0x2E:
            case 0x36:
            case 0x3E:
            case 0x64:
            case 0x65:
            case 0x66:
            case 0x67:
            case 0xF2:
            case 0xF3: continue; // prefixes
            case 0x86:
            case 0x87: return (bytes >> 8 & 0xC0) != 0xC0 ? step::locked : step::plain; // xchg
            default:
                if ((byte & 0xF0) != 0x40) return step::plain; // else a REX prefix
            }
        }
        return step::plain;
    }

    pid_t child_;
    std::map<pid_t, thread_state> threads_;
    std::unordered_map<std::uint64_t, step> known_code_;
    std::vector<std::uint32_t> calls_[2];
    std::uint64_t instructions_ = 0, locked_ = 0;
};
#endif

} // namespace detail

// Whether a process may trace its child here.
inline bool can_count() {
#if BENCH_TRACES
    const pid_t child = fork();
    if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
#else
    return false;
#endif
}

// Runs `measure()` in a child process, its timed parts step by step. `calls`: the marks are around single calls.
template <class Measure> std::optional<sample> counted(unsigned seconds, bool calls, Measure&& measure) {
#if BENCH_TRACES
    void* const shared =
        mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return {};
    auto* const operations = static_cast<std::uint64_t*>(shared);
    cpu_set_t before;
    const bool known = sched_getaffinity(0, sizeof before, &before) == 0;
    pin(0, 1); // a switch to the tracer and back is several times as quick on one core
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
        raise(SIGSTOP);
        alarm(seconds);
        traced_operations = operations;
        measure();
        _exit(0);
    }
    std::optional<sample> answer;
    if (detail::tracer follower(child); child > 0 && follower.follow() && *operations != 0)
        answer = calls ? follower.of_calls() : follower.per_operation(*operations);
    if (known) sched_setaffinity(0, sizeof before, &before);
    munmap(shared, sizeof *operations);
    return answer;
#else
    static_cast<void>(seconds), static_cast<void>(calls), static_cast<void>(measure);
    return {};
#endif
}

} // namespace bench
