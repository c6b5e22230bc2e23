// Why a group of tasks ended: the task that failed, with its error nested in this one.
//
// Cost: 200 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <exception>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// "allot: task sum of query 7: " and the text of the error, which is nested: std::rethrow_if_nested().
class task_error : public std::exception, public std::nested_exception {
  public:
    /// Requires: inside a handler of the error.
    task_error(std::string_view group, std::string_view task, std::string_view what) noexcept {
        text_writer out{line_};
        out.put("allot: task ").brief(task).put(" of ").brief(group).put(": ").put(what);
    }
    const char* what() const noexcept override { return line_; }

  private:
    char line_[400];
};

} // namespace allot::inline ALLOT_ABI
