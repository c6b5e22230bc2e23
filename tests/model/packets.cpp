// Random calls of packets and rows in them beside a plain reference; and frames that were changed on their way.
//
//     ALLOT_ROUNDS=1000000 allot_model_tests "[packet]"      that many; ALLOT_SEED=n: from that one on
#include <support/catch.hpp>
#include <support/from_environment.hpp>

#include <allot/packet/frames.hpp>
#include <allot/packet/packets.hpp>
#include <allot/row_manager.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::packet;
using allot::row_ptr;

namespace {

struct rows_anywhere : allot::policies<allot::count::links_anywhere, allot::ledger::tree, allot::oom::null> {};
struct number {
    std::uint64_t n, copy;
};

// What is known of a packet: its links, and who pays.
struct known {
    std::size_t links = 0, slices = 0;
    account* holder = nullptr;
};

} // namespace

TEST_CASE("packets, rows, links, transfers and takes are as a plain reference has them", "[packet][model]") {
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1),
                        many = support::from_environment("ALLOT_ROUNDS", 60);
    for (std::uint64_t seed = first; seed != first + many; ++seed) {
        std::mt19937_64 random{seed};
        account engine{name{"engine"}, limit{2_MiB}}, one{engine, name{"one"}}, two{engine, name{"two"}};
        {
            allot::packets in{engine, {.bytes = 16_KiB}};
            allot::row_manager<rows_anywhere> rows{engine, name{"rows"}};
            struct held {
                row_ptr<const number> row;
                std::size_t of; // the index of its packet; SIZE_MAX: copied
                std::uint64_t value;
            };
            std::vector<known> packets;
            std::vector<std::pair<packet, std::size_t>> handles;
            std::vector<held> all;
            std::vector<std::pair<allot::buffer, std::size_t>> slices;
            std::size_t live = 0;
            const auto drop = [&](std::size_t of) {
                if (of != SIZE_MAX && --packets[of].links == 0) --live;
            };
            for (int i = 0; i != 400; ++i) {
                switch (random() % 8) {
                case 0: {
                    account& by = random() % 2 == 0 ? one : two;
                    const std::uint64_t value = random();
                    if (packet p = in.try_allocate(by)) {
                        for (std::size_t k = 0; k != 20; ++k) {
                            const number n{value + k, value + k};
                            std::memcpy(p.room().data() + k * sizeof n, &n, sizeof n);
                        }
                        p.set_bytes(20 * sizeof(number));
                        packets.push_back({1, 0, &by}), ++live;
                        handles.emplace_back(std::move(p), packets.size() - 1);
                    }
                    break;
                }
                case 1:
                case 2:
                    if (!handles.empty()) {
                        auto& [p, of] = handles[random() % handles.size()];
                        const number* const n = p.row<number>(random() % 22 * sizeof(number));
                        if (n == nullptr) break;
                        ++packets[of].links;
                        all.push_back({row_ptr<const number>::linked(n), of, n->n});
                    }
                    break;
                case 3:
                    if (!handles.empty()) {
                        const std::size_t at = random() % handles.size();
                        drop(handles[at].second);
                        std::swap(handles[at], handles.back()), handles.pop_back();
                    }
                    break;
                case 4:
                case 5:
                    if (!all.empty()) {
                        const std::size_t at = random() % all.size();
                        drop(all[at].of);
                        std::swap(all[at], all.back()), all.pop_back();
                    }
                    break;
                case 6:
                    if (!all.empty()) {
                        held& h = all[random() % all.size()];
                        const number* const was = h.row.get();
                        const std::size_t most = 1 + random() % 1000;
                        h.row = allot::take(rows, std::move(h.row), sizeof(number), most);
                        if (h.of == SIZE_MAX) REQUIRE(h.row.get() == was);
                        else if (16_KiB / most > packets[h.of].links * sizeof(number)) {
                            if (h.row.get() != was) drop(h.of), h.of = SIZE_MAX; // else there was no memory
                        } else REQUIRE(h.row.get() == was);
                    } else if (!handles.empty()) {
                        auto& [p, of] = handles[random() % handles.size()];
                        slices.emplace_back(p.slice(0, 1 + random() % 300), of);
                    }
                    break;
                default:
                    if (!all.empty()) {
                        const held& h = all[random() % all.size()];
                        const packet p = packet::of(h.row.get());
                        REQUIRE(static_cast<bool>(p) == (h.of != SIZE_MAX));
                        account& to = random() % 2 == 0 ? one : two;
                        if (p && p.try_transfer(to)) packets[h.of].holder = &to;
                        if (p) REQUIRE((p.holder() == packets[h.of].holder && p.links() == packets[h.of].links + 1));
                    }
                }
                for (const held& h : all) REQUIRE((h.row->n == h.value && h.row->copy == h.value));
                REQUIRE(in.stats().packets == live);
            }
            handles.clear(), all.clear();
            REQUIRE(in.stats().packets == 0);
            slices.clear();
            REQUIRE((one.used() == 0 && two.used() == 0));
        }
        REQUIRE((engine.used() == 0 && engine.verify() && engine.peak() <= 2_MiB));
    }
}

TEST_CASE("frames that were changed on their way are read within their packet, or not at all", "[packet][frames]") {
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1),
                        many = support::from_environment("ALLOT_ROUNDS", 20'000);
    const std::array<allot::frame_type, 3> types{{{0, 64}, {8, 8}, {1, SIZE_MAX}}};
    std::size_t whole = 0, wrong = 0;
    for (std::uint64_t seed = first; seed != first + many; ++seed) {
        std::mt19937_64 random{seed};
        std::vector<std::byte> sent(64 + random() % 400);
        allot::frame_writer out{sent};
        std::size_t added = 0;
        while (random() % 12 != 0) {
            const std::uint64_t row[16] = {random(), random()};
            const auto type = static_cast<std::uint32_t>(random() % 3);
            added += out.add(row, type == 1 ? 8 : 1 + random() % 60, type);
        }
        std::size_t n = out.bytes().size();
        if (random() % 4 == 0) n = n != 0 ? random() % n : 0;
        const std::unique_ptr<std::byte[]> came{new std::byte[n + (n == 0)]}; // sanitizers see each end
        std::memcpy(came.get(), sent.data(), n);
        const bool is_changed = random() % 2 == 0 && n != 0;
        for (std::size_t i = is_changed ? 1 + random() % 4 : 0; i != 0; --i)
            came[random() % n] = random() % 2 == 0 ? static_cast<std::byte>(random()) : std::byte{0xff};
        allot::frame_reader in{{came.get(), n}, types};
        std::size_t read = 0, sum = 0;
        while (const auto f = in.next()) {
            ++read;
            for (const std::byte b : f->row) sum += std::to_integer<std::size_t>(b);
            REQUIRE((f->type < 3 && f->row.size() >= types[f->type].least && f->row.size() <= types[f->type].most));
            REQUIRE((f->row.data() >= came.get() && f->row.data() + f->row.size() <= came.get() + n));
        }
        REQUIRE((sum == 0 || read != 0));
        if (!is_changed && n == out.bytes().size()) REQUIRE((read == added && in.error() == allot::frame_error::none));
        in.error() == allot::frame_error::none ? ++whole : ++wrong;
        REQUIRE((in.error() != allot::frame_error::none) == (in.offset() != n));
    }
    if (many >= 20'000) CHECK((whole > many / 10 && wrong > many / 10));
}
