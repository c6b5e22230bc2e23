// Rows in packets: allocate links one that has another link, release releases it.
#include <counted/count.hpp>

#include <allot/packet/packets.hpp>

#include <cstddef>
#include <span>

namespace measured {

struct linked_subject {
    allot::account root{allot::name{"root"}};
    allot::packets in{root};
    allot::packet received = in.receive(root, [](std::span<std::byte> room) { return room.size(); });

    explicit linked_subject(const bench::job&) {}
    struct user {
        explicit user(linked_subject& s) : row(s.received.room().data() + 64) {}
        void* allocate(std::size_t) { return allot::link(row), row; }
        void release(void* r, std::size_t) { allot::release(r); }
        void* row;
    };
};

} // namespace measured

void counted::packets() { count<57, measured::linked_subject>("row_in_packet_linked"); }
