// Every n-th system call fails while packets are received and channels work: nothing stays charged, and parts are
// equal.
#include <support/catch.hpp>

#include <allot/channel/channels.hpp>
#include <allot/packet/packets.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
namespace fault = allot::detail::sys::fault;

namespace {

struct query_rows : allot::policies<allot::oom::null> {};

} // namespace

TEST_CASE("channels survive each failing call, with equal parts", "[fault][channels]") {
    for (std::uint64_t n = 1;; ++n) {
        account engine{name{"engine"}, limit{64_MiB}};
        fault::fail_nth(n, 3);
        {
            std::optional<allot::channels<query_rows>> all;
            try {
                all.emplace(engine, 3U);
            } catch (const allot::out_of_memory&) {
            } catch (const std::bad_alloc&) {
            }
            std::vector<void*> rows;
            for (int i = 0; all && i != 60; ++i) {
                rows.push_back(all->global().allocate(i % 5 == 0 ? 300'000 : 20'000));
                rows.push_back(all->channel(static_cast<std::size_t>(i) % 3).allocate(20'000));
                REQUIRE((all->global_part(0) == all->global_part(1) && all->global_part(1) == all->global_part(2)));
            }
            for (void* const r : rows)
                if (r != nullptr) allot::release(r);
            if (all) CHECK((all->global().live_rows() == 0 && all->channel(0).live_rows() == 0));
        }
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        REQUIRE((engine.used() == 0 && engine.verify()));
        if (!has_failed) break;
    }
}

TEST_CASE("packets survive each failing call", "[fault][packet]") {
    for (std::uint64_t n = 1;; ++n) {
        account engine{name{"engine"}, limit{64_MiB}}, scan{engine, name{"scan"}};
        fault::fail_nth(n, 2);
        try {
            allot::packets in{engine, {.bytes = 100'000}};
            std::vector<allot::packet> all;
            for (int i = 0; i != 40; ++i) {
                if (allot::packet p = in.try_allocate(scan)) all.push_back(std::move(p));
                if (i % 8 == 7) all.clear(), static_cast<void>(in.trim());
            }
            std::size_t bytes = 0;
            for (const allot::packet& p : all) bytes += p.room().size();
            CHECK(scan.used() == bytes);
        } catch (const allot::out_of_memory&) {
        }
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        REQUIRE((engine.used() == 0 && scan.used() == 0 && engine.verify()));
        if (!has_failed) break;
    }
}
