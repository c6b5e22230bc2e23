// A task of an executor: its inputs, its kernel, and where its output goes.
//
// Between attempts it holds handles alone: no pin, no scope, no memory beyond them.
// Cost: 200 bytes, its inputs and its kernel, of the process' heap. Threads: one at a time. Use: task_group.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/task/admission.hpp>
#include <allot/task/learned_ratio.hpp>
#include <allot/task/task_state.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

/// What a kernel says of itself.
struct task_needs {
    const char* name = "task";       // in errors and reports; outlives the task
    std::size_t output = 0;          // bytes that it makes
    std::size_t overhead = 0;        // bytes that it takes meanwhile, beside inputs and output
    learned_ratio* learns = nullptr; // where not null: output is what earlier tasks made of as many bytes of inputs
};

/// A vector of them, for task_group::add(). Throws: std::bad_alloc.
template <spillable T, std::same_as<T>... More> std::vector<T> inputs(T first, More... more) {
    std::vector<T> all;
    all.reserve(1 + sizeof...(More));
    all.push_back(std::move(first));
    (all.push_back(std::move(more)), ...);
    return all;
}

/// How a kernel ended, if it says so.
enum class task_outcome : std::uint8_t {
    done,
    would_block, // it waits for something else, and is called again once a waker() of this call was called
};

class task_step;

namespace detail {

struct group_of_tasks;
class queued_task;

struct known_task; // task_step.hpp

// What a task makes of the error that it has failed with for good.
enum class recovery : std::uint8_t {
    none,
    result,      // deliver() has one
    another_run, // from the start
};

class queued_task : public admitted_task {
  public:
    queued_task(group_of_tasks& in, const task_needs& says) noexcept
        : of(in), said{text_or_empty(says.name), says.output, says.overhead, says.learns} {}
    queued_task(const queued_task&) = delete;
    queued_task& operator=(const queued_task&) = delete;
    virtual ~queued_task() = default;

    virtual std::size_t input_bytes() const noexcept = 0;
    // Of inputs that are not pinned.
    virtual std::size_t away_bytes() const noexcept = 0;
    // Pins what is in memory; then the rest.
    virtual void pin_present() noexcept = 0;
    // `promised`, to the group's account: gives up what is for inputs that are charged to another account.
    virtual void pin_all(account_reservation& promised, const account& of_group) = 0;
    virtual task_outcome run(task_step& step) = 0;
    virtual void unpin() noexcept = 0;
    // It has gone to the back: its inputs are used behind those of all others.
    virtual void mark_inputs() noexcept = 0;
    // The result of run(), or of recover(), goes where it belongs.
    virtual void deliver() = 0;
    // `why`: as its kernel, or a pin, has thrown it. Throws: that, or another error that its group ends with.
    virtual recovery recover(const std::exception_ptr& why) = 0;

    std::size_t beside_inputs() const noexcept {
        const std::size_t out =
            said.learns != nullptr ? said.learns->estimate(input_bytes(), said.output) : said.output;
        return sum_or_max(out, said.overhead);
    }

    group_of_tasks& of;
    const task_needs said;
    std::int64_t number = 0; // its place; the group's, unless it got another
    unsigned attempts = 0;   // that ran out of memory
    std::size_t least = 0;   // bytes that it needs: as many were not free when it ran out
    bool is_last = false;    // no attempt follows this one
    task_state now = task_state::waiting;
    std::shared_ptr<known_task> known; // where others may ask for it
    list_hook<queued_task> place_in_group;
    queued_task* next_ended = nullptr;
};

struct no_input {
    int pin() const noexcept { return 0; }
    std::size_t bytes() const noexcept { return 0; }
};
template <class Kernel>
concept kernel_without_inputs = std::is_invocable_v<Kernel&> || std::is_invocable_v<Kernel&, task_step&>;

template <class Kernel, class Pinned, class Input>
auto call_kernel(Kernel& kernel, std::span<Pinned> pins, std::span<Input> inputs, task_step& step) {
    if constexpr (std::is_invocable_v<Kernel&, std::span<Pinned>, task_step&>) return kernel(pins, step);
    else if constexpr (std::is_invocable_v<Kernel&, std::span<Pinned>>) return kernel(pins);
    else if constexpr (std::is_invocable_v<Kernel&, std::span<Input>, task_step&>) return kernel(inputs, step);
    else if constexpr (std::is_invocable_v<Kernel&, std::span<Input>>) return kernel(inputs);
    else if constexpr (std::is_invocable_v<Kernel&, task_step&>) return kernel(step);
    else return kernel();
}

// For a kernel whose result nobody wants, or that has none.
struct no_sink {
    void operator()(auto&&) const noexcept {}
};

// Sink: called with the result of the kernel. It may have std::optional<result> recover(std::exception_ptr): the result
// after an error, none: another run.
template <class Kernel, spillable Input, class Sink> class kernel_task final : public queued_task {
    using pinned = decltype(std::declval<Input&>().pin());
    static constexpr bool takes_pins =
        std::is_invocable_v<Kernel&, std::span<pinned>> || std::is_invocable_v<Kernel&, std::span<pinned>, task_step&>;

  public:
    kernel_task(group_of_tasks& in, const task_needs& says, std::vector<Input> all, Kernel kernel, Sink sink)
        : queued_task(in, says), inputs_(std::move(all)), present_(inputs_.size()), kernel_(std::move(kernel)),
          sink_(std::move(sink)) {
        if constexpr (takes_pins) pins_.reserve(inputs_.size());
    }

    std::size_t input_bytes() const noexcept override {
        return sum([](std::size_t) { return true; });
    }
    std::size_t away_bytes() const noexcept override {
        return sum([&](std::size_t i) { return !present_[i].has_value(); });
    }
    void pin_present() noexcept override {
        if constexpr (requires(Input& i) { i.is_away(), i.try_pin(); })
            for (std::size_t i = 0; i != inputs_.size(); ++i) {
                if (inputs_[i].is_away()) continue;
                if (auto p = inputs_[i].try_pin()) present_[i].emplace(std::move(p));
            }
    }
    void mark_inputs() noexcept override {
        if constexpr (requires(const Input& i) { i.mark_for_later(); })
            for (const Input& i : inputs_) i.mark_for_later();
    }
    void pin_all(account_reservation& promised, const account& of_group) override {
        for (std::size_t i = 0; i != inputs_.size(); ++i) {
            if (!present_[i]) give_up_promise(inputs_[i], promised, of_group);
            if constexpr (takes_pins) pins_.push_back(present_[i] ? *std::move(present_[i]) : inputs_[i].pin());
            else present_[i].reset(); // the kernel pins or takes it
        }
    }
    void unpin() noexcept override {
        pins_.clear();
        for (auto& p : present_) p.reset();
    }
    task_outcome run(task_step& step) override {
        if constexpr (std::is_void_v<decltype(call(step))>) {
            call(step);
        } else if constexpr (std::same_as<decltype(call(step)), task_outcome>) {
            return call(step);
        } else {
            result_.emplace(call(step));
        }
        return task_outcome::done;
    }
    void deliver() override {
        if constexpr (!std::same_as<result, nothing>)
            if (result_) sink_(*std::exchange(result_, std::nullopt));
    }
    recovery recover([[maybe_unused]] const std::exception_ptr& why) override {
        if constexpr (requires(Sink& s) {
                          { s.recover(why) } -> std::same_as<std::optional<result>>;
                      }) {
            std::optional<result> made = sink_.recover(why);
            if (!made) return recovery::another_run;
            result_.emplace(*std::move(made));
            return recovery::result;
        } else {
            return recovery::none;
        }
    }

  private:
    struct nothing {};
    static void give_up_promise(const Input& i, account_reservation& promised, const account& of_group) noexcept {
        if constexpr (requires { i.holder() == &of_group; })
            if (i.holder() != &of_group) promised.shrink_to(promised.bytes() - min(promised.bytes(), i.bytes()));
    }
    auto call(task_step& step) { return call_kernel(kernel_, std::span(pins_), std::span(inputs_), step); }
    template <class Counts> std::size_t sum(Counts counts) const noexcept {
        std::size_t all = 0;
        for (std::size_t i = 0; i != inputs_.size(); ++i)
            if (counts(i)) all = sum_or_max(all, inputs_[i].bytes());
        return all;
    }
    using called = decltype(call_kernel(std::declval<Kernel&>(), std::declval<std::span<pinned>>(),
                                        std::declval<std::span<Input>>(), std::declval<task_step&>()));
    using result = std::conditional_t<std::is_void_v<called> || std::same_as<called, task_outcome>, nothing, called>;

    static_assert(!std::same_as<result, nothing> || std::same_as<Sink, no_sink>,
                  "allot: a kernel that returns nothing, or a task_outcome, has no result for a sink: leave it out");

    std::vector<Input> inputs_;
    std::vector<std::optional<pinned>> present_; // of inputs that were in memory
    std::vector<pinned> pins_;
    Kernel kernel_;
    Sink sink_;
    std::optional<result> result_;
};

} // namespace detail

} // namespace allot::inline ALLOT_ABI
