// Buffers under many threads: views come and go, the charge moves and is inherited, and at every end nothing is left.
#include <support/catch.hpp>

#include <allot/buffers.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::limit;
using allot::name;

namespace {

struct counted_memory {
    allot::heap_memory heap;
    std::atomic<std::ptrdiff_t> live{0};
    allot::memory_block try_allocate(std::size_t n, std::size_t align) noexcept {
        ++live;
        return heap.try_allocate(n, align);
    }
    void deallocate(void* p) noexcept {
        --live;
        heap.deallocate(p);
    }
};
struct tree {
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{1 << 20}};
    std::vector<std::unique_ptr<account>> all;
    explicit tree(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) all.push_back(std::make_unique<account>(root, name{"operator"}));
    }
    bool at_rest() {
        bool good = root.used() == 0 && root.verify() && pool.live == 0;
        for (auto& a : all) good = good && a->stats().buffers == 0 && a->used() == 0;
        return good;
    }
};

} // namespace

// Each round three threads let go of their account's last view of one block, in any order, two of them after something
// else; an account ends as soon as its thread has let go.
TEST_CASE("buffers: all let go at once, and each account ends right behind", "[buffer][threads]") {
    constexpr std::size_t n = 4, rounds = 1500;
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{1 << 20}};
    std::array<std::unique_ptr<account>, n> who;
    std::array<buffer, n> views;
    std::barrier turn{static_cast<std::ptrdiff_t>(n)};
    std::atomic<bool> good{true};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != n; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t) + 1);
            for (std::size_t round = 0; round != rounds; ++round) {
                who[t] = std::make_unique<account>(root, name{"operator"});
                turn.arrive_and_wait();
                if (t == 0) {
                    views[0] = memory.allocate(*who[0], 256);
                    for (std::size_t i = 1; i != n; ++i) views[i] = views[0].retain(*who[i]);
                }
                turn.arrive_and_wait();
                buffer mine = std::move(views[t]);
                const auto what = random() % 4;
                if (what == 0) mine = mine.slice(1, 10);
                if (what == 1) static_cast<void>(mine.get<std::uint32_t>(0));
                for (auto spin = random() % 64; spin != 0; --spin) allot::detail::pause();
                mine.release();
                if (!who[t]->close()) good = false; // nothing of it is charged or open any more
                who[t].reset();
                turn.arrive_and_wait();
                if (t == 0 && (root.used() != 0 || pool.live != 0)) good = false;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(good);
    CHECK(root.peak() == 256);
}

TEST_CASE("buffers: 8 threads retain, transfer and release a few blocks", "[buffer][threads]") {
    tree t(5);
    std::mutex lock;
    std::vector<buffer> shared;
    std::atomic<bool> good{true};
    std::vector<std::thread> threads;
    for (unsigned id = 0; id != 8; ++id)
        threads.emplace_back([&, id] {
            std::mt19937 random(id + 1);
            const auto take = [&]() -> buffer {
                const std::lock_guard hold(lock);
                if (shared.empty()) return {};
                const std::size_t i = random() % shared.size();
                buffer b = std::move(shared[i]);
                shared[i] = std::move(shared.back());
                shared.pop_back();
                return b;
            };
            const auto put = [&](buffer b) {
                const std::lock_guard hold(lock);
                if (b) shared.push_back(std::move(b));
            };
            for (int i = 0; i != 4000; ++i) {
                account& a = *t.all[random() % t.all.size()];
                buffer b = take();
                switch (random() % 6) {
                case 0: put(t.memory.try_allocate(a, 64 + random() % 200)); break;
                case 1:
                    if (b.size() > 8) put(b.slice(1, b.size() - 1));
                    break;
                case 2: put(b.retain(a)); break;
                case 3: {
                    auto r = std::as_const(b).transfer(a);
                    if (b && !r.view) good = false;
                    put(std::move(r.view));
                    break;
                }
                case 4: put(std::move(b).transfer(a).view); break;
                default: b.release();
                }
                if (b && !b.valid()) good = false;
                const bool keep = random() % 3 == 0;
                if (keep) put(std::move(b));
                bool many = false;
                {
                    const std::lock_guard hold(lock);
                    many = shared.size() > 40;
                }
                if (many) take().release();
            }
        });
    for (auto& x : threads) x.join();
    CHECK(good);
    CHECK(t.root.verify());
    std::size_t used = 0;
    for (auto& a : t.all) used += a->used();
    CHECK(used == t.root.used());
    shared.clear();
    CHECK(t.at_rest());
}

TEST_CASE("buffers: an account takes a view again while its last one goes", "[buffer][threads]") {
    constexpr int rounds = 1500;
    tree t(2);
    bool good = true;
    buffer x;
    std::barrier turn{2};
    std::thread other{[&] {
        for (int round = 0; round != rounds; ++round) {
            turn.arrive_and_wait();
            for (int spin = round % 50; spin != 0; --spin) allot::detail::pause();
            x.release();
            turn.arrive_and_wait();
        }
    }};
    for (int round = 0; round != rounds; ++round) {
        x = t.memory.allocate(*t.all[0], 64);
        buffer y = x.retain(*t.all[1]);
        turn.arrive_and_wait();
        for (int spin = round / 50 % 50; spin != 0; --spin) allot::detail::pause();
        buffer z = y.retain(*t.all[0]);
        turn.arrive_and_wait();
        good = good && z.valid() && t.all[0]->stats().buffers == 1 &&
               (z.charged() == t.all[0].get() || z.charged() == t.all[1].get());
        y.release();
        good = good && z.charged() == t.all[0].get() && t.all[0]->used() == 64;
    }
    other.join();
    CHECK(good);
    CHECK(t.at_rest());
}

TEST_CASE("buffers: what was written before a release is there for who inherits, and for the memory",
          "[buffer][threads]") {
    tree t(2);
    std::atomic<unsigned> gone{0};
    static std::array<std::byte, 64> bytes;
    for (int round = 0; round != 2000; ++round) {
        buffer x = buffer::of_foreign(
            *t.all[0], bytes.data(), bytes.size(),
            [](void* context, std::byte* p, std::size_t) noexcept {
                p[0] = std::byte{0}; // a race with the writers below, unless release orders them before
                p[32] = std::byte{0};
                ++*static_cast<std::atomic<unsigned>*>(context);
            },
            &gone);
        buffer y = x.retain(*t.all[1]), z = x.slice(32, 32);
        std::thread other{[&] {
            z.set<std::uint8_t>(0, 1);
            z.release();
        }};
        y.set<std::uint8_t>(0, 2);
        y.release(), x.release();
        other.join();
    }
    CHECK(gone == 2000);
    CHECK(t.at_rest());
}

// The last view of an account that is charged nothing goes while the account closes; whoever finds it drained destroys
// it at once.
TEST_CASE("buffers: an account ends with its last view while others are charged", "[buffer][threads]") {
    constexpr int rounds = 2000;
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{1 << 20}};
    account scan{root, name{"scan"}};
    struct owner {
        std::unique_ptr<account> who;
        std::atomic<int> ended{0};
    };
    bool good = true;
    for (int round = 0; round != rounds; ++round) {
        owner o;
        o.who = std::make_unique<account>(root, name{"join"});
        buffer b = memory.allocate(scan, 100);
        std::array<buffer, 2> theirs{b.retain(*o.who), b.retain(*o.who)};
        buffer other = memory.allocate(scan, 64), own = other.retain(*o.who);
        std::barrier turn{3};
        std::array<std::thread, 2> releasers;
        for (std::size_t t = 0; t != 2; ++t)
            releasers[t] = std::thread{[&, t] {
                turn.arrive_and_wait();
                theirs[t].release();
                if (t == 0) own.release();
            }};
        turn.arrive_and_wait();
        if (round % 2 == 0) {
            good = o.who->close(allot::time_span{10'000}) && good;
            o.who.reset();
        } else if (o.who->close_when_drained(
                       [](account&, void* self) noexcept {
                           auto& it = *static_cast<owner*>(self);
                           it.who.reset();
                           ++it.ended;
                       },
                       &o)) {
            o.who.reset();
            ++o.ended;
        }
        for (auto& t : releasers) t.join();
        good = good && (round % 2 == 0 || o.ended == 1) && o.who == nullptr;
    }
    CHECK(good);
    CHECK(scan.used() == 0);
    CHECK(pool.live == 0);
    CHECK(root.verify());
}

namespace {

// Another thread that closes the account, some steps after go(). No barrier: who is woken there comes too late, or
// first, each time.
class closer {
  public:
    closer(account& to, unsigned steps)
        : thread_([this, &to, steps] {
              while (!gone()) allot::detail::yield();
              for (unsigned spin = steps; spin != 0; --spin) allot::detail::pause();
              drained_ = to.close_when_drained([](account&, void*) noexcept {});
          }) {}
    void go() {
        allot::detail::yield();
        go_ = true;
    }
    bool gone() const { return go_; }
    // Whether it has ended there and then.
    bool drained() {
        thread_.join();
        return drained_;
    }

  private:
    std::atomic<bool> go_{false};
    bool drained_ = false;
    std::thread thread_; // last: it uses the others
};

} // namespace

TEST_CASE("buffers: an account closes while a view comes to it", "[buffer][threads]") {
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}};
    bool good = true;
    unsigned refused = 0;
    for (unsigned round = 0; round != 3000; ++round) {
        account from{root, name{"from"}}, other{root, name{"other"}};
        const auto to = std::make_unique<account>(root, name{"to"});
        buffer view = memory.allocate(from, 64), shared = round % 2 == 0 ? view.retain(other) : buffer{};
        closer closes{*to, round % 64};
        closes.go();
        for (unsigned spin = round / 64 % 64; spin != 0; --spin) allot::detail::pause();
        if (round % 3 == 0) allot::detail::yield();
        auto [theirs, how] = round % 4 < 2 ? std::move(view).transfer(*to) : std::as_const(view).transfer(*to);
        const bool drained = closes.drained();
        good = good && !(drained && theirs);
        if (!theirs) { // nothing has changed
            ++refused;
            good = good && how.outcome == allot::charge_outcome::closed && view.holder() == &from &&
                   view.charged() == &from && view.valid();
        } else {
            good = good && theirs.holder() == to.get() && theirs.charged() == to.get() && theirs.valid();
        }
        theirs.release();
        view.release();
        good = good && from.used() == 0 && to->used() == 0 && other.used() == (shared ? 64U : 0U);
        shared.release();
        good = good && root.used() == 0 && pool.live == 0 && from.stats().buffers == 0 && other.stats().buffers == 0;
    }
    CHECK(good);
    CHECK(root.verify());
}

// One thread transfers its view, by the way that makes no ledger; another, of an account of its own, retains for the
// receiver.
TEST_CASE("buffers: an account closes while two views come to it", "[buffer][threads]") {
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}};
    bool good = true;
    for (unsigned round = 0; round != 2000; ++round) {
        account from{root, name{"from"}}, other{root, name{"other"}}, last{root, name{"last"}};
        const auto to = std::make_unique<account>(root, name{"to"});
        buffer view = memory.allocate(from, 64), shared = view.retain(other), kept = view.retain(last), theirs;
        closer closes{*to, round % 64};
        std::thread retains{[&] {
            while (!closes.gone()) allot::detail::yield();
            for (unsigned spin = round / 8 % 64; spin != 0; --spin) allot::detail::pause();
            theirs = shared.retain(*to);
        }};
        closes.go();
        if (round % 3 == 0) allot::detail::yield();
        auto [mine, how] = std::move(view).transfer(*to);
        retains.join();
        const bool drained = closes.drained();
        good = good && (!theirs || theirs.holder() == to.get()) && !(drained && (theirs || mine));
        if (mine) good = good && mine.holder() == to.get() && mine.charged() == to.get() && mine.valid();
        else { // nothing has changed: not the order in which they inherit either
            good = good && how.outcome == allot::charge_outcome::closed && view.holder() == &from &&
                   view.charged() == &from && view.valid();
            auto [again, well] = view.transfer(last);
            kept.release(), again.release();
            good = good && view.charged() == &from;
        }
        mine.release(), theirs.release(), view.release(), shared.release(), kept.release();
        good = good && root.used() == 0 && pool.live == 0;
        for (const account* const a : {&from, &other, &last}) good = good && a->stats().buffers == 0;
    }
    CHECK(good);
    CHECK(root.verify());
}

TEST_CASE("buffers: an account that has ended gets no view", "[buffer][threads]") {
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}};
    bool good = true;
    for (unsigned round = 0; round != 1024; ++round) {
        account from{root, name{"from"}};
        const auto to = std::make_unique<account>(root, name{"to"});
        buffer view = memory.allocate(from, 64);
        closer closes{*to, round % 32 * 2};
        closes.go();
        for (unsigned spin = round / 32 * 2; spin != 0; --spin) allot::detail::pause();
        if (round % 3 == 0) allot::detail::yield();
        buffer theirs = view.retain(*to);
        const bool drained = closes.drained();
        good = good && !(drained && theirs);
    }
    CHECK(good);
    CHECK(root.verify());
}

// Each thread passes its own buffer, and views of one that all share, between two accounts with room for one block
// each.
TEST_CASE("buffers: transfers that must fit never exceed a limit, and leave a refused buffer as it was",
          "[buffer][threads]") {
    constexpr std::size_t threads = 4, bytes = 1024;
    std::barrier start(static_cast<std::ptrdiff_t>(threads));
    counted_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}}, from{root, name{"from"}};
    account left{root, name{"left"}, limit{bytes}}, right{root, name{"right"}, limit{bytes}};
    buffer shared = memory.allocate(from, bytes);
    std::vector<std::thread> team;
    std::atomic<bool> good{true};
    std::atomic<unsigned> refused{0};
    for (std::size_t t = 0; t != threads; ++t)
        team.emplace_back([&, view = shared.slice(), mine = memory.allocate(from, bytes), random = t + 1]() mutable {
            start.arrive_and_wait();
            for (unsigned step = 0; step != 4000; ++step) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                account& to = random >> 40 & 1 ? left : random >> 41 & 1 ? right : from;
                buffer& moved = random >> 42 & 1 ? mine : view;
                account* const before = moved.holder();
                const std::byte* const data = moved.data();
                auto [got, how] = random >> 43 & 1 ? std::move(moved).try_transfer(to) : moved.try_transfer(to);
                const bool has = static_cast<bool>(got);
                if (has) moved = std::move(got);
                else refused.fetch_add(1);
                const bool right_one = moved.holder() == (has ? &to : before) && moved.data() == data;
                const bool within = left.used() <= left.limit() && right.used() <= right.limit();
                const bool charged =
                    &moved == &view || moved.charged_bytes() == bytes; // no other account has views of `mine`
                if (has != how.charged() || !right_one || !within || !charged) good = false;
            }
        });
    for (auto& t : team) t.join();
    team.clear(); // their buffers end with them
    shared.release();
    CHECK(good);
    CHECK(refused != 0);
    CHECK(left.peak() <= left.limit());
    CHECK(right.peak() <= right.limit());
    CHECK(root.used() == 0);
    CHECK(root.verify());
    CHECK(pool.live == 0);
}
