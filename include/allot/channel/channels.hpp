// Channels: parts of a process that work side by side under equal limits, and rows that all of them share.
//
//     struct query_rows : allot::policies<> {};
//     allot::channels<query_rows> all{engine, 4, {.limit = 256_MiB}};
//     all.global().make<city>(...)            shared: each channel is charged a quarter of each page
//     all.channel(2).make<order>(...)         of channel 2 alone
//
//     engine -- channel 0 (limit) -- rows           channel(0): a row manager
//            |                    `- global rows    1/n of the pages of global()
//            |- channel 1 (limit) ...
//            `- global rows                         bytes that n does not divide, and books
//
// Rows of any of them are linked and released by any of them, on any thread. A channel that is full names who holds
// its memory; a reclaimer of it is asked first, then idle pages of the global manager. Global rows
// that a store of `engine` holds leave for a channel, too, and those that a reclaimer of it with reach::below_too
// frees.
// Invariant: each channel is charged the same for global pages, to the byte, and has the same limit.
// Cost: a manager per channel; a page of global() is a short lock for each channel, a row nothing.
// Threads: as row_manager; close() and open() of a channel: no other thread uses it.
// Source: the channels of HPCC Roxie, whose limits are computed anew from the pages that are used globally, 2015.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/category/count.hpp>
#include <allot/core/error.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/ledger/split.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row/row_manager.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

struct channel_options {
    std::size_t limit = 0;               // bytes of each channel; 0: an equal part of the account's limit
    std::size_t global_limit = SIZE_MAX; // bytes of all pages of the global manager
    std::size_t page_bytes = 0;          // of all managers: 16 KiB to 16 MiB; 0: of the set, else 64 KiB
};

/// The sets of its managers: the user's, with accounts, and rows that each manager counts.
template <class Set> struct channel_rows : with<Set, ledger::tree, count::links_anywhere> {};
template <class Set> struct global_rows : with<Set, ledger::split, count::links_anywhere> {};

template <class Set> class channels {
  public:
    using channel_manager = row_manager<channel_rows<Set>>;
    using global_manager = row_manager<global_rows<Set>>;
    static constexpr std::size_t most = detail::split_ledger::most_parts;

    /// `n`: channels, 1 to `most`. Requires: the account outlives it.
    /// Throws: std::invalid_argument for another n; out_of_memory, std::bad_alloc.
    channels(account& engine, std::size_t n, const channel_options& o = {}) {
        if (n == 0 || n > most) throw std::invalid_argument("allot: channels are 1 to 4096");
        const std::size_t each = o.limit != 0 ? o.limit : engine.limit() != SIZE_MAX ? engine.limit() / n : SIZE_MAX;
        std::vector<account*> accounts;
        for (std::size_t i = 0; i != n; ++i) {
            all_.push_back(std::make_unique<one>(engine, i, each));
            accounts.push_back(&all_.back()->memory);
        }
        page_bytes_ = o.page_bytes;
        const split_among payers{std::span<account* const>(accounts)};
        global_.emplace(engine, name{"global rows"}, allot::limit{o.global_limit}, allot::page_bytes{page_bytes_},
                        payers);
        for (std::size_t i = 0; i != n; ++i) open(i);
    }
    channels(const channels&) = delete;
    channels& operator=(const channels&) = delete;
    /// Requires: rows of all managers have been released.
    ~channels() {
        for (auto& c : all_) c->rows.reset(); // whose rows may have links of global ones
    }

    std::size_t size() const noexcept { return all_.size(); }
    /// Requires: i < size(), and the channel is open; else checked builds report misuse.
    channel_manager& channel(std::size_t i) noexcept { return *opened(i).rows; }
    global_manager& global() noexcept { return *global_; }
    /// The account of a channel: of its rows, and its part of global pages. For other memory of the channel, too.
    account& memory(std::size_t i) noexcept { return known(i).memory; }
    /// Bytes of the channel's part of global pages.
    std::size_t global_part(std::size_t i) const noexcept {
        static_cast<void>(known(i));
        const std::size_t all = global_->used(), rest = global_->account().used();
        return all > rest ? (all - rest) / size() : 0;
    }

    /// Bytes, the same of each channel.
    std::size_t limit() const noexcept { return all_.front()->memory.limit(); }
    void set_limit(std::size_t bytes) noexcept {
        for (auto& c : all_) c->memory.set_limit(bytes);
    }

    /// Ends the channel's manager. Its account keeps its part of global pages, until these are returned. Idempotent.
    /// Requires: its rows have been released; else they are reported as leaks.
    void close(std::size_t i) noexcept { known(i).rows.reset(); }
    /// Opens it again. Throws: as row_manager; nothing has changed then.
    void open(std::size_t i) {
        one& c = known(i);
        if (!c.rows) c.rows.emplace(c.memory, name{c.text}, allot::page_bytes{page_bytes_});
    }
    bool is_open(std::size_t i) const noexcept { return known(i).rows.has_value(); }

  private:
    struct one {
        one(account& engine, std::size_t i, std::size_t bytes) : memory(engine, named(i), allot::limit{bytes}) {}
        name named(std::size_t i) noexcept {
            text_writer{text}.put("rows of channel ").number(i);
            return name{text + std::char_traits<char>::length("rows of ")};
        }
        char text[48] = ""; // the name of its rows, which ends with its own
        account memory;
        std::optional<channel_manager> rows;
    };
    one& known(std::size_t i) const noexcept {
        ALLOT_ASSERT(i < all_.size(), "there is no channel with this number: they are 0 to size() - 1");
        return *all_[i];
    }
    one& opened(std::size_t i) const noexcept {
        ALLOT_ASSERT(known(i).rows.has_value(), "the channel is closed: open() it first");
        return *all_[i];
    }

    std::size_t page_bytes_ = 0;
    std::vector<std::unique_ptr<one>> all_; // ends after the global manager, whose pages its accounts pay for
    std::optional<global_manager> global_;
};

#endif
} // namespace allot::inline ALLOT_ABI
