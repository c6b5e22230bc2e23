// Packets that end before what uses them, and rows in them that are taken for rows of a manager, end a checked build.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/packet/packets.hpp>
#include <allot/row_manager.hpp>

#include <cstdint>
#include <memory>
#include <span>

using allot::account;
using allot::name;

namespace {

struct counted : allot::policies<> {};
struct fixture {
    account engine{name{"engine"}};
    std::unique_ptr<allot::packets> in = std::make_unique<allot::packets>(engine);
    allot::packet p = in->receive(engine, [](std::span<std::byte> room) { return room.size(); });
    const std::uint64_t* row = p.row<std::uint64_t>(64);
};

} // namespace

TEST_CASE("misuse of packets", "[death][packet]") {
    dies_telling<fixture>([](fixture& f) { f.in.reset(); },
                          {"a handle or client that outlives its manager or arena", "packets"});
    dies_telling<fixture>([](fixture& f) { allot::finalize(const_cast<std::uint64_t*>(f.row)); },
                          {"a row in a packet is finalized or sealed: copy it first"});
    dies_telling<fixture>([](fixture& f) { allot::release(f.row); }, {"released twice", "packet"}); // no link of it
    dies_telling<fixture>([](fixture& f) { f.p.set_bytes(f.p.room().size() + 1); }, {"beyond the bounds", "packet"});
    dies_telling<fixture>(
        [](fixture& f) {
            account other{name{"other"}};
            f.p = f.in->allocate(other);
        },
        {"packets are for accounts of their own tree"});
    dies_telling<fixture>(
        [](fixture& f) {
            f.p = {};
            allot::link(f.row); // its packet has ended
        },
        {"an address in a page where no row starts", "packets"});
    dies_telling<fixture>(
        [](fixture& f) {
            allot::row_manager<counted> rows;
            rows.link(f.row);
        },
        {"a row of an arena that this manager does not use", "packets"});
}
