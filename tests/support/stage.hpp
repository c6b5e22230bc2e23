// Runs the roles of a play on threads, one at a time, in an order and a time that follow from a seed.
//
// Another role may go on at each point(), and where one sleeps or ends. Time passes at each point; where all sleep, it
// goes to the first end of a sleep. Requires ALLOT_FAULTS, one stage at a time, and that a role holds no lock at a
// point. Cost: two futex calls where another role goes on.
#pragma once

#include <soak/random.hpp>

#include <allot/sys/fault.hpp>
#include <allot/sys/lock_rank.hpp>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#if !ALLOT_FAULTS
#error "a stage needs ALLOT_FAULTS"
#endif

namespace support {

class stage final : allot::detail::sys::fault::stage {
  public:
    static constexpr std::uint64_t never = UINT64_MAX;

    /// `stuck`: called where all roles sleep without end; returns whether it woke one. `step`: called at each point.
    stage(std::uint64_t seed, std::function<bool()> stuck, std::function<void()> step)
        : seed_(seed), dice_(seed), stuck_(std::move(stuck)), step_(std::move(step)) {}

    /// A system call is a point, too, and so is a yield: steps of the library that may take long.
    /// None where a lock is held. Checked builds only.
    void hand_over_at_system_calls() noexcept { at_system_calls_ = true; }
    enum class rest : std::uint8_t { begins, ends_signalled, ends_late };
    /// Called where a role begins to sleep, and where it wakes: by its number, on its thread.
    void watch_sleep(std::function<void(std::size_t, rest)> seen) { seen_ = std::move(seen); }
    /// Time passes also where roles take turns, or read the clock, for long without a point: so a wait that does not
    /// sleep ends at its deadline. Calls this where that begins.
    void watch_clock(std::function<void()> stands_still) { stands_still_ = std::move(stands_still); }
    void add(std::function<void()> plays) { roles_.push_back({std::move(plays)}); }
    /// Returns when all roles have ended. A play that stands still or goes round says so with its seed, and ends the
    /// program.
    void play() {
        allot::detail::sys::fault::director = this;
        playing() = this;
        std::signal(SIGALRM, [](int) { playing()->tell_no_end(); });
        ::alarm(most_seconds);
        while (crew().size() < roles_.size()) crew().push_back(std::make_unique<hand>(stack_of(crew().size())));
        for (std::size_t i = 0; i != roles_.size(); ++i) crew()[i]->serves = this, crew()[i]->part = i;
        over_.store(0, std::memory_order_relaxed);
        let_go_on(choose());
        over_.wait(0);
        ::alarm(0);
        allot::detail::sys::fault::director = nullptr;
    }

    /// The next play has new threads, on the same stacks. Others remember addresses of objects that they used, which
    /// later ones may get again (thread_cache_registry.hpp); and a thread's number is in its stack. So two plays that
    /// differ in nothing else are equal after this.
    static void dismiss() { crew().clear(); }

    // ---- of the role that runs ----------------------------------------------------------------------------------

    /// Another role may go on.
    void point() {
        if (step_) step_();
        looks_ = 0;
        time_ += 100 + dice_.below(20'000);
        hand_over();
    }
    std::uint64_t now() noexcept override { return look(), time_; }
    void sleep(const void* at, std::uint64_t end) noexcept override {
        role& r = roles_[now_];
        r.at = at;
        r.end = end;
        r.signalled = false;
        const std::size_t me = now_;
        if (seen_) seen_(me, rest::begins);
        hand_over();
        if (seen_) seen_(me, roles_[me].signalled ? rest::ends_signalled : rest::ends_late);
    }
    void at_system_call() noexcept override {
#if ALLOT_CHECKED // which counts locks: with one of the role's held, others could wait for ever
        if (at_system_calls_ && allot::detail::held_locks::of_this_thread().none()) point();
#endif
    }
    void wake(const void* at) noexcept override {
        for (role& r : roles_)
            if (r.at == at) r.at = nullptr, r.signalled = true;
    }
    /// The number of the role that runs.
    std::size_t role_now() const noexcept { return now_; }
    /// Sleeps until the condition holds; who changes it calls wake(at).
    template <class Holds> void wait_until(const void* at, Holds holds) {
        while (!holds()) sleep(at, never);
    }

    std::uint64_t steps() const noexcept { return steps_; }
    /// The order in which the roles went on: equal for equal runs.
    std::uint64_t trace() const noexcept { return trace_; }
    soak::dice& dice() noexcept { return dice_; }

  private:
    struct role {
        std::function<void()> plays;
        const void* at = nullptr; // it sleeps there
        std::uint64_t end = 0;
        bool over = false, signalled = false;
    };
    // A thread that plays roles of one stage after the other.
    struct hand {
        std::atomic<int> goes{0};
        stage* serves = nullptr;
        std::size_t part = 0;
        bool leaves = false;
        pthread_t thread{};

        explicit hand(void* stack) {
            pthread_attr_t on;
            pthread_attr_init(&on);
            pthread_attr_setstack(&on, stack, stack_bytes);
            const auto run = [](void* self) -> void* { return static_cast<hand*>(self)->work(), nullptr; };
            if (pthread_create(&thread, &on, run, this) != 0)
                std::fputs("no thread for a role\n", stderr), std::_Exit(1);
            pthread_attr_destroy(&on);
        }
        hand(const hand&) = delete;
        ~hand() {
            leaves = true;
            go();
            pthread_join(thread, nullptr);
        }
        void go() noexcept {
            goes.store(1, std::memory_order_release);
            goes.notify_one();
        }
        void wait() noexcept {
            goes.wait(0, std::memory_order_acquire);
            goes.store(0, std::memory_order_relaxed);
        }
        void work() {
            for (wait(); !leaves; wait()) {
                serves->roles_[part].plays();
                serves->end_role(part);
            }
        }
    };
    // At the same address in each process, if it is free there: which shared cache a thread uses follows from it.
    static constexpr std::size_t stack_bytes = 1 << 20;
    static void* stack_of(std::size_t n) {
        static std::vector<void*> all;
        while (all.size() <= n) {
            const auto at = (std::uintptr_t{0x2000} << 32) + 2 * stack_bytes * all.size();
            constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
            void* p = ::mmap(reinterpret_cast<void*>(at), stack_bytes, PROT_READ | PROT_WRITE,
                             flags | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == MAP_FAILED) p = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
            if (p == MAP_FAILED) std::fputs("no stack for a role\n", stderr), std::_Exit(1);
            all.push_back(p);
        }
        return all[n];
    }
    static std::vector<std::unique_ptr<hand>>& crew() {
        static std::vector<std::unique_ptr<hand>> all;
        return all;
    }
    static constexpr std::size_t nobody = SIZE_MAX;
    static constexpr unsigned most_seconds = 200; // all plays of model/ together take some 70; ctest's limit is 300

    static stage*& playing() {
        static stage* one = nullptr;
        return one;
    }
    [[noreturn]] void tell_no_end() const {
        std::fprintf(stderr, "no end after %u s: seed %llu, %llu steps, role %zu of %zu runs\n", most_seconds,
                     static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(steps_), now_,
                     roles_.size());
        std::abort();
    }

    void look() {
        constexpr std::uint64_t most = 1'000, ms = 1'000'000;
        if (!stands_still_ || ++looks_ < most) return;
        if (looks_ == most) stands_still_();
        time_ += ms;
    }
    std::size_t choose() {
        for (look();;) {
            std::size_t found = nobody, able = 0;
            std::uint64_t first_end = never;
            bool any = false;
            for (std::size_t i = 0; i != roles_.size(); ++i) {
                role& r = roles_[i];
                if (r.over) continue;
                any = true;
                if (r.at == nullptr || r.end <= time_) {
                    if (dice_.below(++able) == 0) found = i;
                } else if (r.end < first_end) {
                    first_end = r.end;
                }
            }
            if (found != nobody || !any) {
                ++steps_;
                trace_ = soak::mix(trace_ ^ found);
                return now_ = found;
            }
            if (first_end != never) time_ = first_end, looks_ = 0;
            else if (!stuck_()) std::fputs("all roles sleep, and none can be woken\n", stderr), std::_Exit(1);
        }
    }
    void let_go_on(std::size_t next) {
        if (next != nobody) return roles_[next].at = nullptr, crew()[next]->go();
        over_.store(1, std::memory_order_release);
        over_.notify_one();
    }
    void hand_over() {
        const std::size_t me = now_, next = choose();
        if (next == me) return void(roles_[me].at = nullptr);
        hand& mine = *crew()[me];
        let_go_on(next);
        mine.wait();
    }
    void end_role(std::size_t me) {
        roles_[me].over = true;
        let_go_on(choose());
    }

    std::uint64_t seed_;
    soak::dice dice_;
    std::function<bool()> stuck_;
    std::function<void()> step_;
    std::function<void(std::size_t, rest)> seen_;
    std::function<void()> stands_still_;
    std::vector<role> roles_;
    bool at_system_calls_ = false;
    std::size_t now_ = nobody;
    std::uint64_t time_ = 1'000'000, steps_ = 0, trace_ = 0, looks_ = 0;
    std::atomic<int> over_{0};
};

} // namespace support
