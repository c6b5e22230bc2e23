// What must not be done with stored objects ends a checked build, with the name of the store or the account.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <optional>
#include <utility>

using allot::account;
using allot::buffer;
using allot::name;
using stored_buffer = allot::stored<allot::buffer>;

namespace {

struct fixture {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account near{name{"near"}}, far{name{"far"}};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there, name{"inputs"}};
    stored_buffer make(buffer&& b) { return inputs.put(std::move(b)); }
    stored_buffer make() { return make(memory.allocate(near, 100)); }
};
template <class Body> void reported(const char* what, const char* who, Body body) {
    dies_telling<fixture>(body, {what, who});
}

} // namespace

TEST_CASE("halves of a buffer that is pinned", "[death][spill]") {
    reported("halves() of a stored object that is pinned: end its pins first", "inputs", [](fixture& f) {
        const stored_buffer whole = f.make();
        const auto pin = whole.pin();
        static_cast<void>(whole.halves());
    });
}

TEST_CASE("a buffer that was moved from is pinned", "[death][spill]") {
    reported("an empty handle of a stored object is pinned or taken", "", [](fixture& f) {
        stored_buffer from = f.make();
        const stored_buffer to{std::move(from)};
        static_cast<void>(from.pin());
    });
}

TEST_CASE("a buffer that ends before its pin", "[death][spill]") {
    static constexpr const char* what = "a stored object ends, or is taken, while others pin it: end their pins first";
    reported(what, "inputs", [](fixture& f) {
        std::optional<stored_buffer> b{f.make()};
        const auto pin = b->pin();
        b.reset();
    });
    reported(what, "inputs", [](fixture& f) {
        stored_buffer b = f.make();
        const auto pin = b.pin();
        b = f.make();
    });
    const death end = death_of([] { // a move keeps the pin
        fixture f;
        std::optional<stored_buffer> from{f.make()};
        std::optional pin{from->pin()};
        const stored_buffer to{std::move(*from)};
        from.reset();
        pin.reset();
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("what cannot be stored", "[death][spill]") {
    static constexpr const char* views = "a buffer whose block has other views is put into a store: release them first";
    reported("is not charged to the store's account, or one below it", "far",
             [](fixture& f) { f.make(f.memory.allocate(f.far, 100)); });
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
    reported("a foreign block is put into a store", "near", [](fixture& f) {
        static std::byte bytes[8];
        f.make(buffer::of_foreign(f.near, bytes, 8, [](void*, std::byte*, std::size_t) noexcept {}));
    });
    const death end = death_of([] { // an empty one has no account
        fixture f;
        f.make(buffer{});
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("a stored object is changed that was pinned to be read", "[death][spill]") {
    reported("a stored object was changed that pin() showed: the change is lost", "inputs", [](fixture& f) {
        allot::spill_files files{f.far, "/tmp"}; // which keep what is in memory again
        allot::store kept{f.near, files, name{"inputs"}};
        stored_buffer b = kept.put(f.memory.allocate(f.near, 100));
        b.spill();
        b.pin()->set<int>(0, 1);
        b.spill();
    });
}
