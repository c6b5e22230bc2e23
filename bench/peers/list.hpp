// The list of all peers as subjects: raw, with a link count, and with a sized free if the library has one.
#pragma once

#include <harness/rounds.hpp>
#include <peers/peer.hpp>
#include <peers/pools.hpp>
#include <workloads/bytes.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

template <bool Rows> void add_peers(std::vector<subject>& to, const std::vector<peer>& peers) {
    const kind general = Rows ? kind::peer_rows : kind::peer_raw, pool = Rows ? kind::pool_rows : kind::pool_raw;
    const std::string as = Rows ? " rows" : " raw";
    for (const peer& p : peers) {
        to.push_back(make_subject<peer_subject<Rows, false>>(p.name + as, general, p));
        to.back().few = Rows;
        to.back().compared = true;
        if (p.release_sized != nullptr) {
            to.push_back(make_subject<peer_subject<Rows, true>>(p.name + " sized" + as, general, p));
            to.back().compared = true;
        }
        to.push_back({p.name + as + ", bytes", general, [](const job& j) { return j.of->id == work::bytes; },
                      [p](const job& j) { return bytes_of_peer(p, j, Rows ? 72 : 64); }});
    }
    to.push_back(make_subject<pmr_sync<Rows>>("pmr synchronized" + as, pool));
    to.push_back(make_subject<pmr_unsync<Rows>>("pmr unsynchronized" + as, pool));
#if BENCH_HAS_BOOST
    to.push_back(make_subject<boost_pool_subject<Rows>>("Boost.Pool" + as, pool));
#else
    if (Rows) std::fprintf(stderr, "skipped - Boost.Pool: no boost/pool/pool.hpp when this was built\n");
#endif
}

} // namespace bench
