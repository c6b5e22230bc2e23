// Row types: as many as the documentation says, and a clear error beyond.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <string>
#include <vector>

using namespace allot::literals;

namespace {

template <class Request> std::string refusal(Request request) {
    try {
        request();
    } catch (const allot::out_of_memory& e) {
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("65,534 row types fit a manager, the next is a clear error", "[row_manager]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}, allot::name{"many"}};
    std::vector<allot::row_type> types(65'537, allot::row_type{.name = "type"});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 65'534; ++i) {
        void* const row = rows.try_allocate(8, types[i]);
        wrong += row == nullptr;
        rows.release(row);
    }
    CHECK(wrong == 0);
    auto local = rows.local();
    types[65'534].name = "one too many";
    const auto is_clear = [](const std::string& said) {
        CHECK_THAT(said, ContainsSubstring("for one too many refused by"));
        CHECK_THAT(said, ContainsSubstring("many: misused: the manager has 65,534 row types, the maximum"));
    };
    is_clear(refusal([&] { static_cast<void>(rows.allocate(8, types[65'534])); }));
    is_clear(refusal([&] { static_cast<void>(rows.allocate(5_MiB, types[65'534])); }));
    is_clear(refusal([&] { static_cast<void>(local.allocate(8, types[65'534])); }));
    is_clear(refusal([&] { static_cast<void>(rows.heap(8, types[65'534])); }));
    CHECK(rows.try_allocate(8, types[65'534]) == nullptr);
    for (std::size_t i = 0; i < 65'534; i += 1000) { // those that have a number keep it
        void* const row = rows.allocate(8, types[i]);
        std::size_t of_type = 0;
        rows.usage_by_type().for_each([&](const allot::type_usage& u) { of_type += u.type == &types[i] ? u.rows : 0; });
        CHECK(of_type == 1);
        rows.release(row);
    }
    rows.release(rows.allocate(8));
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("4,096 row types with a check fit a manager", "[row_manager]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}};
    std::vector<allot::row_type> types(4'097, {"checked", nullptr, 0, allot::row_check::crc32c});
    for (std::size_t i = 0; i < 4'096; ++i) rows.release(rows.allocate(8, types[i]));
    CHECK_THAT(refusal([&] { static_cast<void>(rows.allocate(8, types[4'096])); }),
               ContainsSubstring("the manager has 4,096 row types with a check, the maximum"));
}
