// What is seen of queries while they run: on a terminal lines that change ten times a second, in a trace counters.
#pragma once
#include "../shared/live_text.hpp"
#include "../shared/stopwatch.hpp"
#include "engine/query.hpp"
#include "trace.hpp"
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tpch {

/// Threads: any.
class live {
  public:
    /// `into`: null for none. Requires: it outlives this.
    live(engine& of, bool shown, trace* into);

    /// Shows a query from its begin to its end.
    class shown_query {
      public:
        shown_query(live& in, query& q, const char* name);
        shown_query(const shown_query&) = delete;
        shown_query& operator=(const shown_query&) = delete;
        ~shown_query();

      private:
        live& in_;
        query& of_;
    };

  private:
    struct one {
        query* of;
        const char* name;
        shared::stopwatch since{};
    };
    std::string lines();
    void count();

    engine& engine_;
    trace* const trace_;
    shared::live_text text_;
    std::mutex lock_;
    std::vector<one> all_;
    std::jthread watches_;
};

} // namespace tpch
