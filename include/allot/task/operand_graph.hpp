// Operands: tasks that depend on each other's results. They are added with their graph before they are ready.
//
//     allot::task_group query{run, name{"query 7"}};
//     allot::operand_graph<batch> graph{query};
//     const auto scan = graph.add({.name = "scan", .output = 1_MiB}, {}, read);
//     const auto sort = graph.add({.name = "sort", .output = 1_MiB}, {scan}, [&](auto inputs, task_step& step) {
//         return sort_of(*inputs[0], step.memory());
//     });
//     graph.start();                                        // when all are added: no result ends before
//     query.wait();
//     std::optional<batch> sorted = graph.take(sort);
//
//   operand_state.hpp has the states. One becomes ready when the last that it depends on is done; then an outside
//   scheduler is asked, if there is one, and the executor starts it when its memory is there. Its inputs are pinned
//   where they are, once for all that use them at a time; a result ends when all that depend on it have theirs.
// An exception of any step ends the group: task_group::wait() throws it, with the operand's name. A function that
// on_error() takes may give a result instead, or ask for another run.
// Invariant: an operand that has begun depends on none that is not done. Cost: 500 bytes an operand, and its kernel.
// Threads: any. Source: Mars' operand actors, 2018, whose queue kept outdated copies of an operand.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/operand_state.hpp>
#include <allot/task/task_error.hpp>
#include <allot/task/task_group.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

/// What an outside scheduler says of an operand that is ready.
enum class operand_place : std::uint8_t {
    here,
    not_now,   // it is asked again by ask_again()
    elsewhere, // its result comes by made_elsewhere()
};

/// Of results of one type: a handle, as stored<buffer>. Requires: the group outlives it. Functions that take an id
/// throw std::out_of_range for one that is not there. What functions of the user throw ends the group.
template <spillable T> class operand_graph {
    using guard = detail::lock_guard<detail::sys::mutex>;
    using state = operand::state;
    using event = operand::event;
    using pin_of_result = decltype(std::declval<const T&>().pin());

  public:
    using id = std::size_t;
    using pinned = pin_of_result;

    /// `where`: asked once for each operand that becomes ready, without a lock; null: all are made here.
    explicit operand_graph(task_group& in, std::function<operand_place(id)> where = nullptr)
        : group_(in), where_(std::move(where)) {
        group_.add(cut_);
    }
    operand_graph(const operand_graph&) = delete;
    operand_graph& operator=(const operand_graph&) = delete;
    /// Cancels the group, and waits for what runs.
    ~operand_graph() {
        group_.cancel();
        group_.join();
        group_.remove(cut_);
    }

    /// `compute(std::span<pinned>, task_step&)` returns the result, of the inputs in this order; it may be called
    /// several times, as a kernel of a task. `says`: what it needs beside its inputs.
    /// Throws: std::bad_alloc; std::invalid_argument for an operand that is not there, or whose result has ended, as it
    /// may once the graph has started. Of a group that has ended it is withdrawn.
    template <class Compute> id add(const task_needs& says, const std::vector<id>& inputs, Compute compute) {
        std::unique_ptr<node> made = std::make_unique<node_of<Compute>>(*this, says, std::move(compute));
        id at = 0;
        bool is_ready = false;
        {
            const guard hold(lock_);
            at = made->at = nodes_.size();
            made->inputs.reserve(inputs.size());
            for (const id i : inputs) {
                if (i >= at || (!has_ended_ && ((nodes_[i]->now == state::done && !nodes_[i]->result) ||
                                                nodes_[i]->now == state::withdrawn)))
                    throw std::invalid_argument("allot: an operand depends on one that is not there");
                made->inputs.push_back(nodes_[i].get());
            }
            node& n = *made;
            nodes_.push_back(std::move(made));
            try {
                for (node* const i : n.inputs) i->users.push_back(&n);
            } catch (...) {
                for (node* const i : n.inputs) std::erase(i->users, &n);
                nodes_.pop_back();
                throw;
            }
            for (node* const i : n.inputs) ++i->uses, n.missing += i->now != state::done;
            if (has_ended_) n.now = state::withdrawn, n.is_finished = true;
            is_ready = has_started_ && !has_ended_ && n.missing == 0;
        }
        if (is_ready) ready({&node_at(at)});
        return at;
    }
    /// Begins those that are ready. Operands that are added later begin at once, if they are ready. Idempotent.
    void start() {
        std::vector<node*> all;
        {
            const guard hold(lock_);
            if (std::exchange(has_started_, true)) return;
            for (const auto& n : nodes_)
                if (n->missing == 0) all.push_back(n.get());
        }
        ready(std::move(all));
    }
    /// Its place is that of tasks of a group with this number, from its next attempt on. False: it is over.
    bool set_number(id of, std::int64_t number) {
        task_ref task;
        {
            const guard hold(lock_);
            node& n = known(of);
            n.number = number;
            if (!n.task_is_queued) return n.now == state::waiting;
            task = n.task;
        }
        return task.set_number(number);
    }
    /// Nobody needs it, nor those that depend on it: they end, unless they run or are done. False: that one does.
    bool withdraw(id of) {
        std::vector<node*> all;
        {
            const guard hold(lock_);
            node& n = known(of);
            if (n.now == state::withdrawn) return true;
            all.reserve(nodes_.size());
            if (!withdraw(n)) return false;
            all.push_back(&n);
            for (std::size_t i = 0; i != all.size(); ++i)
                for (node* const user : all[i]->users) // they wait for it
                    if (withdraw(*user)) all.push_back(user);
        }
        for (node* const n : all) finish(*n);
        return true;
    }
    /// Where the operand has failed for good, f(error) returns its result, or none for another run from the start.
    /// `error`: what the kernel has thrown last, or failed_elsewhere() was given. What f throws ends the group, `error`
    /// itself as without f. It is called without a lock, on the thread that ran the attempt or reported the failure,
    /// for no error of storing, and in no group that has ended. A kernel that has changed its inputs does not run
    /// again.
    /// Effects: replaces an earlier f; an empty one takes it away. Throws: std::bad_alloc.
    void on_error(id of, std::function<std::optional<T>(std::exception_ptr)> f) {
        std::shared_ptr<const error_function> made;
        if (f) made = std::make_shared<const error_function>(std::move(f));
        const guard hold(lock_);
        known(of).on_error.swap(made); // the earlier one ends behind the lock
    }
    /// The result of one that is made elsewhere; it may come inside the call that asks the outside scheduler for it, or
    /// beside it. False: it is made here, is over, or was not asked for yet; then the result ends.
    bool made_elsewhere(id of, T result) {
        node& n = node_at(of);
        {
            const guard hold(lock_);
            if (n.is_asked && !n.early && !n.failed_early) return n.early.emplace(std::move(result)), true;
        }
        return store(n, std::move(result), state::elsewhere);
    }
    /// The other place cannot make it: unless on_error() helps, the group ends with this error, nested in that of the
    /// operand. Another run: the outside scheduler is asked again. When, and false, as made_elsewhere(); false, too,
    /// while on_error() is asked.
    bool failed_elsewhere(id of, std::exception_ptr why) {
        if (why == nullptr) why = std::make_exception_ptr(std::runtime_error("it has failed elsewhere"));
        node& n = node_at(of);
        {
            const guard hold(lock_);
            if (n.is_asked && !n.early && !n.failed_early) return n.failed_early = std::move(why), true;
            if (n.now != state::elsewhere || std::exchange(n.is_failing, true)) return false;
        }
        bool is_retried = false;
        if (std::optional<T> made = recover_elsewhere(n, why, is_retried)) store(n, *std::move(made), state::elsewhere);
        if (is_retried) ready({&n});
        return true;
    }
    /// Asks the outside scheduler once more for those that are ready, and not now.
    void ask_again() {
        std::vector<node*> all;
        {
            const guard hold(lock_);
            for (const auto& n : nodes_) {
                n->asks_again = n->is_asked;
                if (std::exchange(n->is_put_off, false)) all.push_back(n.get());
            }
        }
        ready(std::move(all));
    }
    /// Calls then(done or withdrawn) once: at once, where that has come already; else on the thread that ends it. Where
    /// the group ends before: with the state that it has then.
    void on_finish(id of, std::function<void(state)> then) {
        state now{};
        {
            const guard hold(lock_);
            node& n = known(of);
            now = n.now;
            if (!n.is_finished) return n.finish.push_back(std::move(then));
        }
        calls(node_at(of), [&] { then(now); });
    }
    /// The result of one that is done, and that no operand needs any more. None: it is not, or was taken.
    std::optional<T> take(id of) {
        const guard hold(lock_);
        node& n = known(of);
        return n.uses == 0 ? std::exchange(n.result, std::nullopt) : std::nullopt;
    }
    state state_of(id of) const {
        const guard hold(lock_);
        return known(of).now;
    }

  private:
    using error_function = std::function<std::optional<T>(std::exception_ptr)>;
    struct input;
    struct node {
        node(operand_graph& graph, const task_needs& needs) noexcept : in(graph), says(needs) {}
        node(const node&) = delete;
        node& operator=(const node&) = delete;
        virtual ~node() = default;
        virtual task_ref queue(std::vector<input> from) = 0; // its task

        operand_graph& in;
        const task_needs says;
        id at = 0;
        std::vector<node*> inputs, users;
        std::size_t missing = 0; // inputs that are not done
        std::size_t uses = 0;    // by users that are not done, nor withdrawn
        std::optional<std::int64_t> number;
        bool is_asked = false, asks_again = false; // the outside scheduler, now; and once more
        bool is_put_off = false, task_is_queued = false, is_finished = false;
        bool is_failing = false; // elsewhere: on_error is asked
        state now = state::waiting;
        task_ref task;
        std::optional<T> result, early; // early: it came before the scheduler had said `elsewhere`
        std::exception_ptr failed_early;
        std::shared_ptr<const error_function> on_error;
        std::vector<std::function<void(state)>> finish;
    };
    // An input of a task: the result of an operand that is done, where it is.
    struct input {
        pinned pin() const {
            of->in.begins(*user);
            return std::as_const(*of->result).pin();
        }
        auto try_pin() const
            requires requires(const T& t) { t.try_pin(); }
        {
            return std::as_const(*of->result).try_pin();
        }
        bool is_away() const noexcept
            requires requires(const T& t) { t.is_away(); }
        {
            return of->result->is_away();
        }
        std::size_t bytes() const noexcept { return of->result->bytes(); }
        node* of;
        node* user;
    };
    // Where the result of a task goes, or comes from where it has failed.
    struct result_of {
        void operator()(T made) const { of->in.store(*of, std::move(made), state::storing); }
        std::optional<T> recover(const std::exception_ptr& why) const { return of->in.recover(*of, why); }
        node* of;
    };
    template <class Compute> struct node_of final : node {
        node_of(operand_graph& graph, const task_needs& needs, Compute c) : node(graph, needs), compute(std::move(c)) {}
        task_ref queue(std::vector<input> from) override {
            const auto kernel = [this](std::span<pinned> all, task_step& step) {
                return this->in.attempt(*this, [&] { return compute(all, step); });
            };
            return this->in.group_.add_known(this->says, std::move(from), kernel, result_of{this});
        }
        Compute compute;
    };
    struct cut final : detail::group_watch {
        explicit cut(operand_graph& of) noexcept : all(of) {}
        void cancelled() noexcept override { all.group_has_ended(); }
        operand_graph& all;
    };

    // Requires the lock.
    node& known(id of) const {
        if (of >= nodes_.size())
            throw std::out_of_range("allot: there is no operand " + std::to_string(of) + ": the graph has " +
                                    std::to_string(nodes_.size()));
        return *nodes_[of];
    }
    node& node_at(id of) const {
        const guard hold(lock_);
        return known(of);
    }
    // Requires the lock.
    static void step(node& n, event by) noexcept {
        ALLOT_ASSERT(operand::detail::is_legal(n.now, by), "an operand's state takes the event");
        n.now = operand::detail::after(n.now, by);
    }
    // An attempt begins, by its first pin or its kernel; what an attempt left that ran out of memory is over.
    void begins(node& n) noexcept {
        const guard hold(lock_);
        begins_locked(n);
    }
    static void begins_locked(node& n) noexcept {
        if (n.now == state::loading || n.now == state::withdrawn) return; // its group has ended as it began
        if (n.now == state::computing || n.now == state::storing) step(n, event::ran_out);
        step(n, event::begun);
    }
    template <class Compute> T attempt(node& n, Compute compute) {
        {
            const guard hold(lock_);
            begins_locked(n); // if all were pinned before
            if (n.now == state::withdrawn) throw std::runtime_error("allot: its group has ended");
            step(n, event::loaded);
        }
        try {
            T made = compute();
            const guard hold(lock_);
            step(n, event::computed);
            return made;
        } catch (const std::bad_alloc&) {
            const guard hold(lock_);
            step(n, event::ran_out);
            throw;
        }
    }
    // Their inputs are done; and those of others, once results of these have come from elsewhere.
    void ready(std::vector<node*> all) {
        for (std::size_t i = 0; i != all.size(); ++i)
            if (std::optional<T> early = place(*all[i])) store(*all[i], *std::move(early), state::elsewhere, all);
    }
    // Asks where it is made; its task is queued if that is here. Returns: its result, if that has come from elsewhere.
    std::optional<T> place(node& n) {
        for (bool is_retried = true; is_retried;) {
            {
                const guard hold(lock_);
                if (n.now != state::waiting) return std::nullopt; // withdrawn meanwhile
                n.is_asked = where_ != nullptr;
            }
            operand_place where = operand_place::here;
            if (where_ != nullptr) calls(n, [&] { where = where_(n.at); });
            std::exception_ptr failed;
            {
                const guard hold(lock_);
                n.is_asked = false;
                std::optional<T> early = std::exchange(n.early, std::nullopt);
                failed = std::exchange(n.failed_early, nullptr);
                if (n.now != state::waiting) return std::nullopt;
                if (where == operand_place::not_now) {
                    if (std::exchange(n.asks_again, false)) continue;
                    n.is_put_off = true;
                    return std::nullopt;
                }
                const bool is_here = where == operand_place::here && failed == nullptr;
                step(n, is_here ? event::ready : event::left);
                if (!is_here && failed == nullptr) return early;
                n.is_failing = failed != nullptr;
            }
            if (failed == nullptr) return queue(n), std::nullopt;
            if (std::optional<T> made = recover_elsewhere(n, failed, is_retried)) return made;
        }
        return std::nullopt;
    }
    void queue(node& n) {
        std::vector<input> from;
        from.reserve(n.inputs.size());
        for (node* const i : n.inputs) from.push_back({i, &n});
        const task_ref task = n.queue(std::move(from));
        std::optional<std::int64_t> number;
        {
            const guard hold(lock_);
            n.task = task;
            n.task_is_queued = true;
            number = n.number;
        }
        if (number) task.set_number(*number);
    }
    // Null: none, or its kernel has ended well, and its result failed to move.
    std::shared_ptr<const error_function> error_function_of(const node& n) const {
        const guard hold(lock_);
        return n.now != state::storing ? n.on_error : nullptr;
    }
    // Its task has failed for good. Returns: the result after that; none: another run.
    std::optional<T> recover(node& n, const std::exception_ptr& why) {
        const std::shared_ptr<const error_function> f = error_function_of(n);
        if (f == nullptr) std::rethrow_exception(why);
        std::optional<T> made = (*f)(why);
        const guard hold(lock_);
        if (n.now == state::withdrawn) return made; // its group has ended
        step(n, made ? event::recovered : event::retried);
        if (!made && has_ended_) step(n, event::withdrew);
        return made;
    }
    // Requires: is_failing. Returns: the result after the error; none and `is_retried`: it waits again.
    std::optional<T> recover_elsewhere(node& n, const std::exception_ptr& why, bool& is_retried) {
        std::optional<T> made;
        bool asks_for_run = false;
        calls(n, [&] {
            const std::shared_ptr<const error_function> f = error_function_of(n);
            if (f == nullptr) std::rethrow_exception(why);
            made = (*f)(why);
            asks_for_run = !made;
        });
        const guard hold(lock_);
        is_retried = asks_for_run && n.now == state::elsewhere; // not made, nor withdrawn meanwhile
        if (is_retried) step(n, event::retried), n.is_failing = false;
        return made;
    }
    // A function of the user, for an operand: what it throws ends the group.
    template <class Call> void calls(const node& of, Call call) noexcept {
        const auto fails = [&](std::string_view what) {
            group_.fail(std::make_exception_ptr(task_error{group_.name(), of.says.name, what}));
        };
        try {
            call();
        } catch (const std::exception& e) {
            fails(e.what());
        } catch (...) {
            fails("an error that is no std::exception");
        }
    }
    // False: it is in another state.
    bool store(node& n, T made, state from) {
        std::vector<node*> next;
        if (!store(n, std::move(made), from, next)) return false;
        ready(std::move(next));
        return true;
    }
    // `next`: gets those that have all their inputs now.
    bool store(node& n, T made, state from, std::vector<node*>& next) {
        std::vector<T> ended; // results that nobody needs any more
        {
            const guard hold(lock_);
            if (n.now != from) return false;
            next.reserve(next.size() + n.users.size()), ended.reserve(n.inputs.size());
            n.result.emplace(std::move(made));
            step(n, event::stored);
            for (node* const user : n.users)
                if (user->now == state::waiting && --user->missing == 0) next.push_back(user);
            release_inputs(n, ended);
        }
        finish(n);
        return true;
    }
    // Requires the lock.
    static void release_inputs(node& n, std::vector<T>& ended) {
        for (node* const i : n.inputs)
            if (--i->uses == 0 && i->result) ended.push_back(*std::exchange(i->result, std::nullopt));
    }
    // Requires the lock. False: it runs, or is over.
    static bool withdraw(node& n) {
        if (!operand::detail::is_legal(n.now, event::withdrew)) return false;
        if (n.now == state::queued && !n.task.withdraw()) return false; // a thread has it
        step(n, event::withdrew);
        for (node* const i : n.inputs) --i->uses; // a result that none needs any more stays, for take()
        return true;
    }
    void group_has_ended() noexcept {
        id end = 0;
        {
            const guard hold(lock_);
            has_ended_ = true;
            end = nodes_.size();
            for (const auto& n : nodes_)
                if (operand::detail::is_legal(n->now, event::withdrew)) step(*n, event::withdrew);
        }
        for (id at = 0; at != end; ++at) // later ones are withdrawn where they are added
            if (state_of(at) != state::done) finish(node_at(at));
    }
    void finish(node& n) {
        std::vector<std::function<void(state)>> all;
        state now{};
        {
            const guard hold(lock_);
            if (std::exchange(n.is_finished, true)) return;
            now = n.now;
            all.swap(n.finish);
        }
        for (const auto& then : all) calls(n, [&] { then(now); });
    }

    task_group& group_;
    const std::function<operand_place(id)> where_;
    mutable detail::sys::mutex lock_{detail::lock_rank::operands};
    std::vector<std::unique_ptr<node>> nodes_;
    bool has_started_ = false, has_ended_ = false;
    cut cut_{*this};
};

#endif

} // namespace allot::inline ALLOT_ABI
