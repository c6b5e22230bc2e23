// Whole engines, by seed: accounts with limits, an arbiter, objects with memory, stores, executors and their tasks, and
// a thread beside them that changes limits. All tasks end, bytes are as they were written, and nothing is left.
//
//     engines                                         a smoke, for every run of the tests
//     engines --seeds 300 --first 17                  these; --plans 1 says what each seed draws
//     engines --seconds 600 --objects 1000 --threads 64       as many seeds as that takes; objects and threads at most
//
// A seed draws one engine; the order of its threads is not the seed's. Wrong is
//   - where no task ends for 60 s: the program ends with the report of the accounts, tasks and executors;
//   - an error of a group, unless the plan has one. In most engines (`must`) no task may run out of memory: what it
//     takes, in whole pages, fits below the lowest limit beside all that nobody can free, twice. That is: books of
//     objects, pages of objects that keep theirs, and what no task holds. In the others out_of_memory is no error, but
//     all other errors are;
//   - bytes of a row, block, buffer, or of what a store kept, that are not those that were written;
//   - at the end: bytes that an account uses, a live row or block, an account or object that is not valid;
//   - resident memory (VmHWM) that grew by more than the highest limit, what the homes in memory and the device had at
//     most, and 16 MiB. The memory of the simulated device is the host's. Stacks, and the process' heap of the
//     executors' tasks and of the entries of stores, are in the 16 MiB, but for 64 KiB per thread.
#include <support/engine_objects.hpp>

#include <allot/oom/injection.hpp>
#include <allot/oom/retry.hpp>
#include <allot/report/accounts.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/task/quota.hpp>
#include <allot/task/task_group.hpp>
#include <allot/tree/account_peak.hpp>

#include <chrono>
#include <concepts>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <malloc.h>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <type_traits>

using namespace support;

namespace {

using batch = allot::stored<allot::buffer>;

std::atomic<std::uint64_t> tasks_ended{0}, steps_of_all{0};
std::string kib(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

// ---- what a seed draws ----------------------------------------------------------------------------------------------

enum class far_home : std::uint8_t { memory, files, tiers };

struct plan {
    plan(std::uint64_t of, std::size_t most_threads, std::size_t most_objects) : seed(of) {
        dice d(of);
        const auto log_uniform = [&](std::size_t end) {
            return std::min(end,
                            (std::size_t{1} << d.below(allot::detail::log2_floor(end) + 1)) + d.below(end / 4 + 1));
        };
        objects = d.one_in(8) ? most_objects : log_uniform(most_objects);
        threads[0] = d.one_in(8) ? most_threads : d.below(log_uniform(most_threads) + 1);
        threads[1] = d.one_in(3) ? 1 + d.below(most_threads / 2 + 1) : 0;
        const std::size_t books = objects * 64_KiB;
        most = std::min(64_MiB, std::max(8_MiB << d.below(4), 2 * books));
        lowest = most - most / 4;
        queries = 1 + d.below(6), groups = 1 + d.below(6), tasks = 4 + d.below(24) + (threads[0] + threads[1]) / 2;
        keepers = d.one_in(3) ? 1 + d.below(3) : 0;
        has_device = d.one_in(3), has_pauses = d.one_in(4), injects = d.one_in(4), has_watermark = d.one_in(4);
        home = static_cast<far_home>(d.below(3));
        outside = most / 16;
        kept = books + keepers * (own_limit + 64_KiB);
        const std::size_t fits = lowest > kept + outside ? (lowest - kept - outside) / 2 : 0;
        must = fits >= 1_MiB && !d.one_in(4);
        work = must ? std::min(fits, 8_MiB) : most / 2 + d.below(most / 2);
        if (!must) lowest = most / 4, outside = most / 3;
        batch = std::min<std::size_t>(work / 16, 200'000);
    }
    std::string text() const {
        static constexpr const char* homes[] = {"memory", "files", "tiers"};
        return std::string(must ? "all tasks must end well" : "tasks may run out of memory") + ", limit " + kib(most) +
               ", lowest " + kib(lowest) + ", a task takes " + kib(work) + ", " + std::to_string(objects) +
               " objects, " + std::to_string(keepers) + " keep pages, threads " + std::to_string(threads[0]) + " + " +
               std::to_string(threads[1]) + ", " + std::to_string(groups) + " groups of " + std::to_string(tasks) +
               " tasks, batches of " + kib(batch) + ", home " + homes[static_cast<int>(home)] +
               (has_device ? ", a device" : "") + (injects ? ", faults" : "");
    }
    std::size_t each() const { return outside / 12; } // of the things that no task holds
    static constexpr std::size_t own_limit = 512_KiB, device_limit = 32_MiB, device_work = 8_MiB;
    std::uint64_t seed;
    std::size_t objects, threads[2], most, lowest, queries, groups, tasks, keepers, kept, outside, work, batch;
    bool must, has_device, has_pauses, injects, has_watermark;
    far_home home;
};

// ---- an engine ----------------------------------------------------------------------------------------------------

struct engine {
    explicit engine(const plan& drawn);
    ~engine();
    void draw_objects(dice& d);
    void write_report() const;

    const plan p;
    oom::arbiter tasks;
    std::array<allot::account_line, 64> lines;
    allot::account_peak fullest{lines};
    account root, far{name{"far"}}, cold{far, name{"cold"}}, disk{name{"disk"}};
    std::deque<account> queries;
    std::optional<oom::injection> faults;
    std::optional<machine> gpu;
    allot::chunk_arena<sets::run_pool> far_pool{far, name{"far pool"}};
    allot::buffer_memory far_memory{far_pool};
    std::optional<allot::spill_files> files;
    std::optional<allot::spill_memory> in_memory;
    allot::home* home = nullptr;
    std::vector<std::unique_ptr<object>> objects;
    std::vector<pool*> pools;
    exchange_of_pieces exchange;
    std::deque<allot::store> stores;
    std::deque<allot::executor> runs;
    std::size_t not_made = 0;
};

engine::engine(const plan& drawn) : p(drawn), root{name{"engine"}, limit{drawn.most}, tasks} {
    dice d(p.seed + 1'000'000);
    root.keep_peak(&fullest);
    if (p.has_watermark) root.set_watermark(p.most / 4 * 3);
    for (std::size_t i = 0; i != p.queries; ++i) {
        account& above = i != 0 && d.one_in(4) ? queries[d.below(i)] : root;
        if (d.one_in(3)) queries.emplace_back(above, name{"query"}, limit{p.lowest + d.below(p.most - p.lowest)});
        else queries.emplace_back(above, name{"query"});
    }
    if (p.has_device) gpu.emplace(plan::device_limit, d, tasks);
    if (p.home != far_home::memory)
        files.emplace(disk, "/tmp", allot::spill_file_options{.name = "spilled", .extent_bytes = 64_KiB << d.below(4)});
    if (p.home == far_home::memory) in_memory.emplace(far_memory, cold);
    if (p.home == far_home::tiers) far.set_limit(4_MiB), in_memory.emplace(far_memory, cold, *files);
    home = in_memory ? static_cast<allot::home*>(&*in_memory) : &*files;
    draw_objects(d);
    for (std::size_t i = 0; i != 1 + p.seed % 2; ++i) stores.emplace_back(root, *home, name{"store"}, 5 + 5 * i);
    for (const std::size_t threads : p.threads)
        if (runs.empty() || threads != 0) {
            allot::executor_options o{.threads = static_cast<unsigned>(threads)};
            o.percent = d.one_in(2) ? 90 : 50 + static_cast<unsigned>(d.below(51));
            o.bypasses = static_cast<unsigned>(d.below(12));
            if (!p.must) o.unknown_holders_wait = allot::time_span{50};
            runs.emplace_back(tasks, d.one_in(2) ? root : queries[d.below(queries.size())], o);
        }
    if (p.injects) {
        faults.emplace(root);
        faults->add({.fails = allot::charge_outcome::rolled_back,
                     .skip = static_cast<std::uint32_t>(d.below(200)),
                     .times = 2});
    }
}

void engine::draw_objects(dice& d) {
    const auto add = [&]<class Object>(std::type_identity<Object>, auto&... values) {
        try {
            auto made = std::make_unique<Object>(values...);
            if constexpr (std::derived_from<Object, pool>) pools.push_back(made.get());
            objects.push_back(std::move(made));
        } catch (const allot::memory_error& e) { // its books
            if (p.must) wrong(std::string("an object is not made: ") + e.what());
            ++not_made;
        }
    };
    const allot::limit own{plan::own_limit};
    const auto any = [&]() -> account& { return d.one_in(4) ? root : queries[d.below(queries.size())]; };
    for (std::size_t i = 0; i != p.objects; ++i) {
        account& by = any();
        const std::size_t kind = i == 0 ? d.below(3) : d.below(p.has_device ? 16 : 13);
        if (kind == 0) add(std::type_identity<of_pool<sets::run_pool>>{}, root, d);
        else if (kind == 1) add(std::type_identity<of_pool<sets::best_pool>>{}, root, d);
        else if (kind == 2) add(std::type_identity<of_pool<sets::buddy_pool>>{}, root, d);
        else if (kind == 3) add(std::type_identity<of_rows<sets::plain_rows>>{}, by, d);
        else if (kind <= 5) add(std::type_identity<of_rows<sets::shared_rows>>{}, by, d);
        else if (kind == 6) add(std::type_identity<of_rows<sets::spark_rows>>{}, by, d);
        else if (kind == 7) add(std::type_identity<of_rows<sets::waiting_rows>>{}, by, d);
        else if (kind == 8) add(std::type_identity<of_rows<sets::span_rows>>{}, by, d);
        else if (kind == 9) add(std::type_identity<of_blocks<sets::run_blocks>>{}, by, d);
        else if (kind == 10) add(std::type_identity<of_blocks<sets::best_blocks>>{}, by, d);
        else if (kind == 11) add(std::type_identity<of_blocks<sets::buddy_blocks>>{}, by, d);
        else if (kind == 12) add(std::type_identity<of_stored_rows<sets::spark_rows>>{}, by, d, *home);
        else if (kind == 13) add(std::type_identity<of_gpu<sets::gpu_blocks>>{}, *gpu);
        else if (kind == 14) add(std::type_identity<of_gpu<sets::gpu_spark>>{}, *gpu);
        else add(std::type_identity<of_gpu_pool>{}, *gpu, *home);
    }
    for (std::size_t i = 0; i != p.keepers; ++i) {
        if (d.one_in(2)) add(std::type_identity<of_rows<sets::kept_rows>>{}, any(), d, own);
        else add(std::type_identity<of_blocks<sets::called_blocks>>{}, any(), d, own);
    }
}

void engine::write_report() const {
    static char text[200'000];
    allot::text_writer out{text};
    for (const account* const top : {&root, &far, &disk}) allot::write_accounts(out, *top);
    if (gpu) allot::write_accounts(out, gpu->memory);
    tasks.write_tasks(out);
    for (const auto& r : runs) {
        const allot::executor_stats s = r.stats();
        out.put("executor: waiting ").number(s.waiting).put(", running ").number(s.running).put(", parked ");
        out.number(s.parked).put(", started ").number(s.started).put(", done ").number(s.done).put(", ran out ");
        out.number(s.ran_out).put(", failed ").number(s.failed).newline();
    }
    std::printf("%.*s\n", static_cast<int>(out.view().size()), out.view().data());
}

engine::~engine() {
    for (const auto& r : runs) {
        const allot::executor_stats s = r.stats();
        expect(s.waiting + s.running + s.parked == 0, "an executor has tasks left");
    }
    expect(root.verify() && far.verify() && disk.verify(), "a tree of accounts is not valid");
    expect(fullest.charged() <= p.most, "more was charged at the root than its highest limit");
    for (const auto& s : stores) expect(s.stats().entries == 0, "a store has objects left");
    faults.reset();
    runs.clear();
    stores.clear();
    for (const auto& o : objects)
        if (const std::string f = o->fault(); !f.empty()) wrong(f);
    for (dice d(p.seed + 2); !objects.empty(); objects.pop_back())
        std::swap(objects[d.below(objects.size())], objects.back());
    in_memory.reset();
    expect(!files || files->valid(), "the files are not valid");
    files.reset();
    for (; !queries.empty(); queries.pop_back()) expect(queries.back().used() == 0, "a query uses bytes at its end");
    expect(root.used() == 0 && root.verify(), "the root uses bytes at its end");
    expect(disk.used() == 0 && cold.used() == 0, "a home keeps bytes at its end");
    expect(!gpu || gpu->memory.used() == 0, "the device's account uses bytes at its end");
    root.keep_peak(nullptr);
}

// ---- tasks --------------------------------------------------------------------------------------------------------

// Counts a task once it has ended, by whatever way.
struct end_of_task {
    ~end_of_task() { ++tasks_ended; }
};
struct job {
    std::uint64_t seed;
    std::vector<std::uint64_t> inputs{}; // whose bytes are theirs
    unsigned fails_first = 0;
    bool is_broken = false;
    std::shared_ptr<end_of_task> ends = std::make_shared<end_of_task>();
};

bool holds_all(const allot::buffer& b, std::uint64_t id) { return b && holds(b.data(), b.size(), id); }

// What a kernel takes and frees, below its budget of memory.
class work {
  public:
    work(engine& e, account& by, std::uint64_t seed) : e_(e), by_(by), d_(seed), left_{e.p.work / 2, e.p.device_work} {}
    void some(std::size_t steps) {
        for (; steps != 0; --steps, ++steps_of_all) {
            if (d_.one_in(8)) std::this_thread::sleep_for(std::chrono::microseconds(d_.below(100)));
            if (!held_.empty() && d_.one_in(4)) {
                std::swap(held_[d_.below(held_.size())], held_.back());
                held_.back().memory.look();
                left_[held_.back().is_on_device] += held_.back().cost;
                held_.pop_back();
            } else if (d_.one_in(8)) {
                oom::with_retry_no_split([&] { static_cast<void>(one(how::plain, 0)); });
            } else if (holding now = one(static_cast<how>(d_.below(3)), e_.p.each()); now.memory) {
                left_[now.is_on_device] -= now.cost;
                held_.push_back(std::move(now));
            }
        }
    }

  private:
    struct holding {
        piece memory{};
        std::size_t cost = 0;
        bool is_on_device = false;
    };
    // `most_to_others`: of bytes that another task, or none, is to free.
    holding one(how call, std::size_t most_to_others) {
        object& of = *e_.objects[d_.below(e_.objects.size())];
        request r{by_, of.draw(d_), call, d_.below(1'000)};
        const std::size_t cost = of.cost(r.bytes);
        if (cost > left_[of.is_on_device()]) return {};
        piece now = of.take(r);
        if (now && cost <= most_to_others && !of.is_of_task() && d_.one_in(4)) e_.exchange.swap(now), now = {};
        return {std::move(now), cost, of.is_on_device()};
    }
    engine& e_;
    account& by_;
    dice d_;
    std::size_t left_[2];
    std::vector<holding> held_;
};

// A group of tasks: scans make batches, joins make one of two, checks read those that are left.
class query {
  public:
    enum class end : std::uint8_t { well, own_error, cancelled };
    query(engine& in, allot::executor& run, std::uint64_t seed)
        : e_(in), d_(seed), group(run, name{"query"}, static_cast<std::int64_t>(d_.below(3))),
          ends(d_.one_in(8)   ? end::own_error
               : d_.one_in(8) ? end::cancelled
                              : end::well) {}

    void live() {
        const std::size_t broken = d_.below(e_.p.tasks), restarts = d_.below(2 * e_.p.tasks);
        for (std::size_t i = 0; i != e_.p.tasks; ++i) {
            job j{d_.next()};
            j.is_broken = ends == end::own_error && i == broken;
            j.fails_first = i == restarts ? 1 + static_cast<unsigned>(d_.below(2)) : 0;
            add_scan(std::move(j));
        }
        if (d_.one_in(3))
            group.add({.name = "asks"}, [this, ends = std::make_shared<end_of_task>()](allot::task_step& step) {
                return answer.has_passed(step) ? allot::task_outcome::done : allot::task_outcome::would_block;
            });
        wait();
        if (!failed)
            for (auto& [b, id] : std::exchange(kept_, {})) add_check(std::move(b), id);
        wait();
        kept_.clear();
        if (ends == end::well && !failed) expect(sum_ == expected_, "tasks of a group are missing");
    }

  private:
    engine& e_;
    dice d_;

  public:
    allot::task_group group;
    gate answer;
    const end ends;
    bool failed = false;

  private:
    struct kept_batch {
        batch data;
        std::uint64_t id;
    };
    void wait() {
        try {
            group.wait();
        } catch (const allot::task_error& e) {
            failed = true;
            judge(e, e.what());
        }
    }
    // Whether the plan has this error.
    void judge(const std::nested_exception& e, const char* text) const {
        try {
            e.rethrow_nested();
        } catch (const allot::task_error& inner) {
            return judge(inner, text);
        } catch (const std::bad_alloc&) {
            if (!e_.p.must) return;
        } catch (const std::runtime_error& own) {
            if (ends == end::own_error && std::strcmp(own.what(), "own") == 0) return;
        } catch (...) {
        }
        wrong(std::string("a group ends with ") + text), e_.write_report();
    }
    allot::task_needs says(dice& d, const char* what) const {
        const std::size_t all = d.one_in(3) ? 0 : e_.p.work / (1 + d.below(8));
        return {.name = what, .output = e_.p.batch, .overhead = all};
    }
    batch made(dice& d, std::uint64_t id, account& by) const {
        const std::size_t bytes = std::max<std::size_t>(1, d.below(e_.p.batch));
        allot::buffer b = e_.pools[d.below(e_.pools.size())]->memory().allocate(by, bytes);
        fill(b.data(), b.size(), id);
        return e_.stores[d.below(e_.stores.size())].put(std::move(b));
    }
    void is_done(std::uint64_t seed) { sum_ += soak::mix(seed); }
    void add_scan(job j) {
        dice d(j.seed);
        const allot::task_needs needs = says(d, "scan");
        expected_ += soak::mix(j.seed);
        group.add(
            needs,
            [this, j](allot::task_step& step) {
                dice mine(j.seed);
                work now(e_, step.memory(), j.seed + 1);
                now.some(mine.below(48));
                if (step.attempts() < j.fails_first) throw std::bad_alloc();
                batch b = made(mine, j.seed, step.memory());
                now.some(mine.below(16));
                if (j.is_broken) throw std::runtime_error("own");
                return b;
            },
            [this, seed = j.seed](batch b) { sink_scan(std::move(b), seed); });
    }
    void sink_scan(batch b, std::uint64_t seed) {
        std::optional<kept_batch> other;
        {
            const std::lock_guard hold(lock_);
            if (kept_.size() < 3 || seed % 3 == 0) kept_.push_back({std::move(b), seed});
            else other = std::move(kept_.back()), kept_.pop_back();
        }
        if (other) add_join(allot::inputs(std::move(b), std::move(other->data)), {soak::mix(seed), {seed, other->id}});
        is_done(seed);
    }
    void add_join(std::vector<batch> in, job j) {
        dice d(j.seed);
        const allot::task_needs needs = says(d, "join");
        expected_ += soak::mix(j.seed);
        const auto sink = [this, seed = j.seed](batch b) {
            {
                const std::lock_guard hold(lock_);
                kept_.push_back({std::move(b), seed});
            }
            is_done(seed);
        };
        if (d.one_in(2))
            group.add(
                needs, std::move(in),
                [this, j](std::span<batch::pinned> data, allot::task_step& step) {
                    dice mine(j.seed);
                    work now(e_, step.memory(), j.seed + 1);
                    now.some(mine.below(48));
                    for (std::size_t i = 0; i != data.size(); ++i)
                        expect(holds_all(*data[i], j.inputs[i]), "bytes of an input have changed");
                    return made(mine, j.seed, step.memory());
                },
                sink);
        else
            group.add(
                needs, std::move(in),
                [this, j](std::span<batch> data, allot::task_step& step) {
                    dice mine(j.seed);
                    work now(e_, step.memory(), j.seed + 1);
                    for (std::size_t i = 0; i != data.size(); ++i)
                        read(data[i], j.inputs[i], mine), now.some(mine.below(16));
                    batch b = made(mine, j.seed, step.memory());
                    if (mine.one_in(2)) { // the last request
                        const allot::buffer last = std::move(data[0]).take(step.memory());
                        step.note_inputs_changed();
                        expect(holds_all(last, j.inputs[0]), "bytes of an input that was taken have changed");
                    }
                    return b;
                },
                sink);
    }
    // One input, in one of the ways of its handle.
    static void read(batch& b, std::uint64_t id, dice& d) {
        const std::size_t way = d.below(4);
        if (way == 0) static_cast<void>(b.spill());
        if (way == 1) {
            const auto pin = b.pin_to_change();
            expect(holds_all(*pin, id), "bytes of an input that is changed have changed before");
            fill(pin->data(), pin->size(), id);
        } else if (way == 2 && b.bytes() >= 16) {
            std::size_t at = 0;
            for (const batch& part : b.halves(8)) {
                const auto pin = part.pin();
                expect(holds(pin->data(), pin->size(), id, at / 8), "bytes of a half have changed");
                at += pin->size();
            }
        } else {
            expect(holds_all(*b.pin(), id), "bytes of an input have changed");
        }
    }
    void add_check(batch b, std::uint64_t id) {
        const job j{soak::mix(id + 5)};
        expected_ += soak::mix(j.seed);
        group.add(
            {.name = "check"}, allot::inputs(std::move(b)),
            [id, ends = j.ends](std::span<batch::pinned> data) { return holds_all(*data[0], id); },
            [this, seed = j.seed](bool holds) { expect(holds, "bytes of a result have changed"), is_done(seed); });
    }

    std::atomic<std::uint64_t> sum_{0}, expected_{0};
    std::mutex lock_;
    std::vector<kept_batch> kept_;
};

// ---- beside the tasks -----------------------------------------------------------------------------------------------

// A thread of no task: charges, promises, limits, trims. It never holds more than plan::outside.
class weather {
  public:
    weather(engine& e, std::vector<std::unique_ptr<query>>& all) : e_(e), all_(all), d_(e.p.seed + 7) {}
    void live(const std::atomic<bool>& is_over) {
        account first{e_.root, name{"outside"}, allot::credit_step{64_KiB}}, second{e_.queries[0], name{"outside 2"}};
        allot::quota batches{e_.root};
        std::vector<allot::account_reservation> promises;
        std::vector<charged> charges;
        const std::size_t each = e_.p.each();
        auto news = std::chrono::steady_clock::now(); // a task has ended
        std::uint64_t ended = 0;
        bool is_calm = false;
        while (!is_over) {
            std::this_thread::sleep_for(std::chrono::microseconds(d_.below(1'000)));
            const auto now = std::chrono::steady_clock::now();
            if (std::exchange(ended, tasks_ended.load()) != tasks_ended) news = now, is_calm = false;
            if (now - news > longest_without_end) { // each news begins a task again that cannot fit
                if (!std::exchange(is_calm, true)) return_all(charges, promises, batches), e_.root.set_limit(e_.p.most);
                look();
                continue;
            }
            account& by = d_.one_in(2) ? first : second;
            const std::size_t bytes = 1 + d_.below(each);
            switch (d_.below(16)) {
            case 0: e_.root.set_limit(e_.p.lowest + d_.below(e_.p.most - e_.p.lowest + 1)); break;
            case 1: e_.root.set_limit(e_.p.most); break;
            case 2:
            case 3:
                if (charges.size() < 3 && (d_.one_in(2) ? by.try_charge(bytes) : by.charge_for(bytes, 2_ms)))
                    charges.emplace_back(&by, bytes);
                break;
            case 4:
            case 5:
                if (charges.empty()) break;
                charges.back().first->refund(charges.back().second), charges.pop_back();
                break;
            case 6: e_.objects[d_.below(e_.objects.size())]->trim(); break;
            case 7: e_.stores[d_.below(e_.stores.size())].spill(bytes); break;
            case 8:
                if (promises.size() < 2)
                    promises.push_back(d_.one_in(2) ? by.reserve_for(bytes, 1_ms) : by.reserve_floor_for(bytes, 0_ms));
                break;
            case 9: promises.clear(); break;
            case 10: static_cast<void>(batches.request({{first, bytes}}, 1_ms)); break;
            case 11: batches.release(); break;
            case 12: use_objects(first, each); break;
            case 13: {
                piece none;
                e_.exchange.swap(none);
                break;
            }
            case 14:
                if (!charges.empty() && account::try_transfer(*charges.back().first, by, charges.back().second))
                    charges.back().first = &by;
                break;
            default: look();
            }
        }
        return_all(charges, promises, batches);
        e_.root.set_limit(e_.p.most);
    }

  private:
    using charged = std::pair<account*, std::size_t>;
    static constexpr std::chrono::seconds longest_without_end{3}; // it does nothing then
    void return_all(std::vector<charged>& charges, std::vector<allot::account_reservation>& promises,
                    allot::quota& batches) {
        late_ = {};
        e_.exchange.clear();
        for (const auto& [of, bytes] : charges) of->refund(bytes);
        charges.clear(), promises.clear(), batches.release();
    }
    void use_objects(account& by, std::size_t most) {
        object& of = *e_.objects[d_.below(e_.objects.size())];
        request r{by, of.draw(d_), d_.one_in(2) ? how::tries : how::timed, d_.below(1'000)};
        if (of.cost(r.bytes) <= most) late_ = of.take(r);
        if (d_.one_in(2)) late_ = {};
    }
    void look() {
        expect(e_.root.verify(), "the accounts are not valid while tasks run");
        for (auto& q : all_) {
            if (d_.one_in(4)) q->answer.open();
            if (q->ends == query::end::cancelled && d_.one_in(8)) q->group.cancel();
        }
    }
    engine& e_;
    std::vector<std::unique_ptr<query>>& all_;
    dice d_;
    piece late_;
};

// ---- resident memory ------------------------------------------------------------------------------------------------

std::size_t resident(const char* what) {
    std::ifstream from("/proc/self/status");
    for (std::string line; std::getline(from, line);)
        if (line.starts_with(what)) return std::strtoull(line.c_str() + std::strlen(what), nullptr, 10) * 1024;
    return 0;
}
// From now on VmHWM is what is resident now. Returns: that, or 0 where the system has no such call.
std::size_t begin_peak() {
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
    const std::size_t now = resident("VmRSS:"), peak = resident("VmHWM:");
    return peak <= now + 1_MiB ? now : 0;
}

// ---- the command line -----------------------------------------------------------------------------------------------

std::atomic<const engine*> engine_now{nullptr};

struct totals {
    std::uint64_t started = 0, done = 0, ran_out = 0, failed = 0, left = 0, most_books = 0;
    long nearest = -1'000'000'000; // growth of resident memory, less what is allowed
} all;

void play(const plan& p) {
    const std::size_t base = begin_peak();
    std::size_t others = 0;
    {
        engine e(p);
        engine_now = &e;
        std::vector<std::unique_ptr<query>> queries;
        dice d(p.seed + 3);
        for (std::size_t i = 0; i != p.groups; ++i)
            queries.push_back(std::make_unique<query>(e, e.runs[d.below(e.runs.size())], d.next()));
        std::atomic<bool> is_over{false};
        weather beside(e, queries);
        std::thread outside([&] { beside.live(is_over); });
        std::vector<std::thread> waiters;
        for (auto& q : queries) waiters.emplace_back([&q] { q->live(); });
        for (auto& t : waiters) t.join();
        is_over = true;
        outside.join();
        queries.clear();
        for (const auto& r : e.runs) {
            const allot::executor_stats s = r.stats();
            all.started += s.started, all.done += s.done, all.ran_out += s.ran_out, all.failed += s.failed;
        }
        for (const auto& s : e.stores) all.left += s.stats().left;
        for (const auto& o : e.objects) o->trim();
        expect(!p.must || e.root.used() <= p.kept, "more is kept than the plan says: the oracle does not hold");
        all.most_books = std::max<std::uint64_t>(all.most_books, e.root.used());
        others = e.far.peak() + (e.gpu ? e.gpu->memory.peak() : 0);
        engine_now = nullptr;
    }
    const std::size_t peak = resident("VmHWM:");
    const std::size_t allowed = p.most + others + 16_MiB + (p.threads[0] + p.threads[1] + p.groups) * 64_KiB;
    if (base == 0 || ALLOT_ASAN || ALLOT_TSAN || peak < base) return;
    all.nearest = std::max(all.nearest, static_cast<long>(peak - base) - static_cast<long>(allowed));
    if (peak - base > allowed)
        wrong("resident memory grew by " + kib(peak - base) + ", of " + kib(allowed) + " allowed");
}

// Ends the program where no task ends for a minute.
void watch() {
    std::uint64_t before = 0, seed = 0;
    for (int idle = 0;; ++idle) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const std::uint64_t now = tasks_ended, of = seed_now;
        if (now != before || of != seed) idle = 0;
        before = now, seed = of;
        if (idle != 60) continue;
        std::printf("seed %llu: no task has ended for a minute\n", static_cast<unsigned long long>(seed));
        if (const engine* const e = engine_now; e != nullptr) std::puts(e->p.text().c_str()), e->write_report();
        std::fflush(stdout);
        std::_Exit(3);
    }
}

} // namespace

int main(int n, char** words) {
    std::uint64_t seeds = 24, first = 1, seconds = UINT32_MAX;
    std::size_t threads = 8, objects = 40;
    bool tells = false;
    for (int i = 1; i + 1 < n; i += 2) {
        const std::string word = words[i];
        const std::uint64_t value = std::strtoull(words[i + 1], nullptr, 10);
        if (word == "--seeds") seeds = value;
        else if (word == "--first") first = value;
        else if (word == "--threads") threads = std::max<std::size_t>(value, 1);
        else if (word == "--objects") objects = std::max<std::size_t>(value, 1);
        else if (word == "--seconds") seconds = value, seeds = n > 3 ? seeds : UINT32_MAX;
        else if (word == "--plans") tells = value != 0;
        else return std::printf("unknown: %s\n", words[i]), 2;
    }
    ::mallopt(M_ARENA_MAX, 1); // else each thread has a heap of its own, which keeps pages
    std::thread(watch).detach();
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t played = 0;
    for (std::uint64_t seed = first; seed != first + seeds; ++seed, ++played) {
        const auto so_far = std::chrono::steady_clock::now() - start;
        if (so_far >= std::chrono::seconds(seconds)) break;
        seed_now = seed;
        const plan p(seed, threads, objects);
        const std::uint64_t before = wrong_so_far;
        if (tells)
            std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), p.text().c_str()),
                std::fflush(stdout);
        play(p);
        if (wrong_so_far != before) std::printf("  %s\n", p.text().c_str());
    }
    const auto number = [](std::uint64_t of) { return static_cast<unsigned long long>(of); };
    std::printf(
        "%llu seeds, %llu steps; tasks: %llu started, %llu done, %llu ran out, %llu groups failed; %llu objects "
        "left memory; books %llu KiB at most; resident memory %ld KiB from what is allowed; %llu wrong\n",
        number(played), number(steps_of_all), number(all.started), number(all.done), number(all.ran_out),
        number(all.failed), number(all.left), number(all.most_books >> 10), all.nearest / 1024, number(wrong_so_far));
    return wrong_so_far != 0;
}
