// oom/arbiter.hpp, the code itself: threads of tasks whose requests wait at one account, are rolled back, and split.
//
// Each works on an input in parts. A part needs its bytes in two requests: it has the first half while it waits for the
// second.
//
// Held: used <= limit; a wake-up that is lost is a thread that runs for ever; each thread finishes its whole input, if
// its task is not removed; no request is refused; an input is split only where it does not fit alone; when all is done,
// nothing is in use and no thread is left.
#include "relacy_code.hpp"

#include <allot/account/account.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>

namespace {

namespace oom = allot::oom;
using allot::charge_status;
using allot::verdict;

struct engine {
    oom::arbiter tasks;
    allot::account memory;
    oom::resource permits{tasks};
    std::optional<oom::task> queries[4];
    std::atomic<bool> taken{false}, done[4];

    explicit engine(std::size_t most) : memory{allot::name{"engine"}, allot::limit{most}, tasks} {
        for (auto& query : queries) query.emplace(tasks);
    }
};

void rest(unsigned steps) {
    for (; steps != 0; --steps) rl::yield(1, $);
}
// At any step of the others.
void late() { rest(rl::rand(800)); }
void wait_for(const std::atomic<bool>& what) {
    while (!what.load(std::memory_order_acquire)) rl::yield(1, $);
}

struct working {
    std::optional<engine> all;
    std::size_t most = 0;

    void start(std::size_t limit) {
        most = limit;
        all.emplace(limit);
    }
    void look() { RL_ASSERT(all->memory.used() <= most); }
    charge_status charge(std::size_t bytes) {
        const charge_status s = all->memory.charge_for(bytes, allot::forever);
        look();
        return s;
    }
    void refund(std::size_t bytes) {
        all->memory.refund(bytes);
        look();
    }
    charge_status attempt(std::size_t bytes) {
        charge_status s = charge(bytes / 2);
        if (!s.charged()) return s;
        s = charge(bytes - bytes / 2);
        refund(s.charged() ? bytes : bytes / 2);
        return s;
    }
    // Returns: false if the task was removed.
    bool work(std::size_t left) {
        for (std::size_t part = left; left != 0; left -= part) {
            oom::retry_scope scope;
            for (charge_status s; !(s = attempt(part)).charged();) {
                RL_ASSERT(allot::is_verdict(s.outcome));
                const verdict next = scope.wait(s);
                if (next == verdict::removed) return false;
                RL_ASSERT(next == verdict::try_again || next == verdict::split);
                if (next == verdict::split) part /= 2;
            }
            scope.done();
        }
        return true;
    }
    void run(oom::task& query, std::size_t bytes) {
        oom::task_thread here{query};
        RL_ASSERT(work(bytes));
        RL_ASSERT(here.state() == oom::thread_state::running);
    }
    // Returns: the splits.
    std::size_t end() {
        const oom::machine now = all->tasks.now();
        const oom::task_stats s = all->tasks.stats();
        RL_ASSERT(now.valid() && s.refused == 0);
        for (const auto& t : now.threads()) RL_ASSERT(!t.used);
        for (const auto& r : now.resources()) RL_ASSERT(r.holders.empty());
        RL_ASSERT(all->memory.used() == 0 && all->memory.verify() && all->memory.close());
        all.reset();
        return s.splits;
    }
};

// Tasks that begin and end meanwhile. With more bytes than the limit, each splits once.
template <unsigned Threads, std::size_t Bytes>
struct contend : rl::test_suite<contend<Threads, Bytes>, Threads>, working {
    void before() { start(3); }
    void thread(unsigned) {
        oom::task query{all->tasks};
        run(query, Bytes);
    }
    void after() { RL_ASSERT(end() == (Bytes > 3 ? Threads : 0)); }
};

// The same by errors that are thrown.
template <unsigned Threads> struct throwing : rl::test_suite<throwing<Threads>, Threads>, working {
    struct input {
        std::size_t size;
        int pin() { return 0; }
        std::size_t bytes() const { return size; }
    };
    struct held {
        throwing& in;
        std::size_t bytes;
        held(throwing& where, std::size_t n) : in(where), bytes(n) { in.all->memory.charge(n), in.look(); }
        ~held() { in.refund(bytes); }
    };
    void before() { start(3); }
    void thread(unsigned) {
        oom::task query{all->tasks};
        oom::task_thread here{query};
        std::vector<input> inputs{{4}};
        const auto halve = [](const input& i) { return std::vector<input>(2, {i.size / 2}); };
        const auto body = [this](const input& i) {
            const held first{*this, i.size / 2}, second{*this, i.size / 2};
            return i.size;
        };
        RL_ASSERT(oom::with_retry(inputs, halve, body) == std::vector<std::size_t>(2, 2));
    }
    void after() { RL_ASSERT(end() == Threads); }
};

// Beside them a thread that works for no task returns a byte.
template <unsigned Threads> struct unknown : rl::test_suite<unknown<Threads>, Threads>, working {
    void before() {
        start(4);
        RL_ASSERT(all->memory.try_charge(1));
    }
    void thread(unsigned index) {
        if (index != 0) return run(*all->queries[index], 4);
        late();
        all->memory.refund(1); // without a look, which takes the lock
    }
    void after() { RL_ASSERT(end() < Threads); }
};

// All but the first one have a byte, and wait for its result: for a while, and then until it is there.
template <unsigned Threads> struct result : rl::test_suite<result<Threads>, Threads>, working {
    void before() { start(4); }
    void thread(unsigned index) {
        if (index == 0) {
            run(*all->queries[0], 4);
            return all->done[0].store(true, std::memory_order_release);
        }
        oom::task_thread here{*all->queries[index]};
        RL_ASSERT(charge(1));
        for (const bool until_done : {false, true}) {
            late();
            const oom::scoped_wait w{*all->queries[0]};
            until_done ? wait_for(all->done[0]) : late();
        }
        refund(1);
    }
    void after() { RL_ASSERT(end() <= 1); }
};

// Each has a byte, and waits for a permit before it works.
template <unsigned Threads> struct permit : rl::test_suite<permit<Threads>, Threads>, working {
    void before() { start(2 + Threads); }
    void thread(unsigned index) {
        oom::task_thread here{*all->queries[index]};
        RL_ASSERT(charge(1));
        {
            const oom::scoped_wait w{all->permits};
            while (all->taken.exchange(true, std::memory_order_acquire)) rl::yield(1, $);
        }
        {
            const oom::resource::holder mine{all->permits};
            RL_ASSERT(work(4));
        }
        all->taken.store(false, std::memory_order_release);
        refund(1);
    }
    void after() { RL_ASSERT(end() <= Threads); }
};

// The first has a byte, and waits for a latch that the second counts down when it has worked. Its wait is over at any
// step of a decision over the others, which need its byte: none is split, since it is seen to be over.
template <unsigned Threads> struct counted : rl::test_suite<counted<Threads>, Threads>, working {
    std::optional<oom::latch> done;

    void before() {
        start(3);
        done.emplace(all->tasks);
    }
    void thread(unsigned index) {
        if (index > 1) return run(*all->queries[index], 3);
        oom::task_thread here{*all->queries[index]};
        if (index == 1) {
            RL_ASSERT(work(2));
            return done->count_down();
        }
        RL_ASSERT(charge(1));
        {
            const oom::scoped_wait w{*done};
            while (!done->try_wait()) rl::yield(1, $);
        }
        refund(1);
        RL_ASSERT(work(3));
    }
    void after() {
        for (const auto& r : all->tasks.now().resources()) RL_ASSERT(r.holders.empty());
        done.reset();
        RL_ASSERT(end() == 0);
    }
};

// The task of one is removed, at any step. The others finish while its thread is there.
template <unsigned Threads> struct removed : rl::test_suite<removed<Threads>, Threads>, working {
    void before() { start(3); }
    void thread(unsigned index) {
        if (index == 0) {
            const oom::task_thread here{*all->queries[0]};
            if (!work(4))
                for (unsigned n = 1; n != Threads; ++n) wait_for(all->done[n]);
            return;
        }
        if (index == 1) late(), all->queries[0]->remove();
        run(*all->queries[index], 4);
        all->done[index].store(true, std::memory_order_release);
    }
    void after() { RL_ASSERT(end() <= Threads); }
};

// One or two wait for bytes that are returned when they have ended: their tasks are removed, each by another thread, at
// about the same step.
template <unsigned Threads> struct sleepers : rl::test_suite<sleepers<Threads>, Threads>, working {
    unsigned steps = 0;

    void before() {
        start(3);
        steps = rl::rand(800);
        RL_ASSERT(all->memory.try_charge(2));
    }
    void thread(unsigned index) {
        constexpr unsigned removers = Threads / 2;
        if (index >= 2 * removers) return run(*all->queries[index], 3);
        const oom::task_thread here{*all->queries[index]};
        if (index < removers) {
            RL_ASSERT(!work(3));
            return all->done[index].store(true, std::memory_order_release);
        }
        rest(steps);
        all->queries[index - removers]->remove();
        wait_for(all->done[index - removers]);
        refund(2 / removers);
    }
    void after() { RL_ASSERT(end() == 0); }
};

// The last refund ends a root, and its arbiter then, on another thread. Held: what the refund posts comes before that.
struct last_refund : rl::test_suite<last_refund, 2> {
    std::optional<oom::arbiter> tasks;
    std::optional<allot::account> memory;
    bool has_ended = false;

    void before() {
        has_ended = false;
        const auto hear = [](void* in, const oom::log_entry&) noexcept {
            late();
            RL_ASSERT(!static_cast<last_refund*>(in)->has_ended);
        };
        tasks.emplace(oom::rules{}, oom::log_sink{hear, this});
        memory.emplace(allot::name{"engine"}, allot::limit{3}, *tasks);
        RL_ASSERT(memory->try_charge(3));
        allot::detail::account_tree& tree = memory->node().tree();
        tree.frees.add_judge(), tree.act_at_unlock(); // as behind a rollback
    }
    void thread(unsigned index) {
        if (index == 0) return memory->refund(3);
        RL_ASSERT(memory->close(allot::forever));
        memory.reset();
        tasks.reset();
        has_ended = true;
    }
};

} // namespace

// An argument: twenty times as many.
int main(int argc, char**) {
    const unsigned runs = argc > 1 ? 15000 : 750;
    return holds<contend<2, 3>>(runs, 0) && holds<contend<2, 4>>(runs, 0) && holds<contend<3, 3>>(runs, 0) &&
                   holds<contend<3, 4>>(runs, 0) && holds<throwing<2>>(runs, 0) && holds<throwing<3>>(runs, 0) &&
                   holds<unknown<2>>(2 * runs, 0) && holds<unknown<3>>(2 * runs, 0) && holds<result<2>>(2 * runs, 0) &&
                   holds<result<3>>(2 * runs, 0) && holds<permit<2>>(runs, 0) && holds<permit<3>>(runs, 0) &&
                   holds<counted<2>>(runs, 0) && holds<counted<3>>(2 * runs, 0) && holds<removed<2>>(2 * runs, 0) &&
                   holds<removed<3>>(2 * runs, 0) && holds<sleepers<2>>(2 * runs, 0) &&
                   holds<sleepers<3>>(2 * runs, 0) && holds<sleepers<4>>(4 * runs, 0) && holds<last_refund>(runs, 0)
               ? 0
               : 1;
}
