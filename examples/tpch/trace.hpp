// A trace of a run, as a file that chrome://tracing and ui.perfetto.dev open: the states of each thread by its query,
// and counters of memory and disk.
#pragma once
#include "../shared/stopwatch.hpp"
#include <allot/oom/event_log.hpp>
#include <allot/oom/machine.hpp>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace tpch {

/// Written while the run goes on, so that it takes no memory of the run. Threads: any.
class trace {
  public:
    /// Throws: std::runtime_error where the file cannot be written.
    explicit trace(const std::string& path);

    /// For the arbiter.
    allot::oom::log_sink sink() noexcept;
    /// The query that is a task of the arbiter.
    void name(allot::oom::task_id task, const char* query);
    void count(const char* what, std::size_t bytes);
    /// Throws: std::runtime_error where it could not be written.
    void finish();

  private:
    void add(const allot::oom::log_entry& e) noexcept;
    void begin(allot::oom::thread_id thread, const char* state);
    void end(allot::oom::thread_id thread);
    void event(char phase, const std::string& name, std::size_t thread, const std::string& more = "");
    std::runtime_error failed() const;

    struct close_file {
        void operator()(std::FILE* f) const { std::fclose(f); }
    };
    std::string path_;
    std::mutex lock_;
    std::unique_ptr<std::FILE, close_file> file_;
    shared::stopwatch clock_;
    bool first_ = true;
    allot::oom::machine again_; // steps through the same commands, and so knows the task of each thread
    std::map<allot::oom::task_id, const char*> names_;
    std::vector<std::string> open_; // of each thread: what is begun; empty: nothing
};

} // namespace tpch
