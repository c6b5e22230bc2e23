#include "live.hpp"
#include "../shared/text_table.hpp"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace tpch {

live::live(engine& of, bool shown, trace* into) : engine_(of), trace_(into), text_(shown) {
    if (!text_.is_shown() && trace_ == nullptr) return;
    watches_ = std::jthread([this](const std::stop_token& end) {
        for (unsigned i = 0; !end.stop_requested(); ++i) {
            if (trace_ != nullptr) count();
            if (i % 10 == 0) text_.show(lines());
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
}

live::shown_query::shown_query(live& in, query& q, const char* name) : in_(in), of_(q) {
    if (in.trace_ != nullptr) in.trace_->name(q.tasks.task().id(), name);
    const std::lock_guard hold(in.lock_);
    in.all_.push_back({&q, name});
}
live::shown_query::~shown_query() {
    const std::lock_guard hold(in_.lock_);
    std::erase_if(in_.all_, [&](const one& o) { return o.of == &of_; });
}

void live::count() {
    trace_->count("memory", engine_.memory.used());
    trace_->count("disk", engine_.disk.used());
}

namespace {

// Whether a thread works for the query, sleeps for memory, or none has taken one of its tasks.
const char* state_of(const allot::oom::machine& all, allot::oom::task_id query) {
    using allot::oom::thread_state;
    bool runs = false, sleeps = false;
    for (const auto& t : all.threads())
        if (t.used && t.task == query)
            (t.state == thread_state::blocked || t.state == thread_state::bufn ? sleeps : runs) = true;
    return runs ? "runs" : sleeps ? "asleep" : "waits";
}

} // namespace

std::string live::lines() {
    const allot::oom::machine now = engine_.tasks.now();
    shared::text_table table({"query", "state", "seconds", "held", "spilled", "waits", "rolled back", "split"});
    table.left(0), table.left(1);
    {
        const std::lock_guard hold(lock_);
        for (const one& o : all_) {
            const allot::oom::task_stats t = o.of->tasks.task().stats();
            table.add({o.name, state_of(now, o.of->tasks.task().id()), fmt::format("{:.1f}", o.since.seconds()),
                       shared::bytes(o.of->tasks.memory().used()), shared::bytes(o.of->tasks.memory().stats().spilled),
                       shared::grouped(t.waits), shared::grouped(t.rollbacks), shared::grouped(t.splits)});
        }
    }
    const allot::executor_stats run = engine_.run.stats();
    const std::size_t promised = engine_.memory.promised(), used = engine_.memory.used();
    const std::string limit = shared::bytes(engine_.memory.limit());
    return table.draw() +
           fmt::format("memory {} of {}, {} of {} promised; {} tasks run, {} wait; {} on the disk, {} written\n",
                       shared::bytes(used - std::min(used, promised)), limit, shared::bytes(promised), limit,
                       run.running, run.waiting, shared::bytes(engine_.disk.used()),
                       shared::bytes(engine_.data.stats().bytes_written));
}

} // namespace tpch
