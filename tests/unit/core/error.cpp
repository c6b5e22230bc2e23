#include <support/catch.hpp>

#include <allot/core/error.hpp>

#include <new>
#include <string>
#include <string_view>
#include <type_traits>

using namespace allot;

TEST_CASE("out_of_memory carries its line and its page") {
    const out_of_memory plain;
    CHECK(std::string_view{plain.what()} == "allot: out of memory");
    CHECK(std::string_view{plain.report()}.empty());

    const out_of_memory error{"no memory", [](text_writer& out) { out.put("held by ").number(3).put(" heaps"); }};
    const out_of_memory copy = error;
    CHECK(std::string_view{copy.what()} == "no memory");
    CHECK(std::string_view{copy.report()} == "held by 3 heaps");
    CHECK(std::string_view{out_of_memory("line", "page").report()} == "page");
}

TEST_CASE("a line or a page that is too long is cut and says so") {
    const std::string longer(5000, 'x');
    const out_of_memory error{longer, longer};
    CHECK(std::string_view{error.what()}.size() == out_of_memory::line_bytes - 1);
    CHECK(std::string_view{error.report()}.size() == out_of_memory::report_bytes - 1);
    CHECK(std::string_view{error.report()}.substr(3068) == "...");
}

#if ALLOT_EXCEPTIONS
TEST_CASE("out_of_memory is caught as std::bad_alloc") {
    std::string line;
    try {
        raise(out_of_memory("refused", ""));
    } catch (const std::bad_alloc& error) {
        line = error.what();
    }
    CHECK(line == "refused");
}
#endif

TEST_CASE("a misuse is reported with what is known about it") {
    char buffer[256];
    text_writer out{buffer};
    write(out, {misuse::double_release, "thor_rows", "orders", "order"});
    CHECK(out.view() == "allot: misuse: released twice (set thor_rows, heap orders, row type order)");

    out.clear();
    write(out, {.kind = misuse::bad_alignment, .type = "wide"});
    CHECK(out.view() == "allot: misuse: an alignment that is not a power of two, or above the maximum (row type wide)");

    out.clear();
    write(out, {.kind = misuse::foreign_pointer, .set = "", .address = buffer});
    CHECK_THAT(std::string{out.view()}, ContainsSubstring("not of this object's memory: 0x"));
    CHECK(out.view().find('(') == std::string_view::npos);
}

TEST_CASE("each kind of misuse has a text of its own") {
    for (int i = 0; i <= static_cast<int>(misuse::use_after_destruction); ++i) {
        const std::string_view text = text_of(static_cast<misuse>(i));
        CHECK_FALSE(text.empty());
        for (int j = 0; j < i; ++j) CHECK(text != text_of(static_cast<misuse>(j)));
    }
}

TEST_CASE("errors about memory have one light base, which names what refused", "[error]") {
    STATIC_REQUIRE(sizeof(allot::memory_error) <= 88);
    STATIC_REQUIRE(std::is_base_of_v<std::bad_alloc, allot::memory_error>);
    STATIC_REQUIRE(std::is_base_of_v<allot::memory_error, allot::out_of_memory>);
    const allot::charge_status why{.outcome = allot::charge_outcome::over_limit, .requested = 7, .limit = 5};
    const allot::memory_error light{why};
    CHECK(light.why().requested == 7);
    CHECK(std::string_view{light.what()}.starts_with("allot: "));
    const allot::out_of_memory page{"line", "page", why};
    const allot::memory_error& base = page;
    CHECK(base.why().limit == 5);
    CHECK(std::string_view{base.what()} == "line");
    CHECK(allot::memory_error{}.why().outcome == allot::charge_outcome::no_memory);
}
