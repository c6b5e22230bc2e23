// A heap of slots with its limit and its pages of 64 KiB, for tests of the heap alone.
#pragma once

#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/heap/fixed_heap.hpp>
#include <allot/heap/ledger_pages.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/page_steps.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>

#include <memory>
#include <utility>

using namespace allot::literals;

// A heap deletes itself nowhere: its owner does.
template <class Slots> struct one_heap {
    using heap_type = allot::detail::fixed_heap<Slots>;
    using cache_type = typename heap_type::template cache_of<64>;
    allot::arena<> arena{allot::page_bytes{64_KiB}, allot::reserve_bytes{16_MiB}};
    allot::detail::page_ledger ledger;
    allot::detail::ledger_pages<allot::detail::page_ledger> provider{arena, ledger};
    std::unique_ptr<heap_type> heap;

    explicit one_heap(std::size_t row_bytes, std::size_t limit = 4_MiB) : ledger(limit), heap(make(row_bytes)) {}
    ~one_heap() {
        heap->drop_pages();
        CHECK(ledger.used() == 0);
        CHECK(arena.stats().taken == 0);
    }
    std::unique_ptr<heap_type> make(std::size_t row_bytes) {
        allot::detail::heap_config plan;
        plan.name = "one";
        plan.row_bytes = row_bytes;
        return std::make_unique<heap_type>(provider, plan);
    }
    // What attempt(asked) takes; after a refusal as a row manager makes it again.
    template <class Attempt> std::byte* request(Attempt attempt) {
        allot::detail::memory_request asked{heap->config().row_bytes};
        const auto again = [&] { return attempt(asked); };
        if (std::byte* const row = again()) return row;
        allot::detail::page_steps own{arena, provider.in_transit(),
                                      [this](unsigned way) noexcept { return provider.return_idle(way); }};
        allot::detail::no_level none;
        return allot::detail::climb(asked, own, none, again);
    }
    std::byte* pop() { return pop_of(*heap); }
    std::byte* pop_of(heap_type& of) {
        return request([&](auto& asked) { return of.pop(asked); });
    }
    // A slot may be used from now on, as that of a row.
    static void begin(const heap_type& of, std::byte* slot) { heap_type::page::unpoison(of.cut(), slot); }
    template <class Cache> std::byte* refill(Cache& cache) {
        return request([&](auto& asked) { return heap->refill(cache, asked); });
    }
    // Runs `then` while the heap's lock is taken: what it gives back goes the way without the lock. There must be a
    // page.
    template <class Then> void locked(Then then) {
        struct {
            Then* then;
            bool ran = false;
        } once{&then};
        heap->visit_pages(
            [](void* context, const allot::page_use&) {
                auto& run = *static_cast<decltype(once)*>(context);
                if (!std::exchange(run.ran, true)) (*run.then)();
            },
            &once);
        CHECK(once.ran);
    }
    std::size_t per_page() const { return heap->cut().capacity; }
};
