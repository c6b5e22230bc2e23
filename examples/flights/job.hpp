// The job over one policy set: reads the four files, answers the queries, and measures the memory use. Exceptions, such
// as out_of_memory, leave it with all rows released.
#pragma once
#include "../shared/stopwatch.hpp"
#include "compact.hpp"
#include "database.hpp"
#include "device/device.hpp"
#include "kept.hpp"
#include "kept_answers.hpp"
#include "outcome.hpp"
#include "questions.hpp"
#include "tasks.hpp"
#include <algorithm>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <optional>
#include <string>

namespace flights {

/// What write(text) writes, as a report of accounts.
template <class Write> std::string text_of(Write write) {
    std::vector<char> page(64 * 1024);
    allot::text_writer text{page.data(), page.size()};
    write(text);
    return std::string(text.view());
}

/// The file of --spill. It has an account of its own, without a limit; its buffer for parts is outside of limits.
struct spill_disk {
    explicit spill_disk(const std::string& directory)
        : files(account, directory, allot::spill_file_options{.extent_bytes = csv::block_bytes, .staging_buffers = 1}) {
    }
    spill_use use() const {
        spill_use now{files.stats(), account.peak(), {}, text_of([&](auto& text) { write_accounts(text, account); })};
        if (!now.files.last_failure) now.last_failure = allot::spill_error("disk", now.files.last_failure).what();
        return now;
    }

    allot::account account{allot::name{"disk"}};
    allot::spill_files files;
};

/// What is kept for the next round. Pieces of files leave, or are given up, before answers.
struct kept_for_next_round {
    kept_for_next_round(engine& of, allot::buffer_memory memory, allot::home* home)
        : account(of, "kept"), pieces("pieces of files", 1, account.account, "kept/pieces", memory, home),
          answers("answers", 2, account.account, "kept/answers", memory, home) {}

    query_account account;
    kept pieces, answers;
};

/// The memory of all rounds.
template <class Rows> struct job_memory {
    explicit job_memory(engine& of) : all(of), from(of), buffers(of) {
        if (of.asked.rounds < 2) return;
        if (!of.asked.spill.empty()) disk.emplace(of.asked.spill);
        next.emplace(of, buffers.memory(), disk ? &disk->files : nullptr);
    }
    engine& all;
    sources<Rows> from;
    buffer_pool buffers;
    std::optional<spill_disk> disk;
    std::optional<kept_for_next_round> next;
};

template <class Rows> void read_tables(job_memory<Rows>& memory, database<Rows>& db, outcome& out) {
    allot::account by{memory.from.read.account, allot::name{"load/read/blocks"}};
    const csv::block_memory blocks{memory.buffers.memory(), by, memory.next ? &memory.next->pieces : nullptr};
    progress shown;
    const shared::stopwatch reading;
    out.files.clear();
    out.files = read_files(memory.from, blocks, memory.all.asked, db, all_rows{}, shown);
    out.reading = reading.seconds();
    ++out.readings;
}

/// Answers a query. If its operator runs out of memory, the query has no answer and is reported; any other lack of
/// memory ends the job.
template <class Rows> void answer_query(std::size_t q, database<Rows>& db, outcome& out) {
    const shared::stopwatch answering;
    try {
        out.answers.push_back(queries<Rows>[q](db));
        out.answers.back().seconds = answering.seconds();
    } catch (const allot::out_of_memory& e) {
        auto why = refused_by_operator(e);
        if (!why) throw;
        out.refused.push_back(std::move(*why));
    }
}

inline auto place_of(const answer& a) { return std::find(query_names.begin(), query_names.end(), a.name); }

/// The answers of earlier rounds that are kept. Returns the queries that are left.
inline std::vector<std::size_t> answer_again(const options& asked, kept* answers, outcome& out) {
    std::vector<std::size_t> rest;
    for (std::size_t q = 0; q != query_names.size(); ++q) {
        if (!asked.asks_for(query_names[q])) continue;
        const shared::stopwatch answering;
        const found packed = answers != nullptr ? answers->find(std::string(query_names[q])) : found{};
        if (!packed) {
            rest.push_back(q);
            continue;
        }
        out.answers.push_back(unpack(packed.bytes().bytes()));
        out.answers.back().seconds = answering.seconds();
    }
    return rest;
}

template <class Rows> void read_and_answer(job_memory<Rows>& memory, outcome& out) {
    const options& asked = memory.all.asked;
    out.answers.clear();
    kept* const answers = memory.next ? &memory.next->answers : nullptr;
    const std::vector<std::size_t> rest = answer_again(asked, answers, out);
    if (rest.empty() && out.readings != 0) return;
    database<Rows> db(memory.all, memory.from, asked.threads);
    std::optional<device_memory<Rows>> beside;
    if (asked.device != "none") beside.emplace(memory.all);
    const chunks_of columns_from(db.flights);
    const auto device = beside ? open_device(asked, columns_from, beside->chunks.memory) : nullptr;
    read_tables(memory, db, out);
    memory.all.release_empty_pages();
    db.note("after reading");
    if (out.readings == 1) { // a page has one of them
        memory.all.show_tables();
        if (memory.all.page != nullptr) memory.buffers.show_in(memory.all.page->page());
    }
    if (asked.compact) compact_tables(asked, memory.from, db);
    if (device) device->keep();

    for (const std::size_t q : rest) {
        const std::size_t before = out.answers.size();
        answer_query(q, db, out);
        if (answers != nullptr && out.answers.size() != before)
            answers->keep(out.answers.back().name, pack(out.answers.back()));
    }
    std::sort(out.answers.begin(), out.answers.end(),
              [](const answer& a, const answer& b) { return place_of(a) < place_of(b); });
    if (device) out.device = device->finish();
    out.compacted = std::move(db.compacted);
    if (out.fullest.when.empty() || out.fullest.charged < db.log.fullest().charged) out.fullest = db.log.fullest();
}

template <class Rows> void run_rounds(engine& memory, outcome& out) {
    job_memory<Rows> all(memory);
    for (unsigned round = 0; round != memory.asked.rounds; ++round) {
        read_and_answer(all, out);
        memory.release_empty_pages();
    }
    if (all.next) out.kept = {all.next->pieces.use(), all.next->answers.use()};
    if (all.disk) out.spilled = all.disk->use();
    all.next.reset();
}

inline void explain(engine& memory, outcome& out) {
    const allot::account_peak& peak = memory.fullest();
    out.accounts = text_of([&](auto& text) { write_accounts(text, peak); }) + out.spilled.accounts;
    out.accounts_json = text_of([&](auto& text) { write_accounts_json(text, peak); });
}

template <class Set> outcome run_job(const options& asked, shared::memory_page* page) {
    engine memory{asked, page};
    outcome out;
    try {
        using rows = allot::row_manager<charged<Set>>;
        if (asked.tasks != 0) run_tasks<rows>(memory, out);
        else run_rounds<rows>(memory, out);
        out.afterwards = memory.measure("afterwards");
    } catch (const allot::out_of_memory& e) {
        memory.show_accounts(e.report());
        if (const auto why = refused_by_operator(e)) throw operator_refused(why->page); // while reading
        throw;
    }
    if (asked.explain_memory) explain(memory, out);
    memory.show_accounts();
    if (page != nullptr)
        for (const refusal& r : out.refused) page->page().out_of_memory(r.page);
    return out;
}

} // namespace flights
