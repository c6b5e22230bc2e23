// Why a group of tasks ended: the task that failed, with its error nested in this one.
//
// Cost: 536 bytes. Threads: values.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>

#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string_view>

namespace allot::inline ALLOT_ABI {

#if ALLOT_EXCEPTIONS
/// "allot: task sum of query 7: " and the text of the error, which is nested: std::rethrow_if_nested().
class task_error : public std::exception, public std::nested_exception {
  public:
    static constexpr std::size_t text_bytes = 512;

    /// Requires: inside a handler of the error.
    ALLOT_OUTLINE task_error(std::string_view group, std::string_view task, std::string_view what) noexcept {
        text_writer out{line_};
        out.put("allot: task ").brief(task).put(" of ").brief(group).put(": ").put(what);
    }
    const char* what() const noexcept override { return line_; }

  private:
    char line_[text_bytes];
};

namespace detail {

// Of the exception that is handled: whether it is one of memory that ran out, or has one nested. A misuse, as a pin of
// an empty handle, and a closed account are none: the next attempt would end so, too.
inline bool ran_out_of_memory() noexcept {
    verdict_error copy{{}, memory_kind::host};
    if (oom::detail::find_verdict(std::current_exception(), copy) != nullptr)
        return copy.why().outcome != charge_outcome::removed && copy.why().outcome != charge_outcome::closed;
    try {
        throw;
    } catch (const memory_error& e) {
        return e.why().outcome != charge_outcome::closed && e.why().outcome != charge_outcome::misused;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (const std::nested_exception& e) {
        if (e.nested_ptr() == nullptr) return false;
        try {
            e.rethrow_nested();
        } catch (...) {
            return ran_out_of_memory();
        }
    } catch (...) {
        return false;
    }
}
// Of the exception that is handled: whether its text has the errors of reclaimers.
inline bool says_why() noexcept {
    try {
        throw;
    } catch (const out_of_memory&) {
        return true;
    } catch (...) {
        return false;
    }
}
// `memory`: whose stores may not have written what was to leave, or where others than the tasks of `by` hold bytes.
inline std::string_view why_it_ran_out(const std::exception& e, const account& memory, const oom::arbiter& by,
                                       unsigned attempts, std::span<char> line) noexcept {
    verdict_error copy{{}, memory_kind::host};
    text_writer out{line.data(), line.size()};
    out.put("it ran out of memory in ").number(attempts).put(attempts == 1 ? " attempt" : " attempts");
    if (oom::detail::find_verdict(std::current_exception(), copy) == nullptr) {
        out.put(": ").put(e.what());
    } else {
        out.put("; the last one requested ").bytes(copy.why().requested).put(": ");
        write(out, refusal_of(copy.why()), copy.why().requested);
    }
    by.write_holder(out, memory);
    if (!says_why()) memory.write_failures(out);
    return out.view();
}
// That of its last attempt, as the error of its group.
inline std::exception_ptr error_of(const char* group, const char* task, const std::exception_ptr& last,
                                   const account& memory, const oom::arbiter& by, unsigned attempts) noexcept {
    try {
        std::rethrow_exception(last);
    } catch (const std::exception& e) {
        char line[task_error::text_bytes];
        return std::make_exception_ptr(task_error{group, task, why_it_ran_out(e, memory, by, attempts, line)});
    }
}

} // namespace detail
#endif
} // namespace allot::inline ALLOT_ABI
