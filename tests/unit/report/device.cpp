// The report of a device allocator as JSON: whole, and the figures are those that it tells otherwise.
#include <support/device_sets.hpp>
#include <support/json.hpp>

#include <allot/ledger/tree.hpp>
#include <allot/report/device.hpp>
#include <allot/report/rows.hpp> // both reports have one name

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;

namespace {

struct charged : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
struct uncharged : allot::policies<on_simulated, allot::oom::null, allot::ledger::none> {};

template <class Gpu> support::json reported(const Gpu& gpu) {
    char text[4096];
    allot::text_writer out{text};
    allot::write_report_json(out, gpu);
    REQUIRE(!out.is_truncated());
    return support::json::parse(out.view());
}

} // namespace

TEST_CASE("device allocator: its report as JSON") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}, allot::name{"a \"quoted\" name"}};
    void* const p = m.used(gpu, 3_MiB, m.a);
    gpu.deallocate(m.used(gpu, 1_MiB, m.a), m.a);
    gpu.deallocate(m.used(gpu, 512_KiB, m.b), m.b);
    const auto f = gpu.stats();
    auto all = reported(gpu);
    CHECK(all["allocator"].text == "a \"quoted\" name");
    CHECK(all["set"].text == "task_memory");
    CHECK(all["device"].number == 0);
    CHECK(all["limit"].number == 64_MiB);
    CHECK(all["charged"].number == static_cast<double>(f.charged));
    CHECK(all["mapped"].number == static_cast<double>(f.mapped));
    CHECK(all["live"].number == 3_MiB);
    CHECK(all["live_blocks"].number == 1);
    CHECK(all["free_for_all"].number + all["free_after_wait"].number + all["live"].number ==
          static_cast<double>(f.charged));
    CHECK(all["free_after_wait"].number == static_cast<double>(f.free_after_wait));
    CHECK(all["free_after_wait"].number != 0);
    CHECK(all["frees"].number == 2);
    CHECK(all["steals"].number == static_cast<double>(f.steals));
    REQUIRE(all["streams"].items.size() == 2);
    CHECK(all["streams"].items[0]["frees"].number == 1);
    CHECK(all["streams"].items[0]["destroyed"].text == "false");
    CHECK_FALSE(all.has("device_error"));

    m.sim.fail(allocator_machine::call::create);
    CHECK(gpu.try_allocate(32_MiB, m.a) == nullptr);
    CHECK(reported(gpu)["device_error"].text == "create: out of memory (code 2)");
    gpu.deallocate(p, m.a);
}

TEST_CASE("device allocator: its report says nothing of a limit where there is none, and says when it is cut") {
    allocator_machine m;
    allot::device_allocator<uncharged> gpu{m.api, unheard};
    CHECK_FALSE(reported(gpu).has("limit"));
    CHECK_FALSE(reported(gpu).has("account"));
    char few[64];
    allot::text_writer out{few};
    allot::write_report_json(out, gpu);
    CHECK(out.is_truncated());
}

TEST_CASE("device allocator: its report has the path of its account") {
    allocator_machine m;
    allot::account engine{allot::name{"engine"}}, query{engine, allot::name{"query 7"}};
    allot::device_allocator<charged> gpu{m.api, query, unheard, allot::name{"columns"}};
    CHECK(reported(gpu)["account"].text == "query 7 / columns");
}
