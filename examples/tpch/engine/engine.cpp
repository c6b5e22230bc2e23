#include "engine.hpp"

#include <algorithm>
#include <allot/core/text.hpp>
#include <allot/oom/rules.hpp>
#include <allot/report/accounts.hpp>
#include <bit>

using namespace allot::literals;

namespace tpch {
namespace {

// A chunk of the pool is a small part of the limit, so that pages which no batch uses are a small part, too.
std::size_t chunk_of(std::size_t limit) { return std::bit_floor(std::clamp(limit / 1024, 64_KiB, 1_MiB)); }

} // namespace

engine::engine(const engine_options& o)
    : // What no task holds are pages of the pool, which wait for tasks: no decision is put off until they come back.
      tasks({.unknown_holders_wait = allot::time_span{0}}, o.log),
      memory(allot::name{"memory"}, allot::limit{o.memory}, tasks),
      pool(memory, allot::name{"batches"}, allot::chunk_bytes{chunk_of(o.memory)}), record(o.record),
      home(home_in(o.spill)), data(memory, *home, allot::name{"batches"}),
      run(tasks, memory, {.threads = o.threads, .attempts = o.begins_again ? 4U : 1U}),
      threads_(std::max(o.threads, 1U)), begins_again_(o.begins_again) {}

std::shared_ptr<allot::home> engine::home_in(const std::string& folder) {
    if (folder.empty()) return std::make_shared<allot::spill_memory>(heap, nowhere);
    return std::make_shared<allot::spill_files>(disk, folder);
}

allot::out_of_memory engine::out_of_memory_now(const allot::charge_status& why, const allot::account& top) {
    char line[allot::out_of_memory::line_bytes];
    allot::charge_status refused = why;
    refused.outcome = why.refused; // what the verdict was about
    allot::text_writer text{line};
    text.put("allot: out of memory: ");
    write(text, refused);
    const auto page = [&](allot::text_writer& out) {
        out.put("out of memory: ");
        write(out, refused);
        out.newline();
        allot::write_accounts(out, top);
    };
    return {text.view(), page, refused};
}

} // namespace tpch
