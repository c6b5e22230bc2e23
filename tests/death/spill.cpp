// What must not be done with spillable buffers ends a checked build, with the name of the near account where there is
// one.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spillable_buffer.hpp>

#include <cstddef>
#include <optional>
#include <utility>

using allot::account;
using allot::buffer;
using allot::name;
using allot::spillable_buffer;

namespace {

struct fixture {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account near{name{"near"}}, far{name{"far"}};
    spillable_buffer make(buffer&& b) { return {std::move(b), {memory, near}, {memory, far}}; }
    spillable_buffer make() { return make(memory.allocate(near, 100)); }
};
template <class Body> void reported(const char* what, const char* who, Body body) {
    dies_telling<fixture>(body, {what, who});
}

} // namespace

TEST_CASE("halves of a buffer that is pinned", "[death][spill]") {
    reported("halves() of a spillable buffer that is pinned: end its pins first", "near", [](fixture& f) {
        const spillable_buffer whole = f.make();
        const auto pin = whole.pin();
        static_cast<void>(whole.halves());
    });
}

TEST_CASE("a buffer that was moved from is pinned", "[death][spill]") {
    reported("pin() of a spillable buffer that was moved from", "", [](fixture& f) {
        spillable_buffer from = f.make();
        const spillable_buffer to{std::move(from)};
        static_cast<void>(from.pin());
    });
}

TEST_CASE("a buffer that ends before its pin", "[death][spill]") {
    static constexpr const char* what = "a spillable buffer ends while it is pinned: end its pins first";
    reported(what, "near", [](fixture& f) {
        std::optional<spillable_buffer> b{f.make()};
        const auto pin = b->pin();
        b.reset();
    });
    reported(what, "near", [](fixture& f) {
        spillable_buffer b = f.make();
        const auto pin = b.pin();
        b = f.make();
    });
    const death end = death_of([] { // a move keeps the pin
        fixture f;
        std::optional<spillable_buffer> from{f.make()};
        std::optional pin{from->pin()};
        const spillable_buffer to{std::move(*from)};
        from.reset();
        pin.reset();
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("a spillable buffer of bytes that cannot leave", "[death][spill]") {
    static constexpr const char* not_near = "bytes that are not charged to the account of its near home";
    static constexpr const char* views = "a spillable buffer of a block that has other views: release them first";
    reported(not_near, "near", [](fixture& f) { f.make(f.memory.allocate(f.far, 100)); });
    reported(not_near, "near", [](fixture& f) {
        account child{f.near, name{"query"}};
        f.make(f.memory.allocate(child, 100));
    });
    reported(views, "near", [](fixture& f) {
        buffer b = f.memory.allocate(f.near, 100);
        const buffer other = b.slice(0, 1);
        f.make(std::move(b));
    });
    reported(views, "near", [](fixture& f) {
        account child{f.near, name{"query"}};
        buffer b = f.memory.allocate(f.near, 100);
        const buffer other = b.retain(child);
        f.make(std::move(b));
    });
    reported("a row in memory that the host must not touch", "near", [](fixture& f) {
        static std::byte bytes[8];
        f.make(buffer::of_foreign(f.near, bytes, 8, [](void*, std::byte*, std::size_t) noexcept {}, nullptr, false));
    });
    const death end = death_of([] { // an empty one has no account
        fixture f;
        f.make(buffer{});
    });
    INFO(end.said);
    CHECK(end.survived());
}
