// Runs a planned situation: tasks that take memory of real managers, arenas and device allocators, under real accounts
// and an arbiter. Only the scheduler and the clock are the stage's.
#pragma once

#include <model/oom_cache.hpp>
#include <model/oom_outcome.hpp>
#include <model/oom_plan.hpp>
#include <support/hooked_home.hpp>
#include <support/stage.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/held_outside.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/use/drill.hpp>
#include <allot/use/spark.hpp>

#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace support {

using allot::account;

struct spark_device : allot::with<allot::use::spark, allot::page::on_device<allot::device::simulated>, allot::fit::best,
                                  allot::order::stream> {};
struct pool_set : allot::with<allot::use::drill, allot::oom::null> {};
class situation {
  public:
    explicit situation(const plan& p, bool keeps_log = false) : situation(p, {p.rules}, keeps_log) {}
    situation(const plan& p, const policy& by, bool keeps_log = false)
        : plan_(p), by_(by), keeps_log_(keeps_log), stage_(p.seed, [this] { return stuck(); }, [this] { step(); }) {}

    outcome run() {
        if (plan_.has_cache)
            cache_.emplace(engine_, stage_, plan_.cache_frees_later, [this] {
                if (plan_.kills > kills_ && stage_.dice().one_in(4)) kill();
            });
        if (plan_.home_is_slow) {
            home_.in_read = [this] { return stage_.point(), true; };
            home_.in_write = [this] {
                for (auto n = stage_.dice().below(4); n != 0; --n) stage_.point();
                return !plan_.home_may_fail || !stage_.dice().one_in(4);
            };
        }
        for (std::size_t i = 0; i != plan_.tasks.size(); ++i) tasks_.push_back(std::make_unique<work>(*this, i));
        tasks_left_ = tasks_.size();
        for (auto& w : tasks_)
            for (std::size_t t = 0; t != w->plan.threads.size(); ++t)
                stage_.add([this, &w, t] { t == 0 ? first_thread(*w) : other_thread(*w, t); });
        for (const task_plan& t : plan_.tasks)
            for (const thread_plan& w : t.threads)
                for (unsigned i = 0; i != w.workers * (w.asks_pool ? 2 : 1); ++i) stage_.add([this] { worker(); });
        for (unsigned i = 0; i != plan_.pool_threads + plan_.shuffle_threads; ++i)
            stage_.add([this, i] { pool_thread(i >= plan_.pool_threads); });
        for (const outsider_plan& o : plan_.outsiders) stage_.add([this, &o] { outsider(o); });
        if (plan_.cache_frees_later) stage_.add([this] { writer(); });
        stage_.play();
        check();
        out_.steps = stage_.steps();
        out_.trace = stage_.trace();
        return out_;
    }

  private:
    using rows_type = allot::row_manager<allot::use::spark>;
    using blocks_type = allot::chunk_arena<allot::use::spark>;
    using gpu_type = allot::device_allocator<spark_device>;
    using piece = std::shared_ptr<void>;
    using stored_buffer = allot::stored<allot::buffer>;
    static constexpr allot::leak_sink unheard{[](void*, std::string_view) noexcept {}};

    struct work {
        work(situation& in, std::size_t n)
            : plan(in.plan_.tasks[n]), number(n), host{in.engine_, allot::name{"task"}},
              device{in.gpu_engine_, allot::name{"task"}}, first_is_done{in.tasks_by_} {}
        const task_plan& plan;
        const std::size_t number;
        account host, device;
        std::optional<rows_type> rows;
        std::optional<blocks_type> blocks;
        std::optional<oom::task> task;
        oom::latch first_is_done;
        std::vector<piece> kept;
        std::size_t threads_left = 0;
        unsigned round = 0, halvings = 0;
        std::uint64_t done = 0; // work that would be lost with the task
        bool killed = false, refused = false, over = false;
    };
    // The input of an attempt.
    struct input {
        std::size_t size = 0;
        std::shared_ptr<stored_buffer> data; // of all parts of it
        auto pin() const { return data ? std::optional<stored_buffer::pinned>(data->pin()) : std::nullopt; }
        std::size_t bytes() const noexcept { return data ? data->bytes() : 0; }
    };
    struct job {
        work& of;
        thread_plan what;
        std::exception_ptr error{};
        bool done = false;
    };
    // A worker of one attempt.
    struct call {
        work& of;
        const thread_plan& what;
        std::size_t bytes;
        oom::retry_scope* joins;
        oom::latch& done;
        std::exception_ptr error{};
        bool over = false;
    };
    struct attempt {
        situation& in;
        work& of;
        std::uint64_t bytes = 0;
        bool done = false;
        ~attempt() {
            (done ? in.out_.done : in.out_.lost) += bytes;
            if (done) of.done += bytes;
        }
    };
    struct count_down_at_end {
        stage& on;
        oom::latch& of;
        ~count_down_at_end() {
            if (of.try_wait()) return; // by a run of its task before
            of.count_down();
            on.wake(&of);
        }
    };
    class permit_back {
      public:
        explicit permit_back(situation& in) noexcept : in_(in) {}
        permit_back(const permit_back&) = delete;
        ~permit_back() {
            ++in_.free_permits_;
            in_.stage_.wake(&in_.permits_);
        }

      private:
        situation& in_;
    };
    // ---- requests -----------------------------------------------------------------------------------------------

    template <class Frees> piece freed_by(void* p, Frees frees) {
        return piece(p, [this, frees](void* q) mutable {
            if (stage_.dice().one_in(4)) stage_.point();
            frees(q);
        });
    }
    piece charged(account& by, std::size_t bytes) {
        by.charge(bytes);
        return freed_by(&by, [&by, bytes](void*) { by.refund(bytes); });
    }
    piece take(work& w, source from, std::size_t bytes, bool odd) {
        switch (from) {
        case source::charges: break;
        case source::timed_charges:
            if (odd) break;
            if (const auto s = w.host.charge_for(bytes, allot::time_span{stage_.dice().below(3)}); s)
                return freed_by(&w, [&w, bytes](void*) { w.host.refund(bytes); });
            else w.host.raise_verdict(s);
            return {};
        case source::rows:
            if (!w.rows) w.rows.emplace(w.host, allot::page_bytes{16_KiB}, unheard);
            return freed_by(w.rows->allocate(bytes), [&w](void* p) { w.rows->release(p); });
        case source::shared_rows: return freed_by(rows_.allocate(bytes), [this](void* p) { rows_.release(p); });
        case source::blocks:
            if (!w.blocks) w.blocks.emplace(w.host, allot::chunk_bytes{64_KiB}, unheard);
            return freed_by(w.blocks->allocate(bytes).address, [&w](void* p) { w.blocks->deallocate(p); });
        case source::buffers: {
            auto b = std::make_shared<allot::buffer>(memory_.allocate(w.host, bytes));
            return freed_by(b.get(), [b](void*) { *b = {}; });
        }
        case source::pool_buffers: {
            auto b = std::make_shared<allot::buffer>(pool_memory_.allocate(w.host, bytes));
            return freed_by(b.get(), [b](void*) { *b = {}; });
        }
        case source::pieces:
            return freed_by(gpu_.allocate(bytes, streams_[w.number % 2]),
                            [this, s = streams_[w.number % 2]](void* p) { gpu_.deallocate(p, s); });
        case source::device_charges: return charged(w.device, bytes);
        case source::both: return charged(odd ? w.device : w.host, bytes);
        }
        return charged(w.host, bytes);
    }

    // ---- work ---------------------------------------------------------------------------------------------------

    void point() {
        stage_.point();
        if (given_up_) throw abandoned{};
    }
    void body(work& w, const thread_plan& t, const input& in) {
        std::vector<piece> taken;
        attempt a{*this, w};
        try {
            const auto pinned = in.pin();
            if (pinned && (**pinned).get<unsigned char>((**pinned).size() - 1) != w.number)
                complain("an input changed");
            std::size_t left = in.size;
            for (unsigned i = 0; i != t.pieces && left != 0; ++i) {
                const std::size_t bytes = i + 1 == t.pieces ? left : in.size / t.pieces;
                if (bytes == 0) continue;
                point();
                for (int tries = 0;; ++tries) try {
                        taken.push_back(take(w, t.takes, bytes, i % 2 == 1));
                        break;
                    } catch (const allot::verdict_error&) {
                        if (w.plan.wrong != misdeed::ignores_verdicts || tries == 3) throw;
                        point();
                    }
                left -= bytes;
                a.bytes += bytes;
                if (cache_ && stage_.dice().one_in(4)) cache_->keep(stage_.dice().between(1, plan_.limit / 16));
                if (w.plan.wrong == misdeed::waits_with_memory && i == 0 && !t.takes_permit)
                    with_permit([&] { point(); });
            }
            if (t.workers != 0) call_workers(w, t, in.size / 4 + 1);
            point();
            if (w.plan.wrong == misdeed::throws_others && stage_.dice().one_in(2)) throw misbehaved("another error");
            a.done = true;
        } catch (...) {
            if (w.plan.wrong == misdeed::keeps_memory) // of attempts that others want back
                for (piece& p : taken) w.kept.push_back(std::move(p));
            if (stage_.dice().one_in(2)) stage_.point();
            throw;
        }
    }
    std::vector<input> split(const work& w, const input& whole) {
        if (w.plan.wrong == misdeed::never_splits) return {whole};
        if (whole.size < 2 * least_part) return {};
        const std::size_t half = whole.size / 2;
        return {{half, whole.data}, {whole.size - half, whole.data}};
    }
    void do_parts(work& w, const thread_plan& t) {
        std::vector<input> inputs;
        for (std::size_t i = 0; i != t.parts << w.halvings; ++i) inputs.push_back({t.bytes >> w.halvings, nullptr});
        if (t.has_data)
            for (input& i : inputs) {
                const std::size_t bytes = std::min(t.bytes / 4 + 1, plan_.limit / 8);
                oom::with_retry_no_split([&] {
                    point();
                    allot::buffer b = memory_.allocate(w.host, bytes);
                    b.set(bytes - 1, static_cast<unsigned char>(w.number));
                    i.data = std::make_shared<stored_buffer>(inputs_.put(std::move(b)));
                });
            }
        if (w.plan.wrong == misdeed::outside_scopes) body(w, t, inputs.front());
        if (w.plan.wrong == misdeed::leaves_scopes || w.plan.wrong == misdeed::leaves_by_that) try {
                const oom::retry_scope scope;
                body(w, t, inputs.front());
            } catch (const allot::verdict_error&) {
                if (w.plan.wrong == misdeed::leaves_by_that) throw;
            }
        oom::with_retry(inputs, [&](const input& i) { return split(w, i); }, [&](const input& i) { body(w, t, i); });
    }
    template <class Does> void with_permit(Does does) {
        {
            const oom::scoped_wait w{permits_};
            stage_.wait_until(&permits_, [&] { return free_permits_ != 0 || given_up_; });
            if (given_up_) throw abandoned{};
            --free_permits_;
        }
        const permit_back b(*this);
        if (stage_.dice().one_in(2)) stage_.point();
        const oom::resource::holder mine{permits_};
        does();
    }
    void call_workers(work& w, const thread_plan& t, std::size_t bytes) {
        oom::latch done{tasks_by_, t.workers};
        std::vector<call> calls(t.workers, {w, t, bytes, oom::retry_scope::now(), done});
        for (call& c : calls) calls_.push_back(&c);
        stage_.wake(&calls_);
        {
            const oom::scoped_wait here = t.joins_by_latch ? oom::scoped_wait{done} : oom::scoped_wait{*w.task};
            stage_.wait_until(&done, [&] { return done.try_wait(); });
        }
        for (call& c : calls) stage_.wait_until(&c, [&] { return c.over; }); // their tokens have ended
        for (const call& c : calls)
            if (c.error) std::rethrow_exception(c.error);
    }
    void worker() {
        for (;;) {
            stage_.wait_until(&calls_, [&] { return !calls_.empty() || tasks_left_ == 0; });
            if (calls_.empty()) return;
            call& c = *calls_.front();
            calls_.pop_front();
            try {
                const oom::task_thread here{*c.joins};
                const count_down_at_end tells{stage_, c.done};
                oom::with_retry_no_split([&] {
                    point();
                    const piece first = take(c.of, c.what.takes, c.bytes - c.bytes / 2, false);
                    point();
                    const piece second = take(c.of, c.what.takes, c.bytes / 2 + 1, true);
                    point();
                });
            } catch (...) {
                c.error = std::current_exception();
            }
            c.over = true;
            stage_.wake(&c);
        }
    }
    void ask_pool(work& w, const thread_plan& t) {
        job j{w, t};
        j.what.asks_pool = false;
        j.what.has_data = false;
        jobs_.push_back(&j);
        stage_.wake(&jobs_);
        {
            const oom::scoped_wait pool{oom::for_pool};
            stage_.wait_until(&j, [&] { return j.done; });
        }
        if (j.error) std::rethrow_exception(j.error);
    }
    void do_thread(work& w, const thread_plan& t) {
        if (t.waits_for != SIZE_MAX) {
            const work& other = *tasks_[t.waits_for];
            if (t.by_latch) {
                const oom::scoped_wait until{other.first_is_done};
                stage_.wait_until(&other.first_is_done, [&] { return other.first_is_done.try_wait(); });
            } else if (!other.over && other.task) {
                const oom::scoped_wait until{*other.task};
                stage_.wait_until(&other, [&] { return other.over; });
            }
        }
        if (w.plan.keeps != 0) oom::with_retry_no_split([&] { w.kept.push_back(charged(w.host, w.plan.keeps)); });
        if (t.takes_permit) with_permit([&] { do_parts(w, t); });
        else do_parts(w, t);
        if (t.asks_pool) ask_pool(w, t);
    }

    // ---- roles --------------------------------------------------------------------------------------------------

    void thread_of_task(work& w, const thread_plan& t) {
        try {
            const oom::task_thread here{*w.task};
            std::optional<count_down_at_end> tells;
            if (&t == &w.plan.threads[0]) tells.emplace(stage_, w.first_is_done);
            point();
            do_thread(w, t);
            ++out_.finished;
        } catch (const allot::task_removed&) {
            ++out_.removed;
            if (!w.killed && !given_up_) complain("a task was removed that was not killed");
        } catch (const allot::verdict_error&) {
            ++out_.misbehaved;
            if (w.plan.wrong != misdeed::leaves_by_that) complain("a verdict outside any scope");
        } catch (const allot::out_of_memory& e) {
            ++out_.refused;
            refuse(w, e.what());
        } catch (const misbehaved&) {
            ++out_.misbehaved;
        } catch (const abandoned&) {
        } catch (const std::exception& e) {
            complain(e.what());
        }
    }
    void refuse(work& w, const char* why) {
        if (by_.restarts) {
            w.refused = true;
            w.task->remove();
            w.killed = true; // the other threads are
        } else if (plan_.all_finish && by_.rules.tries_alone && by_.rules.rolled_back_wakes != oom::wakes::at_free &&
                   !given_up_) {
            complain(std::string("a well-behaved task was refused: ") + why);
        }
    }
    void first_thread(work& w) {
        stage_.point();
        for (bool again = true; again && !given_up_;) {
            w.done = 0;
            w.refused = w.killed = false;
            w.threads_left = w.plan.threads.size() - 1;
            w.task.emplace(tasks_by_, "task", -static_cast<std::int64_t>(w.number), &w.host);
            ++w.round;
            stage_.wake(&w.round);
            thread_of_task(w, w.plan.threads[0]);
            stage_.wait_until(&w.threads_left, [&] { return w.threads_left == 0; });
            w.kept.clear();
            w.rows.reset();
            w.blocks.reset();
            out_.stats += w.task->stats();
            again = w.refused;
            const std::size_t before = tasks_left_;
            if (!again) --tasks_left_, w.over = true;
            w.task.reset();
            stage_.wake(&w);
            stage_.wake(&tasks_left_);
            if (!again) break;
            out_.done -= w.done, out_.lost += w.done;
            if (running_ == 1) ++w.halvings; // it was alone
            --running_;
            stage_.wait_until(&tasks_left_, [&] { return tasks_left_ < before || running_ == 0 || given_up_; });
            ++running_;
        }
        if (!w.over) w.over = true, --tasks_left_;
        --running_;
        w.round = UINT32_MAX; // the last
        stage_.wake(&w.round);
        stage_.wake(&tasks_left_);
        stage_.wake(&jobs_);
        stage_.wake(&calls_);
        if (cache_) stage_.wake(&*cache_);
        stage_.wake(&w);
    }
    void other_thread(work& w, std::size_t t) {
        for (unsigned seen = 0;;) {
            stage_.wait_until(&w.round, [&] { return w.round != seen; });
            if ((seen = w.round) == UINT32_MAX) return;
            thread_of_task(w, w.plan.threads[t]);
            --w.threads_left;
            stage_.wake(&w.threads_left);
        }
    }
    void pool_thread(bool shuffles) {
        for (;;) {
            stage_.wait_until(&jobs_, [&] { return !jobs_.empty() || tasks_left_ == 0; });
            if (jobs_.empty()) return;
            std::vector<job*> mine{jobs_.front()};
            jobs_.pop_front();
            if ((shuffles || plan_.pools_queue) && !jobs_.empty()) mine.push_back(jobs_.front()), jobs_.pop_front();
            {
                oom::task_thread here{*mine[0]->of.task, shuffles ? oom::thread_kind::shuffle : oom::thread_kind::pool};
                if (mine.size() == 2) here.begin(*mine[1]->of.task);
                for (job* j : mine) {
                    try {
                        do_parts(j->of, j->what);
                    } catch (...) {
                        j->error = std::current_exception();
                    }
                    if (mine.size() == 2) here.end(*j->of.task), finish(*j);
                }
            }
            if (mine.size() == 1) finish(*mine[0]);
        }
    }
    void outsider(const outsider_plan& o) {
        account& by = o.on_device ? gpu_engine_ : engine_;
        for (unsigned i = 0; i != o.times && tasks_left_ != 0; ++i) {
            stage_.point();
            const auto holds = [&] {
                stage_.sleep(&o, stage_.now() + stage_.dice().between(1, o.longest_ms) * 1'000'000);
            };
            std::optional<oom::held_outside> token;
            if (o.announced) token.emplace(by, o.bytes);
            if (o.reserves) {
                account own{by, allot::name{"reserver"}};
                if (const auto mine = own.reserve_for(o.bytes, allot::time_span{o.longest_ms})) holds();
            } else if (by.try_charge(o.bytes)) {
                holds();
                by.refund(o.bytes);
            } else {
                continue;
            }
            if (stage_.dice().one_in(2)) stage_.point();
        }
    }
    void writer() {
        for (;;) {
            stage_.wait_until(&*cache_, [&] { return cache_->writes() || tasks_left_ == 0; });
            if (tasks_left_ == 0) return;
            stage_.sleep(&permits_, stage_.now() + stage_.dice().between(1, 50) * 1'000'000);
            cache_->end_write(plan_.cache_may_fail && stage_.dice().one_in(2));
        }
    }
    void finish(job& j) {
        j.done = true;
        stage_.wake(&j);
    }

    // ---- trouble ------------------------------------------------------------------------------------------------

    void complain(std::string what) {
        if (out_.wrong.empty()) out_.wrong = "seed " + std::to_string(plan_.seed) + ": " + std::move(what);
    }
    void kill() { // of a thread in the state that was planned, or of a random task
        const oom::machine now = tasks_by_.now();
        std::vector<work*> found;
        for (const auto& w : tasks_) {
            if (!w->task || w->killed) continue;
            for (const auto& t : now.threads())
                if (t.used && t.task == w->task->id() && t.state == static_cast<oom::thread_state>(plan_.killed_in)) {
                    found.push_back(w.get());
                    break;
                }
        }
        if (found.empty()) return;
        work& w = *found[stage_.dice().below(found.size())];
        for (const auto& t : now.threads())
            if (t.used && t.kind == oom::thread_kind::dedicated && t.task == w.task->id())
                out_.killed_in[static_cast<std::size_t>(t.state)] = true;
        ++kills_;
        w.killed = true;
        w.task->remove();
    }
    void step() {
        const bool is_rare = plan_.killed_in == static_cast<std::uint8_t>(oom::thread_state::split_throw);
        if (plan_.kills > kills_ && (is_rare || stage_.dice().one_in(6))) kill();
        if (stage_.steps() > by_.most_steps && !given_up_) give_up();
    }
    bool give_up() {
        out_.ended = false;
        given_up_ = true;
        for (const auto& w : tasks_)
            if (w->task) w->task->remove();
        for (const void* at : {static_cast<const void*>(&permits_), static_cast<const void*>(&tasks_left_)})
            stage_.wake(at);
        return true;
    }
    bool stuck() {
        const bool may_be = by_.most_steps != UINT64_MAX;
        if (!may_be || given_up_) {
            char page[8192];
            allot::text_writer text{page};
            tasks_by_.write_tasks(text);
            complain("no thread can go on; " + std::to_string(free_permits_) + " permits, " +
                     std::to_string(jobs_.size()) + " jobs\n" + std::string(text.view()));
            if (given_up_) std::fputs(out_.wrong.c_str(), stderr);
        }
        return !given_up_ && give_up();
    }
    void check() {
        const auto want = [&](bool holds, const char* what) {
            if (!holds) complain(what);
        };
        want(stages_are_over(), "a thread or task is left");
        tasks_.clear();
        cache_.reset();
        want(rows_.live_rows() == 0, "rows are left");
        want(inputs_.stats().entries == 0 && home_.records == 0, "inputs are left");
        rows_.trim();
        pool_.trim();
        gpu_.trim();
        want(engine_.used() == 0, "host memory is not refunded");
        want(gpu_engine_.used() == 0, "device memory is not refunded");
        want(far_.used() == 0, "far memory is not refunded");
        want(engine_.peak() <= plan_.limit && gpu_engine_.peak() <= plan_.limit, "a limit was exceeded");
        want(engine_.verify() && gpu_engine_.verify() && far_.verify(), "an account is not valid");
        want(out_.stats == tasks_by_.stats(), "the sum over the tasks is not that of all");
        want(log_.dropped() != 0 || log_.check(by_.rules) == oom::event_log::consistent,
             "the log does not follow from itself");
        if (!keeps_log_) return;
        char line[256];
        for (const oom::log_entry& e : log_.entries()) {
            allot::text_writer text{line};
            write(text, e);
            out_.log += text.view();
            out_.log += '\n';
        }
    }
    bool stages_are_over() const {
        const oom::machine now = tasks_by_.now();
        for (const auto& t : now.threads())
            if (t.used) return false;
        for (const auto& t : now.tasks())
            if (t.used) return false;
        return true;
    }

    const plan& plan_;
    const policy by_;
    const bool keeps_log_;
    outcome out_;
    stage stage_;
    oom::event_log log_{20'000};
    oom::arbiter tasks_by_{by_.rules, log_.sink(),
                           plan_.longest_wait_ms != 0 ? allot::time_span{plan_.longest_wait_ms} : allot::forever};
    account engine_{allot::name{"engine"}, allot::limit{plan_.limit}, tasks_by_},
        gpu_engine_{allot::name{"gpu"}, allot::limit{plan_.limit}, tasks_by_.device()}, far_{allot::name{"far"}};
    allot::heap_memory heap_;
    allot::buffer_memory memory_{heap_};
    hooked_home home_{far_, plan_.home_is_slow};
    allot::store inputs_{engine_, home_};
    allot::device::simulator sim_{{.granularity = 64_KiB,
                                   .execution = allot::device::execution::none,
                                   .sink = allot::device::hazard_sink::quiet()}};
    allot::device::simulated api_{sim_};
    std::array<allot::device::simulated::stream_type, 2> streams_{
        *api_.create_stream({0}, allot::device::stream_kind::non_blocking),
        *api_.create_stream({0}, allot::device::stream_kind::non_blocking)};
    allot::chunk_arena<pool_set> pool_{engine_, allot::limit{plan_.pool_limit}, allot::chunk_bytes{64_KiB}, unheard};
    allot::buffer_memory pool_memory_{pool_};
    rows_type rows_{engine_, allot::page_bytes{16_KiB}, unheard};
    gpu_type gpu_{api_, gpu_engine_, unheard};
    oom::resource permits_{tasks_by_, plan_.permits};
    unsigned free_permits_ = plan_.permits, kills_ = 0;
    std::optional<cache> cache_;
    std::deque<job*> jobs_;
    std::deque<call*> calls_;
    std::vector<std::unique_ptr<work>> tasks_;
    std::size_t tasks_left_ = 0, running_ = plan_.tasks.size();
    bool given_up_ = false;
};

} // namespace support
