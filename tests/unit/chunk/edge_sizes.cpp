// Every entry point of chunk arenas that takes a size or an alignment, at the edges of std::size_t.
#include <support/catch.hpp>
#include <support/edge_sizes.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>

#include <cstring>
#include <string_view>

using namespace allot;
using namespace allot::literals;

namespace {

// Beyond 16 MiB, or no power of two, an alignment is misuse, which a checked build aborts at.
std::vector<std::size_t> alignments() {
    std::vector<std::size_t> all{1, 64, 4096, 64_KiB, 1_MiB, 16_MiB};
    if (ALLOT_CHECKED == 0)
        for (const std::size_t n : support::edge_sizes()) all.push_back(n);
    return all;
}

template <class Fit> void walk() {
    using pool_type = chunk_arena<policies<Fit, oom::null>>;
    {
        pool_type pool{limit{64_MiB}};
        for (const std::size_t bytes : support::lawful_edge_sizes())
            for (const std::size_t align : alignments()) {
                INFO(bytes << " aligned to " << align);
                const auto block = pool.try_allocate(bytes, align);
                if (block.address == nullptr) {
                    CHECK((bytes > 16_MiB || align > 16_MiB || !allot::detail::is_power_of_two(align)));
                    continue;
                }
                CHECK(bytes <= 64_MiB);
                CHECK(block.bytes >= bytes);
                CHECK((align == 0 || reinterpret_cast<std::uintptr_t>(block.address) % align == 0));
                std::memset(block.address, 1, block.bytes);
                pool.deallocate(block.address, bytes, align);
            }
        CHECK(pool.valid());
    }
    for (const std::size_t bytes : support::edge_sizes()) {
        INFO(bytes);
        {
            pool_type pool{limit{bytes}};
            const auto block = pool.try_allocate(100);
            CHECK((block.address != nullptr) == (bytes >= 16_KiB));
            pool.deallocate(block.address);
        }
        pool_type pool{chunk_bytes{bytes}, reserve_bytes{256_MiB}};
        const auto block = pool.try_allocate(100);
        CHECK(block.address != nullptr);
        pool.deallocate(block.address);
    }
}

} // namespace

TEST_CASE("chunk arenas: a block larger than the address space is refused by the arena", "[chunk]") {
    chunk_arena<policies<oom::null>> pool{name{"pool"}};
    for (const std::size_t bytes : {std::size_t{1} << 46, static_cast<std::size_t>(PTRDIFF_MAX)}) {
        charge_status why;
        CHECK_FALSE(pool.try_allocate(bytes, 64, &why));
        CHECK(why.outcome == charge_outcome::no_address_space);
        CHECK(why.by == refuser::arena);
        CHECK(std::string_view{why.name} == "pool");
    }
}

TEST_CASE("chunk arenas: a limit refuses a block larger than the address space, as one of rows", "[chunk]") {
    struct counted : policies<oom::null> {};
    struct charged : policies<oom::null, ledger::tree, fit::runs> {};
    account query{name{"query"}, limit{1_MiB}};
    chunk_arena<counted> own{name{"own"}, limit{1_MiB}};
    chunk_arena<charged> below{query};
    const auto kept = below.try_allocate(300_KiB); // so that there is an idle page later
    below.deallocate(kept.address);
    for (const std::size_t bytes : {std::size_t{1} << 50, std::size_t{1} << 62}) {
        charge_status why;
        CHECK_FALSE(own.try_allocate(bytes, 64, &why));
        CHECK((why.outcome == charge_outcome::over_limit && why.by == refuser::limit));
        CHECK_FALSE(below.try_allocate(bytes, 64, &why));
        CHECK((why.outcome == charge_outcome::over_limit && why.at == &query));
        CHECK_FALSE(below.allocate_for(bytes, forever, 64, &why)); // at once
    }
    below.trim();
    CHECK((query.used() == 0 && own.used() == 0));
    chunk_arena<counted> unlimited{name{"unlimited"}};
    charge_status why;
    CHECK_FALSE(unlimited.try_allocate(std::size_t{1} << 50, 64, &why));
    char text[128];
    text_writer out{text};
    write(out, why);
    CHECK(out.view().ends_with("; no process has as much"));
}

TEST_CASE("chunk arenas: sizes and alignments at the edges of size_t are served or refused", "[chunk]") {
    walk<fit::best>();
    walk<fit::buddy>();
    walk<fit::runs>();
}
