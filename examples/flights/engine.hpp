// The memory of the program: one arena, and a tree of accounts that are charged for it.
//
//     flights (--memory) -- load     -- load/read     -- load/read/flights, .../airlines, ..., .../blocks
//                        `- routes   -- routes/join   -- routes/join/airports
//                           query       operators        row managers
//
// All row managers share the arena, so pages that one returns can be used by another; accounts limit each of them. If a
// request fails at the limit of an operator (--operator-limit), the job continues without that query.
// With --tasks an arbiter decides over requests that the program's limit refuses, and the arena has no limit.
// Threads: any.
#pragma once
#include "../shared/memory_page.hpp"
#include "memory_log.hpp"
#include "options.hpp"
#include <algorithm>
#include <allot/account/account.hpp>
#include <allot/adapt/pmr.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>
#include <array>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace flights {

using page_arena = allot::arena<>;

/// A policy set over the engine's arena that charges the account passed to the constructor. A request that is refused
/// asks for what is kept for later rounds (kept.hpp); on a thread of a task it waits, and may be rolled back
/// (tasks.hpp).
template <class Set>
struct charged : allot::with<Set, allot::page::of<page_arena>, allot::ledger::tree, allot::spill::chain,
                             allot::oom::state_machine> {};

/// An operator's limit was too small.
struct refusal {
    std::string by; // the operator
    std::size_t requested = 0, used = 0, limit = 0;
    std::string page; // the out-of-memory report
};
struct operator_refused : std::runtime_error {
    using std::runtime_error::runtime_error; // the page
};
/// The refusal behind `e` if it was thrown at the limit of an operator.
std::optional<refusal> refused_by_operator(const allot::out_of_memory& e);

/// Something that holds rows, for the memory log.
class table_memory_base {
  public:
    virtual void add_to(memory_use& use) const = 0;
    virtual void show_in(allot::html_page& page) const = 0;
    virtual std::size_t release_empty_pages() = 0;

  protected:
    ~table_memory_base() = default;
};

class engine {
  public:
    /// `page`: null for none.
    explicit engine(const options& from, shared::memory_page* to = nullptr)
        : page(to), asked(from), pages{allot::limit{from.tasks != 0 ? SIZE_MAX : from.memory},
                                       allot::page_bytes{page_size(from.memory)}, allot::name{"flights"}},
          tasks{{}, to != nullptr ? to->sink() : allot::oom::log_sink{}},
          account{allot::name{"flights"}, allot::limit{from.memory},
                  from.tasks != 0 ? allot::judged_by(tasks) : allot::judged_by{}} {
        if (from.explain_memory || page != nullptr) account.keep_peak(&fullest_);
        if (page != nullptr) samples_ = page->samples_of(account);
    }

  private:
    std::array<allot::account_line, 256> lines_;
    allot::account_peak fullest_{lines_};

  public:
    shared::memory_page* const page;
    const options& asked;
    page_arena pages;
    allot::oom::arbiter tasks;
    allot::account account;

    /// The tree of accounts at the peak; later peaks are not recorded.
    const allot::account_peak& fullest() {
        account.keep_peak(nullptr);
        return fullest_;
    }
    void open(table_memory_base& table) {
        const std::lock_guard held{lock_};
        tables_.push_back(&table);
    }
    void end(table_memory_base& table) {
        const std::lock_guard held{lock_};
        std::erase(tables_, &table);
    }
    memory_use measure(std::string when) const;
    /// Shows all row managers on the page, if there is one.
    void show_tables() {
        if (page == nullptr) return;
        const std::lock_guard held{lock_};
        for (const table_memory_base* t : tables_) t->show_in(page->page());
    }
    /// Shows the accounts, now and at the peak, and the report of an out_of_memory, if there is one.
    void show_accounts(std::string_view report = {}) {
        if (page == nullptr) return;
        samples_ = {};
        page->show_samples(account);
        page->page().peak(fullest()).accounts(account);
        if (!report.empty()) page->page().out_of_memory(report);
    }
    void release_empty_pages() {
        const std::lock_guard held{lock_};
        for (table_memory_base* t : tables_) t->release_empty_pages();
    }

  private:
    /// Small pages, since many small managers share them: a 256th of the limit, 64 KiB (the arena's least) to 1 MiB.
    static std::size_t page_size(std::size_t memory) { return std::min(memory / 256, std::size_t{1} << 20); }

    mutable std::mutex lock_; // of the list
    std::vector<table_memory_base*> tables_;
    std::jthread samples_; // for the page; it ends first
};

/// Where a query works: the engine, and the account that it is charged to: the program's, or a task's.
struct workspace {
    workspace(engine& e) : all(e), account(e.account) {}
    workspace(engine& e, allot::account& of) : all(e), account(of) {}

    engine& all;
    allot::account& account;
};

class query_account {
  public:
    query_account(const workspace& w, const char* name) : of(w.all), account{w.account, allot::name{name}} {}

    engine& of;
    allot::account account;
};

/// The account of an operator of a query. Its limit, if any, bounds what the operator and its tables hold.
class operator_account {
  public:
    operator_account(query_account& query, const char* name)
        : of(query.of), name_(operator_named(query.account.name(), name)),
          account{query.account, allot::name{name_}, allot::limit{of.asked.operator_limit(name_)}} {}

    engine& of;

  private:
    const char* name_;

  public:
    allot::account account;
};

/// A row manager of an operator: rows, and containers through `memory`.
template <class Rows> class table_memory final : table_memory_base {
  public:
    table_memory(operator_account& of, const char* what)
        : of_(of.of), name_(std::string(of.account.name()) + '/' + what),
          rows{of_.pages, of.account, allot::name{name_.c_str()}}, memory{rows} {
        of_.open(*this);
    }
    table_memory(const table_memory&) = delete;
    table_memory& operator=(const table_memory&) = delete;
    ~table_memory() { of_.end(*this); }

    void add_to(memory_use& use) const override { add_use(rows, name_, use); }
    void show_in(allot::html_page& page) const override { page.rows(rows); }
    std::size_t release_empty_pages() override { return rows.release_empty_pages(); }

  private:
    engine& of_;
    std::string name_;

  public:
    Rows rows;
    allot::adapt::memory_resource<Rows> memory;
};

} // namespace flights
