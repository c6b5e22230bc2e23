// Cost of one shortage with N stored buffers that are away: it was O(N), 1.2 us at 100 and 1.7 ms at 40,000, when each
// was a reclaimer in one list. It holds with -O1 and more; a time, so sanitizers and -O0 say nothing.
#include "common.hpp"
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
int main() {
    double worst = 0;
    for (std::size_t n : {100u, 1000u, 10000u, 40000u}) {
        allot::heap_memory heap;
        allot::buffer_memory memory{heap};
        allot::account far_account{allot::name{"far"}};
        allot::account engine{allot::name{"engine"}, allot::limit{8 * 4096 + 2048}};
        allot::account q{engine, allot::name{"q"}};
        allot::spill_memory far{memory, far_account};
        allot::store inputs{engine, far};
        std::vector<allot::stored<allot::buffer>> all;
        all.reserve(n);
        const double m0 = now_s();
        for (std::size_t i = 0; i != n; ++i) all.push_back(inputs.put(memory.allocate(q, 4096)));
        const double made = (now_s() - m0) / double(n);
        std::size_t near_now = 0;
        for (auto& b : all) near_now += !b.is_away();
        // pins in turn of those that are away: each makes another one leave
        const int pins = 200;
        std::size_t calls0 = 0, calls1 = 0;
        engine.visit_reclaimers([&](const allot::reclaimer& r) { calls0 += r.calls(); });
        const double t0 = now_s();
        std::size_t at = 0;
        int done = 0;
        while (done != pins) {
            auto& b = all[(at += 7919) % n];
            if (!b.is_away()) continue;
            auto p = b.pin();
            ++done;
        }
        const double t1 = now_s();
        engine.visit_reclaimers([&](const allot::reclaimer& r) { calls1 += r.calls(); });
        worst = (t1 - t0) / pins;
        std::printf("%6zu handles (%zu near): made in %.2f us each; a pin that makes one leave: %.1f us, %.1f calls of "
                    "reclaimers\n",
                    n, near_now, made * 1e6, (t1 - t0) / pins * 1e6, double(calls1 - calls0) / pins);
    }
    return worst > 20e-6; // of the largest number
}
