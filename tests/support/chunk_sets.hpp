// Sets that make chunk arenas, and a home for one of each: with what its pages come from.
#pragma once

#include <allot/chunk_arena.hpp>
#include <allot/device/simulated.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/page/on_device.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

struct chunks_best : allot::policies<allot::oom::null> {};
struct chunks_buddy : allot::policies<allot::fit::buddy, allot::oom::null> {};
struct chunks_runs : allot::policies<allot::fit::runs, allot::oom::null> {};
struct chunks_best_threads
    : allot::policies<allot::fit::best, allot::heap::per_thread, allot::oom::null, allot::watch::none> {};
struct chunks_buddy_threads
    : allot::policies<allot::fit::buddy, allot::heap::per_thread, allot::oom::null, allot::retain::never> {};
struct chunks_runs_threads : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null,
                                             allot::watch::trace<>, allot::retain::on_call> {};
struct chunks_of : allot::policies<allot::fit::runs, allot::page::of<allot::arena<>>, allot::oom::null> {};
struct chunks_lent : allot::policies<allot::fit::runs, allot::page::borrowed, allot::oom::null, allot::ledger::none> {};
struct chunks_huge
    : allot::policies<allot::fit::buddy, allot::page::huge_pages<>, allot::oom::null, allot::watch::peaks> {};
struct chunks_device
    : allot::policies<allot::fit::runs, allot::page::on_device<allot::device::simulated>, allot::oom::null> {};
struct chunks_device_buddy : allot::policies<allot::fit::buddy, allot::page::on_device<allot::device::simulated>,
                                             allot::heap::per_thread, allot::oom::null> {};
struct chunks_tree : allot::policies<allot::fit::runs, allot::ledger::tree, allot::oom::null> {};
struct chunks_device_tree : allot::policies<allot::fit::best, allot::page::on_device<allot::device::simulated>,
                                            allot::ledger::tree, allot::heap::per_thread, allot::oom::null> {};

using chunk_sets = std::tuple<chunks_best, chunks_buddy, chunks_runs, chunks_best_threads, chunks_buddy_threads,
                              chunks_runs_threads, chunks_of, chunks_lent, chunks_huge, chunks_device,
                              chunks_device_buddy, chunks_tree, chunks_device_tree>;

template <class Set> class home {
    using answers = allot::detail::resolved<Set, allot::product::chunk_arena>;
    using page = typename answers::template answer<allot::category::page>;
    static constexpr bool lent = std::is_same_v<page, allot::page::borrowed>;
    static constexpr bool shared = std::is_same_v<page, allot::page::of<allot::arena<>>>;
    static constexpr bool on_device = std::is_same_v<page, allot::page::on_device<allot::device::simulated>>;

  public:
    static constexpr bool host = !on_device;
    static constexpr bool charges = answers::template answer<allot::category::ledger>::charges;
    static constexpr bool in_tree =
        std::is_same_v<typename answers::template answer<allot::category::ledger>, allot::ledger::tree>;

    explicit home(std::size_t limit) {
        const allot::page_bytes page_size{std::size_t{256} << 10};
        if constexpr (lent) {
            bytes_.resize(limit + (1 << 20));
            blocks_.emplace(std::span<std::byte>{bytes_}, page_size);
        } else if constexpr (shared) {
            arena_.emplace(page_size, allot::reserve_bytes{4 * limit});
            blocks_.emplace(*arena_, allot::limit{limit});
        } else if constexpr (in_tree && on_device) {
            blocks_.emplace(root_, allot::limit{limit}, allot::device::simulated{sim_}, allot::device_id{0});
        } else if constexpr (on_device) {
            blocks_.emplace(allot::limit{limit}, allot::device::simulated{sim_}, allot::device_id{0});
        } else if constexpr (in_tree) {
            blocks_.emplace(root_, allot::limit{limit}, page_size);
        } else {
            blocks_.emplace(allot::limit{limit}, page_size);
        }
    }
    allot::chunk_arena<Set>& operator*() { return *blocks_; }
    allot::chunk_arena<Set>* operator->() { return &*blocks_; }

  private:
    std::vector<std::byte> bytes_;
    std::optional<allot::arena<>> arena_;
    allot::device::simulator sim_;
    allot::account root_{allot::name{"root"}};
    std::optional<allot::chunk_arena<Set>> blocks_;
};
