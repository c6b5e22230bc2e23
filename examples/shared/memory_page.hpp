// --html: a page for the browser, of where the memory of a run went (docs/reports.md#a-page-for-the-browser).
#pragma once
#include "exit_code.hpp"
#include "resident.hpp"
#include <allot/account/account.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/report/html.hpp>
#include <allot/report/memory_timeline.hpp>
#include <allot/report/timeline_log.hpp>
#include <allot/sys/clock.hpp>
#include <chrono>
#include <cstddef>
#include <fmt/core.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace shared {

/// A file that was asked for could not be written.
struct output_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The page, and what is sampled for it. Threads: one, but for the sink.
class memory_page {
  public:
    /// Throws: output_error where the file cannot be opened. `next`: where entries of the arbiter's log go on to.
    memory_page(std::string path, const char* title, allot::oom::log_sink next = {})
        : path_(std::move(path)), marks_(line_, next), page_(path_.c_str(), title) {
        if (page_.error()) throw output_error(text_of(page_.error()));
    }

    /// For the arbiter: waits, rollbacks, splits and refusals are marked.
    allot::oom::log_sink sink() noexcept { return marks_.sink(); }
    /// Samples every two milliseconds, until the thread ends: bytes charged, by account, promised, and spilled;
    /// resident bytes of the process, beyond those of now. Requires: the account and this object live until then.
    std::jthread samples_of(const allot::account& root) {
        return std::jthread([this, &root, start = resident_bytes()](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                const std::size_t resident = resident_bytes();
                line_.add(allot::sys::fine_clock::now(), root, resident > start ? resident - start : 0);
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        });
    }
    /// Shows what was sampled of this account. Requires: no thread samples it any more.
    void show_samples(const allot::account& root) noexcept {
        page_.timeline(line_, root);
        is_shown_ = true;
    }
    /// The page, for what else it shows.
    allot::html_page& page() noexcept { return page_; }
    /// Once no thread samples, at the end of a program, as flushed(): returns `code`; exit_code::failed, with a line on
    /// stderr, where something of the page was lost and all was well until then.
    int finish(const char* program, int code) {
        if (!is_shown_) page_.timeline(line_);
        const std::error_code wrong = page_.finish();
        if (!wrong) return code;
        fmt::print(stderr, "{}: {}\n", program, text_of(wrong));
        return code == exit_code::done ? exit_code::failed : code;
    }

  private:
    std::string text_of(const std::error_code& wrong) const { return "--html: " + path_ + ": " + wrong.message(); }

    const std::string path_;
    allot::memory_timeline line_{{.by_account = true}};
    allot::timeline_log marks_;
    allot::html_page page_;
    bool is_shown_ = false;
};

} // namespace shared
