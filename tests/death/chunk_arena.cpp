// Misuse of a chunk arena is told by name, with set and arena.
#include <support/catch.hpp>
#include <support/death.hpp>

#include <allot/chunk_arena.hpp>

using namespace allot::literals;

namespace {

struct buffers : allot::policies<allot::fit::runs> {};
struct best_fits : allot::policies<allot::fit::best> {};
struct halves : allot::policies<allot::fit::buddy, allot::heap::per_thread> {};

template <class Set, class Body> void reported(const char* what, Body body) {
    const death end = death_of([&] {
        allot::chunk_arena<Set> blocks{allot::limit{64_MiB}, allot::page_bytes{256_KiB}, allot::name{"query"}};
        body(blocks);
    });
    INFO(end.said);
    CHECK(end.aborted());
    CHECK_THAT(end.said, ContainsSubstring(what));
    CHECK_THAT(end.said, ContainsSubstring("heap query"));
}

template <class Set> void all_kinds() {
    reported<Set>("released twice", [](auto& blocks) {
        void* const p = blocks.allocate(1000).address;
        blocks.deallocate(p);
        blocks.deallocate(p);
    });
    reported<Set>("released twice", [](auto& blocks) {
        void* const p = blocks.allocate(1000).address;
        blocks.deallocate({p, 1000});
        blocks.deallocate({p, 1000});
    });
    reported<Set>("released twice", [](auto& blocks) {
        void* const keep = blocks.allocate(1000).address;
        void* const p = blocks.allocate(1000).address;
        blocks.deallocate(p);
        blocks.trim(); // it is in no cache any more
        blocks.deallocate(p);
        blocks.deallocate(keep);
    });
    reported<Set>("a pointer into the inside",
                  [](auto& blocks) { blocks.deallocate(static_cast<std::byte*>(blocks.allocate(1000).address) + 64); });
    reported<Set>("a pointer into the inside",
                  [](auto& blocks) { blocks.deallocate(static_cast<std::byte*>(blocks.allocate(1000).address) + 1); });
    reported<Set>("a pointer into the inside", [](auto& blocks) {
        blocks.deallocate(static_cast<std::byte*>(blocks.allocate(5_MiB).address) + 2_MiB);
    });
    reported<Set>("a pointer that is not of this object's memory", [](auto& blocks) {
        static int elsewhere = 0;
        blocks.deallocate(&elsewhere);
    });
    reported<Set>("a pointer that is not of this object's memory",
                  [](auto& blocks) { blocks.deallocate(blocks.arena().end() - 64); });
    reported<Set>("a size larger than", [](auto& blocks) { blocks.deallocate(blocks.allocate(1000).address, 5000); });
    reported<Set>("a size larger than", [](auto& blocks) { blocks.deallocate({blocks.allocate(1000).address, 5000}); });
    reported<Set>("not requested with", [](auto& blocks) { blocks.deallocate({blocks.allocate(1000).address, 100}); });
    reported<Set>("not requested with", [](auto& blocks) {
        const allot::block b = blocks.allocate(1000, 1_MiB); // whole pages
        blocks.deallocate(b);
    });
    reported<Set>("an alignment that is not", [](auto& blocks) { static_cast<void>(blocks.allocate(1000, 24)); });
    reported<Set>("a size larger than",
                  [](auto& blocks) { static_cast<void>(blocks.try_allocate(~std::size_t{0} - 5)); });
    reported<Set>("a pointer that is not of this object's memory", [](auto& blocks) {
        allot::chunk_arena<Set> other{allot::limit{64_MiB}, allot::name{"other"}};
        blocks.deallocate(other.allocate(1000).address);
    });
}

} // namespace

TEST_CASE("what is no block is reported by name", "[chunks]") {
    all_kinds<buffers>();
    all_kinds<halves>();
    all_kinds<best_fits>();
}

TEST_CASE("a block of whole pages that is kept is known to be free", "[chunks]") {
    reported<best_fits>("released twice", [](auto& blocks) {
        void* const p = blocks.allocate(1_MiB).address;
        blocks.deallocate(p);
        blocks.deallocate(p);
    });
}
