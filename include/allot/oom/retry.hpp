// Work that is rolled back when its memory is needed, and begun again: with_retry, with_retry_no_split, with_restore.
//
//     std::vector<allot::stored<allot::buffer>> batches = ...;
//     auto sums = allot::oom::with_retry(batches, halve, [](auto& b) { return sum(*b.pin()); });
//
// The body runs for one input after the other. A retry_out_of_memory that it throws, also as a cause nested in another
// exception, begins it again for the same input, once the arbiter says so; split_and_retry_out_of_memory, for its
// parts, in order. So the body must be repeatable: it frees what it took when it throws, and changes its inputs no more
// than note_inputs_changed() says. Any other exception passes; suppressed() is what was tried before it. Inputs that
// were not finished stay in the vector.
// Cost: a retry_scope per input and part. Threads: one; without a task_thread the body runs, and errors pass.
// Source: Spark-RAPIDS' RmmRapidsRetryIterator, 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace oom {

#if ALLOT_EXCEPTIONS
/// A body was rolled back after it had changed its inputs: it cannot be begun again.
class inputs_changed : public memory_error {
  public:
    using memory_error::memory_error;
    const char* what() const noexcept override {
        return "allot: rolled back after the inputs were changed, so the work cannot be begun again";
    }
};

/// What the last retry scope of this thread that ended with another exception had tried before.
struct suppressed_errors {
    std::uint32_t attempts = 0; // that were rolled back or split
    charge_status last;         // of the last one: without the account, and with a name until the next error
};
namespace detail {

// What one scope has tried: noted where it ends with an error, after what scopes inside it have noted.
struct tried_before {
    verdict_error last{{}, memory_kind::host};
    std::uint32_t attempts = 0;
    bool has_succeeded = false;

    void add(const verdict_error& why) noexcept { last = why, ++attempts; }
    ALLOT_OUTLINE ~tried_before() {
        if (has_succeeded) return;
        allot::detail::thread_context& here = allot::detail::of_this_thread;
        here.attempts = attempts;
        here.last_error = last.why();
        text_writer{here.last_name}.put(last.why().name);
        here.last_error.name = here.last_name;
    }
};

// The verdict in the exception that is being handled, or in one of its causes, without the account, which may have
// ended; null: none.
ALLOT_OUTLINE const verdict_error* find_verdict(const std::exception_ptr& thrown, verdict_error& copy) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const verdict_error& e) {
        charge_status why = e.why();
        why.at = nullptr;
        return copy = verdict_error{why, e.kind()}, &copy;
    } catch (const std::nested_exception& e) {
        return e.nested_ptr() != nullptr ? find_verdict(e.nested_ptr(), copy) : nullptr;
    } catch (...) {
        return nullptr;
    }
}

[[noreturn]] ALLOT_OUTLINE_COLD void give_up(const charge_status& why, const char* what, const retry_scope& scope) {
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    charge_status refusal = refusal_of(why);
    refusal.at = nullptr;
    text.put("allot: out of memory: ").put(what).put("; attempts: ").number(scope.attempts());
    text.put("; the last one requested ").bytes(why.requested).put(": ");
    write(text, refusal, refusal.requested);
    scope.write_failures(text);
    const auto write_page = [&](text_writer& out) {
        out.put(text.view()).newline();
        scope.write_report(out);
    };
    allot::raise(out_of_memory(text.view(), write_page, refusal));
}

// The input of a scope cannot be made smaller: one around it may be.
[[noreturn]] ALLOT_COLD inline void pass_on_or_give_up(const verdict_error& why, const char* what,
                                                       const retry_scope& scope) {
    if (!scope.is_outermost()) throw split_and_retry_out_of_memory(why.why(), why.kind());
    give_up(why.why(), what, scope);
}

// Runs one attempt after the other. on_split() makes the input smaller. A rollback passes to the outermost scope.
template <class Body, class OnSplit> void retry(retry_scope& scope, const Body& body, const OnSplit& on_split) {
    tried_before tried;
    for (;;) {
        verdict_error why{{}, memory_kind::host};
        try {
            body();
            tried.has_succeeded = true;
            return;
        } catch (...) {
            if (find_verdict(std::current_exception(), why) == nullptr) throw;
            if (why.why().outcome == charge_outcome::removed || !scope.is_active()) throw;
            tried.add(why);
            if (why.why().outcome == charge_outcome::rolled_back && !scope.is_outermost() &&
                !scope.has_changed_inputs())
                throw;
        } // what the attempt took is free now
        if (scope.has_changed_inputs()) throw inputs_changed(why.why());
        switch (scope.wait(why.why())) {
        case verdict::split: on_split(why); break;
        case verdict::removed: throw task_removed(why.why(), why.kind());
        case verdict::refused: give_up(why.why(), "the arbiter refuses more attempts", scope);
        default: break; // begin again
        }
    }
}

// The parts of an input; to run out of memory here is final in the outermost scope.
template <class Input, class Split>
std::vector<Input> split_input(Input& whole, Split& split, const retry_scope& scope) {
    try {
        return split(whole);
    } catch (const verdict_error& e) {
        if (e.why().outcome == charge_outcome::removed || !scope.is_outermost()) throw;
        give_up(e.why(), "an input could not be split, since that needs memory too", scope);
    }
}

// with_retry()
template <class Input, class Split, class Body>
auto retry_inputs(std::vector<Input>& inputs, Split& split, Body& body) {
    using result = std::remove_cv_t<std::invoke_result_t<Body&, Input&>>;
    constexpr bool returns = !std::is_void_v<result>;
    std::vector<std::conditional_t<returns, result, char>> results;
    std::vector<Input> stack(std::make_move_iterator(inputs.rbegin()), std::make_move_iterator(inputs.rend()));
    inputs.clear();
    struct put_back {
        ~put_back() { to.assign(std::make_move_iterator(from.rbegin()), std::make_move_iterator(from.rend())); }
        std::vector<Input>&from, &to;
    } const rest{stack, inputs};
    while (!stack.empty()) {
        retry_scope scope;
        retry(
            scope,
            [&] {
                if constexpr (returns) results.push_back(body(stack.back()));
                else body(stack.back());
            },
            [&](const verdict_error& why) {
                std::vector<Input> parts = split_input(stack.back(), split, scope);
                if (parts.size() < 2) pass_on_or_give_up(why, "an input cannot be split further", scope);
                const std::size_t all = stack.size() + parts.size();
                stack.reserve(all);
                inputs.reserve(all); // whatever is thrown later, the rest is put back
                stack.pop_back();
                stack.insert(stack.end(), std::make_move_iterator(parts.rbegin()),
                             std::make_move_iterator(parts.rend()));
            });
        stack.pop_back();
        scope.done();
    }
    if constexpr (returns) return results;
}
// with_retry_no_split()
template <class Body> auto retry_once(Body& body) {
    retry_scope scope;
    const auto no_split = [&](const verdict_error& why) {
        pass_on_or_give_up(why, "the work needs more memory than there is, and has no input to split", scope);
    };
    if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
        retry(scope, [&] { body(); }, no_split);
        scope.done();
    } else {
        std::optional<std::remove_cv_t<std::invoke_result_t<Body&>>> result;
        retry(scope, [&] { result.emplace(body()); }, no_split);
        scope.done();
        return *std::move(result);
    }
}

} // namespace detail

inline suppressed_errors suppressed() noexcept {
    return {allot::detail::of_this_thread.attempts, allot::detail::of_this_thread.last_error};
}

/// Runs body(input) for each input. `split(input)` returns its parts as a vector, in order; an input that cannot be
/// split comes back as no part or one: then the scope around this one splits, and without one it is final:
/// out_of_memory.
/// Effects: each input is destroyed when its body has succeeded. Returns: the results in order, as a vector, or void.
template <spillable Input, class Split, class Body>
auto with_retry(std::vector<Input>& inputs, Split&& split, Body&& body) {
    if constexpr (!std::is_invocable_v<Body&, Input&>) {
        static_assert(std::is_invocable_v<Body&, Input&>,
                      "allot: the body of with_retry() is called with an input: let it take Input& or const Input&");
    } else if constexpr (std::is_reference_v<std::invoke_result_t<Body&, Input&>>) {
        static_assert(!std::is_reference_v<std::invoke_result_t<Body&, Input&>>,
                      "allot: the body of with_retry() returns a reference: let it return a value or nothing");
    } else if constexpr (!std::is_invocable_r_v<std::vector<Input>, Split&, Input&>) {
        static_assert(std::is_invocable_r_v<std::vector<Input>, Split&, Input&>,
                      "allot: the split function of with_retry() is called with an Input&: let it return its parts as "
                      "std::vector<Input>");
    } else {
        return detail::retry_inputs(inputs, split, body);
    }
}

/// Runs body(), which has no input that could be split. Returns: its result. Throws: out_of_memory where a split is
/// asked for, and no scope is around this one.
template <class Body> auto with_retry_no_split(Body&& body) {
    if constexpr (!std::is_invocable_v<Body&>) {
        static_assert(std::is_invocable_v<Body&>,
                      "allot: the body of with_retry_no_split() is called without arguments: let it take none");
    } else if constexpr (std::is_reference_v<std::invoke_result_t<Body&>>) {
        static_assert(!std::is_reference_v<std::invoke_result_t<Body&>>,
                      "allot: the body of with_retry_no_split() returns a reference: let it return a value or nothing");
    } else {
        return detail::retry_once(body);
    }
}

/// Inside a body: runs body(), and returns `state` to how it was before where the attempt is to be begun again:
/// state.checkpoint() is called first, state.restore() then.
template <class State, class Body> decltype(auto) with_restore(State& state, Body&& body) {
    state.checkpoint();
    try {
        return body();
    } catch (...) {
        verdict_error why{{}, memory_kind::host};
        if (detail::find_verdict(std::current_exception(), why) != nullptr) state.restore();
        throw;
    }
}
#else
template <class... Arguments> void with_retry(Arguments&&...) {
    static_assert(sizeof...(Arguments) == SIZE_MAX,
                  "allot: with_retry() needs exceptions; without them use a retry_scope (oom/retry_scope.hpp)");
}
template <class... Arguments> void with_retry_no_split(Arguments&&... all) { with_retry(all...); }
template <class... Arguments> void with_restore(Arguments&&... all) { with_retry(all...); }
#endif

} // namespace oom
} // namespace allot::inline ALLOT_ABI
