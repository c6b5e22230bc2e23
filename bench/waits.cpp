// allot_waits: what requests that wait cost others: rows, credit, buffers and charges beside none, a patient one, one
// that is not, and 400; what a refusal costs beside reclaimers that cannot help; what idle memory costs that one
// manager hands over to another; and how soon a woken thread has the tree's lock. Prints Markdown for
// docs/bench/waits.md.
//
//     allot_waits [--smoke]        --smoke: a short run, only to see that it works
//
// The subjects of a table take turns, round by round. A result is the median of 15 rounds of thread CPU time; a ratio
// is the median of the ratios of rounds, to the first subject.
#include <harness/turns.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using bench::timed;

struct rows_set : allot::policies<allot::ledger::tree, allot::oom::null> {};

// Threads that wait below an account of 1 GiB, for 1 GiB each; patient or not.
struct engine {
    account root{name{"engine"}, limit{1_GiB}};
    account held{root, name{"held"}}, leaf{root, name{"leaf"}, allot::credit_step{1_MiB}}, exact{root, name{"exact"}};
    allot::row_manager<rows_set> rows{root, name{"rows"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::cancellation stop;
    std::vector<std::thread> waiting;

    engine(unsigned waiters, bool is_patient) {
        static_cast<void>(held.try_charge(1_MiB));
        for (unsigned n = 0; n != waiters; ++n)
            waiting.emplace_back([this, is_patient] {
                const allot::wait_limit most{allot::forever, stop};
                static_cast<void>(held.charge_for(1_GiB, is_patient ? allot::patient(most) : most));
            });
        while (root.stats().waiting != waiters) std::this_thread::yield();
        for (int i = 0; i != 64; ++i) rows.release(rows.allocate(64)); // its page is there
    }
    ~engine() {
        stop.cancel();
        for (std::thread& t : waiting) t.join();
        held.refund(1_MiB);
    }
};
void row(engine& e) {
    void* const r = e.rows.allocate(64);
    bench::escape(r);
    e.rows.release(r);
}
void credit(engine& e) { static_cast<void>(e.leaf.try_charge(4096)), bench::escape(&e), e.leaf.refund(4096); }
void buffer(engine& e) {
    const allot::buffer b = e.memory.allocate(e.leaf, 1024);
    bench::escape(&b);
}
void charge(engine& e) { static_cast<void>(e.exact.try_charge(4096)), e.exact.refund(4096); }

struct no_help final : allot::reclaimer {
    no_help() : reclaimer("cannot help") {}
    bool helps(const allot::shortage&) const noexcept override { return false; }
    bool reclaim(const allot::shortage&) noexcept override { return false; }
};
struct in_vain final : allot::reclaimer {
    in_vain() : reclaimer("has nothing") {}
    bool reclaim(const allot::shortage&) noexcept override { return false; }
};
template <class Reclaimer> double refusals(std::size_t k, std::size_t reclaimers) {
    account root{name{"root"}, limit{100}};
    std::vector<std::unique_ptr<Reclaimer>> all;
    for (std::size_t n = 0; n != reclaimers; ++n) {
        all.push_back(std::make_unique<Reclaimer>());
        root.add(*all.back());
    }
    static_cast<void>(root.try_charge(100));
    const double took = timed(k, [&](std::size_t) { static_cast<void>(root.try_charge(1)); });
    for (auto& r : all) root.remove(*r);
    root.refund(100);
    return took;
}

// Rows of so many bytes, in all k OS pages, which another manager had before. The limit has room for both, or for one.
double hand_over(std::size_t k, std::size_t row_bytes, bool room_for_both) {
    const std::size_t bytes = k * 4096;
    account root{name{"root"}, limit{bytes / 4 * (room_for_both ? 10 : 5)}};
    allot::row_manager<rows_set> had{root, name{"had"}}, takes{root, name{"takes"}};
    std::vector<void*> rows(bytes / (row_bytes + 16));
    const auto fill = [&](allot::row_manager<rows_set>& from) {
        for (void*& r : rows) {
            r = from.allocate(row_bytes);
            for (std::size_t at = 0; at < row_bytes; at += 4096) static_cast<char*>(r)[at] = 1;
        }
    };
    const auto empty = [&](allot::row_manager<rows_set>& from) {
        for (void* const r : rows) from.release(r);
    };
    fill(had);
    empty(had);
    const double took = timed(1, [&](std::size_t) { fill(takes); });
    empty(takes);
    return took;
}

// By how much a request is late, in ms: its deadline, or a cancellation from another thread. The most of some.
double late_by(bool cancelled, int times) {
    account root{name{"root"}, limit{100}};
    static_cast<void>(root.try_charge(100));
    double most = 0;
    for (int n = 0; n != times; ++n) {
        using clock = std::chrono::steady_clock;
        allot::cancellation stop;
        clock::time_point due = clock::now() + std::chrono::milliseconds(5);
        std::thread cancels;
        if (cancelled)
            cancels = std::thread{[&] {
                std::this_thread::sleep_until(due);
                due = clock::now();
                stop.cancel();
            }};
        static_cast<void>(root.charge_for(10, {cancelled ? 10_s : 5_ms, stop}));
        const clock::time_point now = clock::now();
        if (cancelled) cancels.join();
        most = std::max(most, std::chrono::duration<double, std::milli>(now - due).count());
    }
    root.refund(100);
    return most;
}

// A thread that is woken charges, beside 4 threads that charge and refund without a pause: how long that takes, in ms
// from the signal. Sorted.
std::vector<double> charges_of_a_woken_thread(int times) {
    using clock = std::chrono::steady_clock;
    account root{name{"root"}, limit{1_GiB}};
    std::vector<std::jthread> others;
    for (int i = 0; i != 4; ++i)
        others.emplace_back([&](const std::stop_token& stop) {
            account mine{root, name{"mine"}}, leaf{mine, name{"leaf"}}; // with a child it has no credit
            while (!stop.stop_requested()) static_cast<void>(mine.try_charge(100)), mine.refund(100);
        });
    std::binary_semaphore sleeps{0}, done{0};
    clock::time_point signal;
    std::vector<double> took;
    std::jthread woken{[&] {
        account mine{root, name{"mine"}}, leaf{mine, name{"leaf"}};
        for (int n = 0; n != times; ++n) {
            sleeps.acquire();
            static_cast<void>(mine.try_charge(100));
            took.push_back(std::chrono::duration<double, std::milli>(clock::now() - signal).count());
            mine.refund(100);
            done.release();
        }
    }};
    for (int n = 0; n != times; ++n) {
        std::this_thread::sleep_for(std::chrono::microseconds(100)); // so that it sleeps
        signal = clock::now();
        sleeps.release();
        done.acquire();
    }
    woken.join();
    std::sort(took.begin(), took.end());
    return took;
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const std::size_t n = smoke ? 2'000 : 400'000;
    const unsigned many = smoke ? 40 : 400;
    const int rounds = smoke ? 3 : 15;
    engine alone{0, false}, patient{1, true}, hurried{1, false}, crowd{many, false}, patient_crowd{many, true};

    const auto compare = [&](const char* what, void (*pair)(engine&), engine& beside, engine& other, const char* goal) {
        const auto in = [&](engine& e) {
            return [&e, pair](std::size_t k) { return timed(k, [&](std::size_t) { pair(e); }); };
        };
        const std::vector<bench::subject> all{{std::string(what) + ", nobody waits", "", 1, in(alone)},
                                              {"beside patient waiters", goal, 1, in(beside)},
                                              {"beside others", "", 1, in(other)}};
        bench::write_turns(all, bench::take_turns(all, n, rounds), "nobody");
    };
    compare("a row of 64 bytes, allocated and released", row, patient, hurried, "<= 1.1");
    compare("4 KiB within a leaf's credit, charged and refunded", credit, patient, hurried, "<= 1.1");
    compare("a buffer of 1 KiB, allocated and released", buffer, patient, hurried, "<= 1.1");
    std::printf("400 waiters:\n\n");
    compare("4 KiB without credit, charged and refunded", charge, patient_crowd, crowd, "<= 1.3");

    const auto refused = [](std::size_t of, auto run) { return [=](std::size_t k) { return run(k, of); }; };
    const std::vector<bench::subject> all{
        {"a refused charge, no reclaimer", "", 1, refused(0, refusals<no_help>)},
        {"1,000 reclaimers whose helps() says no", "<= 20 us", 1, refused(1000, refusals<no_help>)},
        {"1,000 that are called, and have nothing", "<= 20 us", 1, refused(1000, refusals<in_vain>)}};
    bench::write_turns(all, bench::take_turns(all, smoke ? 20 : 2'000, rounds), "none");

    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{1'000'000}})
        for (const std::size_t mib : {std::size_t{32}, std::size_t{256}, std::size_t{1024}}) {
            if (smoke && mib != 32) continue;
            const std::size_t pages = (mib << 20) / 4096;
            std::printf("Rows of %zu bytes, %zu MiB, an OS page:\n\n", bytes, mib);
            const std::vector<bench::subject> both{
                {"of memory that nobody had", "", 1, [=](std::size_t k) { return hand_over(k, bytes, true); }},
                {"that another manager hands over", "<= 200 ns more", 1,
                 [=](std::size_t k) { return hand_over(k, bytes, false); }}};
            bench::write_turns(both, bench::take_turns(both, pages, smoke ? 1 : 5), "fresh");
        }

    const int times = smoke ? 3 : 200;
    std::printf(
        "The latest end of %d waits, in ms behind their deadline: %.2f; behind their cancellation: %.2f (goal: 5)\n",
        times, late_by(false, times), late_by(true, times));
    const std::vector<double> took = charges_of_a_woken_thread(smoke ? 20 : 100'000);
    const auto in_time = std::upper_bound(took.begin(), took.end(), 5.0) - took.begin();
    std::printf(
        "A thread that is woken beside 4 that charge has charged within 5 ms in %.3f %% of %zu times (goal: 99.9); the "
        "median is %.3f ms, the latest %.1f\n",
        100.0 * static_cast<double>(in_time) / static_cast<double>(took.size()), took.size(), took[took.size() / 2],
        took.back());
    return alone.root.verify() && patient.root.verify() ? 0 : 1;
}
