// What an account, a request that it refuses, and what waits or is called there cost, as their headers say, and
// docs/accounts.md: tests/docs/sizes_are_tested.py compares them.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/oom/held_outside.hpp>
#include <allot/oom/task.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/tenant.hpp>

TEST_CASE("accounts and what is added to them have the sizes that their headers say") {
    using namespace allot;
    STATIC_REQUIRE(sizeof(account) == 768);
    STATIC_REQUIRE(sizeof(detail::account_tree) == (ALLOT_CHECKED ? 320 : 312)); // in each account
    STATIC_REQUIRE(sizeof(detail::tree_node) == 272);
    STATIC_REQUIRE(sizeof(detail::level_totals) == 112);
    STATIC_REQUIRE(sizeof(detail::leaf_credit) == 24);
    STATIC_REQUIRE(sizeof(detail::account_lifetime) == 64);
    STATIC_REQUIRE(sizeof(detail::observers) == 32);
    STATIC_REQUIRE(sizeof(detail::reclaimers) == 48);
    STATIC_REQUIRE(sizeof(detail::open_counts) == 16);
    STATIC_REQUIRE(sizeof(account_item) == 40);
    STATIC_REQUIRE(sizeof(account_reservation) == 80);
    STATIC_REQUIRE(sizeof(detail::queued_reservation) == 472);
    STATIC_REQUIRE(sizeof(reclaimer) == 104);
    STATIC_REQUIRE(sizeof(tenant) == 56);
    STATIC_REQUIRE(sizeof(detail::shared_level) == 80);
    STATIC_REQUIRE(sizeof(oom::task) == 24);
    STATIC_REQUIRE(sizeof(oom::task_thread) == 48);
    STATIC_REQUIRE(sizeof(oom::held_outside) == 24);
}

TEST_CASE("a request takes little of its thread's stack, and nothing before it is refused") {
    using namespace allot;
    STATIC_REQUIRE(sizeof(detail::memory_request) == 128);
    STATIC_REQUIRE(sizeof(detail::waiter) == 280);
    STATIC_REQUIRE(sizeof(detail::waits_of_level) == 40);
    STATIC_REQUIRE(sizeof(detail::account_steps) == 1088);
    STATIC_REQUIRE(sizeof(wait_limit) == 24);
    STATIC_REQUIRE(sizeof(cancellation) == 24);
}
