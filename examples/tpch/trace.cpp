#include "trace.hpp"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

namespace tpch {

trace::trace(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) throw failed();
    std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file_.get());
}

std::runtime_error trace::failed() const {
    return std::runtime_error("--trace: " + path_ + ": " + std::strerror(errno));
}

allot::oom::log_sink trace::sink() noexcept {
    return {[](void* self, const allot::oom::log_entry& e) noexcept { static_cast<trace*>(self)->add(e); }, this};
}

void trace::name(allot::oom::task_id task, const char* query) {
    const std::lock_guard hold(lock_);
    names_[task] = query;
}

void trace::event(char phase, const std::string& name, std::size_t thread, const std::string& more) {
    const std::string line = fmt::format("{}\n{{\"ph\":\"{}\",\"name\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{:.1f}{}}}",
                                         first_ ? "" : ",", phase, name, thread, clock_.seconds() * 1e6, more);
    std::fputs(line.c_str(), file_.get()); // finish() looks whether all were written
    first_ = false;
}
void trace::count(const char* what, std::size_t bytes) {
    const std::lock_guard hold(lock_);
    event('C', what, 0, fmt::format(",\"args\":{{\"bytes\":{}}}", bytes));
}
void trace::end(allot::oom::thread_id thread) {
    if (thread >= open_.size() || open_[thread].empty()) return;
    event('E', open_[thread], thread);
    open_[thread].clear();
}
void trace::begin(allot::oom::thread_id thread, const char* state) {
    end(thread);
    if (thread >= open_.size()) open_.resize(thread + 1);
    const auto query = names_.find(again_[thread].task);
    open_[thread] = fmt::format("{}{}", query != names_.end() ? std::string(query->second) + " " : "", state);
    event('B', open_[thread], thread);
}
void trace::add(const allot::oom::log_entry& e) noexcept {
    if (e.is_change) return; // it follows from the command
    const std::lock_guard hold(lock_);
    using allot::oom::thread_state;
    const std::uint32_t id = again_.apply(e.what, [&](const allot::oom::change& c) {
        if (c.to == thread_state::unknown) end(c.thread);
        else begin(c.thread, text_of(c.to).data());
    });
    if (e.what.what == allot::oom::event::started) begin(id, text_of(again_[id].state).data());
    if (e.what.what == allot::oom::event::ended) end(e.what.thread);
}

void trace::finish() {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i != open_.size(); ++i) end(static_cast<allot::oom::thread_id>(i));
    std::fputs("\n]}\n", file_.get());
    const bool good = std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0;
    if (!good) throw failed();
}

} // namespace tpch
