// Rows in packets, beside rows of a manager: allocate links one that has another link, release releases it.
#include <counted/count.hpp>

#include <allot/packet/packets.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <span>

namespace measured {

struct anywhere : allot::policies<allot::count::links_anywhere> {};
template <bool InPacket> struct linked_subject {
    allot::account root{allot::name{"root"}};
    allot::packets in{root};
    allot::packet received = in.receive(root, [](std::span<std::byte> room) { return room.size(); });
    allot::row_manager<anywhere> rows;
    void* row = InPacket ? received.room().data() + 64 : rows.allocate(64);

    explicit linked_subject(const bench::job&) {}
    struct user {
        explicit user(linked_subject& s) : row(s.row) {}
        void* allocate(std::size_t) { return allot::link(row), row; }
        void release(void* r, std::size_t) { allot::release(r); }
        void* row;
    };
};

} // namespace measured

void counted::packets() {
    using namespace measured;
    count<57, linked_subject<false>>("row_linked");
    count<58, linked_subject<true>>("row_in_packet_linked");
}
