// What all queries share: memory below one limit, a place on the disk, and threads that run tasks.
//
//     engine run{{.memory = 32_MiB, .threads = 2, .spill = "/tmp"}};
//
//   memory (limit) -- pool             pages that no batch uses
//                  |- q9 -- scan of lineitem, join, ...   batches and tables of the operators
//                  `- q18 ...
//   disk              what has left memory
//
// A buffer is charged to the operator that has it. Batches between tasks are in `data`, and leave while memory is
// short.
#pragma once

#include <algorithm>
#include <allot/adapt/recorded.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/error.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/executor.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace tpch {

/// Memory of batches: each is a block of its own, whose pages go back to the system when it has left.
struct batch_blocks : allot::policies<allot::ledger::pool, allot::fit::runs, allot::spill::chain> {};
/// Memory of readers, which Arrow takes: charged to the query.
struct reader_blocks
    : allot::policies<allot::ledger::tree, allot::fit::runs, allot::spill::chain, allot::oom::state_machine> {};

struct engine_options {
    std::size_t memory = 0;             // bytes of all queries together
    unsigned threads = 2;               // that run tasks
    std::string spill = "/tmp";         // the directory of files; empty: nothing leaves memory
    bool begins_again = true;           // tasks that ran out of memory; else their query ends
    allot::oom::log_sink log{};         // of what the arbiter decides
    allot::recording* record = nullptr; // of what batches and readers allocate; null: none
};

/// An arena that may be recorded, as a source of blocks.
template <class Set> class recorded_blocks {
  public:
    recorded_blocks(allot::chunk_arena<Set>& arena, allot::recording* to) : arena_(arena) {
        if (to != nullptr) recorded_.emplace(arena, *to);
    }
    /// Calls use(source): the arena, or what records it.
    template <class Use> auto with(Use use) { return recorded_ ? use(*recorded_) : use(arena_); }

  private:
    allot::chunk_arena<Set>& arena_;
    std::optional<allot::adapt::recorded<allot::chunk_arena<Set>>> recorded_;
};

class engine {
  public:
    /// Throws: std::invalid_argument, out_of_memory for less than 1 MiB; std::runtime_error for a directory without use.
    explicit engine(const engine_options& o);

    /// Calls body(): an attempt of a task. Throws: out_of_memory with a page of all accounts, where tasks do not begin
    /// again.
    template <class Body> auto attempt(Body&& body) { return attempt(memory, body); }
    /// The same, with a page of the accounts at and below `top`.
    template <class Body> auto attempt(const allot::account& top, Body&& body) {
        try {
            return body();
        } catch (const allot::verdict_error& e) {
            if (!begins_again_) throw out_of_memory_now(e.why(), top);
            throw;
        }
    }
    /// Throws: what buffer_memory::allocate throws, and as attempt().
    allot::buffer allocate(allot::account& by, std::size_t bytes) {
        return attempt([&] { return buffers.allocate(by, bytes); });
    }
    std::size_t limit() const noexcept { return memory.limit(); }
    /// Bytes for each thread.
    std::size_t share() const noexcept { return limit() / threads_; }
    /// Bytes that a scan makes of its rows, until they may leave: a third of that. Less where the memory is small:
    /// there the pages of the file take most of it, for all columns of lineitem some 3 MiB.
    std::size_t output() const noexcept {
        const std::size_t pages = std::min(limit() / 4 * 3, std::size_t{3} << 20);
        return std::min(share() / 3, (limit() - pages) / 2);
    }
    unsigned threads() const noexcept { return threads_; }

    allot::oom::arbiter tasks;
    allot::account disk{allot::name{"disk"}}, memory;
    allot::chunk_arena<batch_blocks> pool;
    allot::recording* const record;
    recorded_blocks<batch_blocks> blocks{pool, record};
    allot::buffer_memory buffers{blocks.with([](auto& source) { return allot::buffer_memory{source}; })};
    allot::account nowhere{allot::name{"nowhere"}, allot::limit{0}};
    allot::heap_memory heap;
    std::shared_ptr<allot::home> home; // of what leaves memory
    allot::store data;
    allot::executor run;

  private:
    std::shared_ptr<allot::home> home_in(const std::string& folder);
    static allot::out_of_memory out_of_memory_now(const allot::charge_status& why, const allot::account& top);

    unsigned threads_;
    bool begins_again_;
};

} // namespace tpch
