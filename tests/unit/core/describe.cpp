// Compiled alone: it asks for the names of its own types.
#include <support/catch.hpp>
#include <support/fake_pages.hpp>

#include <allot/core/describe.hpp>
#include <allot/slots/bitmap.hpp>

#include <string>
#include <string_view>

using namespace allot;

struct described_rows : policies<size::packed, fake::host_page> {};

TEST_CASE("a set is described by one line a category, in the product's order") {
    constexpr auto all = describe<described_rows>();
    REQUIRE(all.size() == 12);
    CHECK(all.set() == "described_rows");
    CHECK(all.product() == "row_manager");
    std::string names;
    for (const answer_line& line : all) names.append(line.category).append(" ");
    CHECK(names == "page size slots heap refill count ledger spill oom retain guard watch ");
}

TEST_CASE("a line reports the answer and whether the set named it") {
    for (const answer_line& line : describe<described_rows>()) {
        CHECK_FALSE(line.question.empty());
        CHECK(line.named == (line.category == "page" || line.category == "size"));
        if (line.category == "page") {
            CHECK(line.answer == "fake::host_page");
            CHECK(line.about == "pages of a test");
            CHECK(line.cost.empty());
        }
        if (line.category == "size") CHECK(line.answer == "size::packed");
        if (line.category == "slots") CHECK(line.answer == "slots::bitmap");
        if (line.category == "spill") CHECK(line.cost == "0");
    }
}

TEST_CASE("the text is a constant, and the same that a writer gets") {
    constexpr std::string_view text = describe<described_rows>().text().view();
    STATIC_REQUIRE(text.size() > 500);
    CHECK(text.substr(0, text.find('\n')) == "row_manager of described_rows");
    CHECK_THAT(std::string{text}, ContainsSubstring("  oom     oom::raise"));

    char buffer[4096];
    text_writer out{buffer};
    describe<described_rows>(out);
    CHECK(out.view() == text);
}

TEST_CASE("a changed set says of which set and how") {
    CHECK(describe<with<described_rows, size::exact>>().set() == "allot::with<described_rows, allot::size::exact>");
}

TEST_CASE("products are described by their own categories") {
    struct pages : policies<fake::host_page> {};
    constexpr auto all = describe<pages, product::arena>();
    CHECK(all.product() == "arena");
    CHECK(all.size() == 3);
}
