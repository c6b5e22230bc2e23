// Orders that came over a socket are sorted where they were received.
#include <algorithm>
#include <allot/packet/frames.hpp>
#include <allot/packet/packets.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot::literals;

struct order {
    std::uint64_t key, number;
};
struct query_rows : allot::policies<allot::count::links_anywhere, allot::ledger::tree> {}; // also rows in packets

static void send_orders(int to, std::uint64_t many) {
    std::vector<std::byte> message(60'000);
    allot::frame_writer out{message};
    const auto send_all = [&] { return ::send(to, out.bytes().data(), out.bytes().size(), 0), out.clear(); };
    for (std::uint64_t n = 0; n != many; ++n) {
        const order o{n * 0x9e37'79b9'7f4a'7c15, n};
        if (!out.add(o, 0)) send_all(), out.add(o, 0);
    }
    send_all(), ::close(to);
}

int main() {
    constexpr std::uint64_t many = 100'000;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 1;
    std::jthread sender(send_orders, ends[0], many);
    const std::unique_ptr<int, void (*)(int*)> last{&ends[1], [](int* end) { ::close(*end); }}; // the sender ends then

    allot::account engine{allot::name{"engine"}, allot::limit{8_MiB}}, scan{engine, allot::name{"scan"}};
    allot::packets in{engine};
    allot::row_manager<query_rows> rows{engine, allot::name{"rows"}};
    allot::row_array<query_rows> orders{rows};
    constexpr allot::frame_type types[] = {{sizeof(order), sizeof(order)}}; // what the sender may say
    while (allot::packet p = in.receive(
               scan, [&](std::span<std::byte> room) { return ::recv(ends[1], room.data(), room.size(), 0); })) {
        allot::frame_reader frames{p.bytes(), types};
        while (const auto f = frames.next())
            if (!orders.push_back(f->link<order>())) return 1;
        if (frames.error() != allot::frame_error::none) return std::puts(text_of(frames.error())), 1;
    }

    const auto key = [](const void* row) { return static_cast<const order*>(row)->key; };
    const auto sorted = orders.lock();
    std::sort(sorted.begin(), sorted.end(), [&](const void* a, const void* b) { return key(a) < key(b); });
    std::size_t in_packets = 0;
    for (const void* row : sorted.rows()) in_packets += static_cast<bool>(allot::packet::of(row));
    std::printf("%zu orders in %zu packets, %zu KiB; none was copied\n", in_packets, in.stats().packets,
                scan.used() >> 10);
    return in_packets == many && key(sorted.rows().front()) == 0 ? 0 : 1;
}
