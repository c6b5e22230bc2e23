// fit::best against a model of maps and sets: random traces of everything it can do, with and without tags, while
// metadata fails now and then.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>
#include <support/from_environment.hpp>
#include <support/stream_tag.hpp>

#include <allot/fit/best.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace {

constexpr std::size_t unit = 256;

template <class Tag> struct made;
template <> struct made<allot::detail::no_tag> {
    static allot::detail::no_tag tag(std::uint32_t, std::uint64_t) { return {}; }
    static constexpr std::uint32_t keys = 1;
};
template <> struct made<stream_tag> {
    static stream_tag tag(std::uint32_t key, std::uint64_t ticket) { return {key, ticket}; }
    static constexpr std::uint32_t keys = 4;
};
bool is_late(const allot::detail::no_tag&, std::uint64_t) { return true; }
bool is_late(const stream_tag& tag, std::uint64_t now) { return tag.ticket > now / 2; }
bool same(const allot::detail::no_tag&, const allot::detail::no_tag&) { return true; }
bool same(const stream_tag& a, const stream_tag& b) { return a == b; }

// The same answers, the plain way.
template <class Tag> class model {
  public:
    struct piece {
        std::size_t bytes;
        bool live;
        Tag tag;
        std::uint32_t segment;
    };
    using place = typename std::map<std::uintptr_t, piece>::iterator;

    void add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment, Tag tag) {
        all[address] = {bytes, true, tag, segment};
        release(address, tag);
    }
    std::uintptr_t choose(std::size_t bytes, std::size_t align, std::uint32_t key) const {
        const std::size_t size = std::max(unit, (bytes + unit - 1) / unit * unit);
        auto p = free.lower_bound({key, size, 0});
        for (int tries = 8; p != free.end() && std::get<0>(*p) == key && tries != 0; ++p, --tries) {
            const auto [k, n, address] = *p;
            if ((address + align - 1) / align * align + size <= address + n)
                return (address + align - 1) / align * align;
        }
        if (align <= unit) return 0;
        p = free.lower_bound({key, size + align - unit, 0});
        if (p == free.end() || std::get<0>(*p) != key) return 0;
        return (std::get<2>(*p) + align - 1) / align * align;
    }
    std::uintptr_t choose_any(std::size_t bytes, std::size_t align) const {
        std::uintptr_t best = 0;
        std::pair<std::size_t, std::uintptr_t> of{};
        for (std::uint32_t key = 0; key < made<Tag>::keys; ++key) {
            const std::uintptr_t at = choose(bytes, align, key);
            if (at == 0) continue;
            const auto p = std::prev(all.upper_bound(at));
            const std::pair now{p->second.bytes, p->first};
            if (best == 0 || now < of) best = at, of = now;
        }
        return best;
    }
    Tag take(std::uintptr_t at, std::size_t bytes) {
        const std::size_t size = std::max(unit, (bytes + unit - 1) / unit * unit);
        place p = std::prev(all.upper_bound(at));
        const auto [address, was] = *p;
        REQUIRE((!was.live && address <= at && at + size <= address + was.bytes));
        erase(p);
        if (address != at) put(address, {at - address, false, was.tag, was.segment});
        put(at, {size, true, was.tag, was.segment});
        if (at + size != address + was.bytes)
            put(at + size, {address + was.bytes - at - size, false, was.tag, was.segment});
        return was.tag;
    }
    void release(std::uintptr_t at, Tag tag) {
        place p = all.find(at);
        piece now{p->second.bytes, false, tag, p->second.segment};
        all.erase(p);
        if (place q = all.find(at + now.bytes); q != all.end() && joins(q->second, now)) {
            now.tag = Tag::join(q->second.tag, now.tag);
            now.bytes += q->second.bytes;
            erase(q);
        }
        if (place q = all.lower_bound(at); q != all.begin()) {
            --q;
            if (q->first + q->second.bytes == at && joins(q->second, now)) {
                now.tag = Tag::join(q->second.tag, now.tag);
                now.bytes += q->second.bytes;
                at = q->first;
                erase(q);
            }
        }
        put(at, now);
    }
    void erase(place p) {
        if (!p->second.live) free.erase({p->second.tag.key(), p->second.bytes, p->first});
        all.erase(p);
    }
    void put(std::uintptr_t at, piece p) {
        all[at] = p;
        if (!p.live) free.insert({p.tag.key(), p.bytes, at});
    }
    static bool joins(const piece& a, const piece& b) {
        return !a.live && a.segment == b.segment && Tag::may_join(a.tag, b.tag);
    }
    std::map<std::uintptr_t, piece> all;
    std::set<std::tuple<std::uint32_t, std::size_t, std::uintptr_t>> free; // key, bytes, address
};

// Sizes: many small, some of a few classes, some of any octave.
std::size_t some_bytes(std::mt19937& random) {
    switch (random() % 4) {
    case 0: return random() % 2000;
    case 1: return std::size_t{256} << random() % 8;
    case 2: return random() % (1 << 14);
    default: return random() % (std::size_t{1} << (4 + random() % 11));
    }
}

template <class Tag> void trace(unsigned seed, int steps) {
    failing_metadata::state memory;
    allot::detail::best_fit_runs<Tag, failing_metadata> fit{unit, {&memory}};
    model<Tag> plain;
    std::mt19937 random{seed};
    std::vector<std::uintptr_t> live;
    constexpr std::uintptr_t base = 0x7000'0000'0000;
    constexpr std::size_t chunk = 1 << 18;
    for (std::uint32_t key = 0; key < made<Tag>::keys; ++key) REQUIRE(fit.open(key));
    std::uint64_t ticket = 0;
    std::size_t reported = 0, max_live = 0;
    const auto some_tag = [&] {
        return made<Tag>::tag(static_cast<std::uint32_t>(random() % made<Tag>::keys), ++ticket);
    };
    const auto some_free = [&]() -> typename allot::detail::best_fit_runs<Tag, failing_metadata>::run {
        if (plain.free.empty()) return {};
        auto p = plain.free.lower_bound({random() % made<Tag>::keys, random() % chunk, 0});
        if (p == plain.free.end()) --p;
        const auto address = std::get<2>(*p);
        return {address, std::get<1>(*p), plain.all.at(address).tag};
    };

    for (int step = 0; step < steps; ++step) {
        memory.left = random() % 2 == 0 ? 0 : -1; // no metadata this time
        const bool fails = memory.left == 0;
        const auto what = random() % 100;
        const bool fill = (step >> 14) % 2 == 0;
        if (what < (fill ? 54U : 32U)) {
            const std::size_t bytes = some_bytes(random);
            const std::size_t align = random() % 8 == 0 ? std::size_t{1} << random() % 14 : 256;
            const bool any = random() % 4 == 0;
            const auto key = static_cast<std::uint32_t>(random() % made<Tag>::keys);
            const std::uintptr_t expected = any ? plain.choose_any(bytes, align) : plain.choose(bytes, align, key);
            const auto r = any ? fit.allocate_any(bytes, align) : fit.allocate(bytes, align, key);
            if (!r && expected != 0) {
                REQUIRE(fails);
                REQUIRE(!fit.prepare());
                ++reported;
                continue;
            }
            REQUIRE(r.address == expected);
            if (r) {
                REQUIRE(same(r.tag, plain.take(expected, bytes)));
                live.push_back(r.address);
            }
        } else if (what < 86) {
            if (live.empty()) continue;
            std::swap(live[random() % live.size()], live.back());
            const Tag tag = some_tag();
            REQUIRE(fit.release(live.back(), tag) == plain.all.at(live.back()).bytes);
            plain.release(live.back(), tag);
            live.pop_back();
        } else if (what < 93) { // resize
            if (live.empty()) continue;
            const std::uintptr_t address = live[random() % live.size()];
            auto& piece = plain.all.at(address);
            const std::size_t bytes =
                random() % 3 == 0 ? some_bytes(random) : piece.bytes + unit * (random() % 9) - 4 * unit;
            if (bytes > chunk * 64) continue;
            const std::size_t size = std::max(unit, (bytes + unit - 1) / unit * unit);
            if (size <= piece.bytes) {
                const Tag tag = some_tag();
                if (!fit.shrink(address, bytes, tag)) {
                    REQUIRE(fails);
                    continue;
                }
                if (size != piece.bytes) {
                    plain.all[address + size] = {piece.bytes - size, true, tag, piece.segment};
                    piece.bytes = size;
                    plain.release(address + size, tag);
                }
            } else {
                const auto next = plain.all.find(address + piece.bytes);
                const std::size_t more = size - piece.bytes;
                const bool can = next != plain.all.end() && !next->second.live &&
                                 next->second.segment == piece.segment && next->second.bytes >= more;
                REQUIRE(fit.grow(address, bytes, [](const Tag&) { return true; }) == can);
                if (can) {
                    const auto was = *next;
                    plain.erase(next);
                    if (was.second.bytes != more)
                        plain.put(was.first + more,
                                  {was.second.bytes - more, false, was.second.tag, was.second.segment});
                    piece.bytes = size;
                }
            }
            REQUIRE(fit.bytes_of(address) == piece.bytes);
        } else if (what < 96) { // retag
            const auto r = some_free();
            if (!r.address) continue;
            const Tag tag = some_tag();
            REQUIRE(fit.retag(r, tag));
            auto p = plain.all.find(r.address);
            plain.free.erase({p->second.tag.key(), p->second.bytes, p->first});
            p->second.live = true;
            plain.release(r.address, tag);
        } else if (what < 97) { // give back
            const auto r = some_free();
            if (!r.address || (step % 2 == 0 && r.bytes < chunk / 4)) continue;
            const std::size_t front = random() % (r.bytes / unit) * unit * (random() % 2);
            const std::size_t bytes = (1 + random() % std::min((r.bytes - front) / unit, chunk / unit / 2)) * unit;
            if (!fit.remove(r, r.address + front, bytes)) {
                REQUIRE(fails);
                continue;
            }
            const auto was = *plain.all.find(r.address);
            plain.erase(plain.all.find(r.address));
            if (front != 0) plain.put(r.address, {front, false, was.second.tag, was.second.segment});
            if (front + bytes != r.bytes)
                plain.put(r.address + front + bytes,
                          {r.bytes - front - bytes, false, was.second.tag, was.second.segment});
        } else { // more memory, in two segments that touch
            const std::uintptr_t address = base + random() % 64 * chunk + random() % 4 * (chunk / 4);
            const std::size_t bytes = (1 + random() % (chunk / unit)) * unit;
            const std::uint32_t segment = address >= base + 32 * chunk;
            if (segment == 0 && address + bytes > base + 32 * chunk) continue;
            const auto p = plain.all.lower_bound(address);
            const bool overlaps =
                (p != plain.all.end() && p->first < address + bytes) ||
                (p != plain.all.begin() && std::prev(p)->first + std::prev(p)->second.bytes > address);
            const Tag tag = some_tag();
            if (fit.add(address, bytes, segment, tag)) {
                REQUIRE(!overlaps);
                plain.add(address, bytes, segment, tag);
            } else {
                REQUIRE((overlaps || fails));
            }
        }
        if (step % 20000 == 19999) { // the latest half of what is free becomes some stream's
            const Tag tag = some_tag();
            const auto accept = [&](const Tag& t) { return is_late(t, ticket); };
            std::vector<std::uintptr_t> these;
            for (const auto& [address, p] : plain.all)
                if (!p.live && accept(p.tag)) these.push_back(address);
            REQUIRE(fit.gather(tag, accept));
            for (const std::uintptr_t address : these) {
                const auto p = plain.all.find(address);
                if (p == plain.all.end()) continue; // part of another by now
                plain.free.erase({p->second.tag.key(), p->second.bytes, address});
                p->second.live = true;
                plain.release(address, tag);
            }
        }
        if (step % 4096 != 0 && step % 20000 != 19999) continue;
        REQUIRE(fit.valid());
        auto p = plain.all.begin();
        fit.visit([&](const auto& r, bool is_live, std::uint32_t segment) {
            REQUIRE(p != plain.all.end());
            REQUIRE((r.address == p->first && r.bytes == p->second.bytes && is_live == p->second.live));
            REQUIRE((segment == p->second.segment && (is_live || same(r.tag, p->second.tag))));
            ++p;
            return true;
        });
        REQUIRE(p == plain.all.end());
        for (std::uint32_t key = 0; key < made<Tag>::keys; ++key) {
            const auto end = plain.free.lower_bound({key + 1, 0, 0});
            const bool none = end == plain.free.begin() || std::get<0>(*std::prev(end)) != key;
            REQUIRE(fit.largest(key).address == (none ? 0 : std::get<2>(*std::prev(end))));
        }
        REQUIRE(fit.live_runs() == live.size());
        max_live = std::max(max_live, live.size());
    }
    CHECK(reported > 0);
    CHECK(max_live > 1000);
    CHECK(memory.held == fit.metadata_bytes());
}

} // namespace

const int steps = (ALLOT_ASAN ? 200'000 : 500'000) / (support::in_short_run() ? 2 : 1);

TEST_CASE("random steps without tags give what the model gives", "[heap][fit]") {
    trace<allot::detail::no_tag>(1, steps);
}

TEST_CASE("random steps of four streams give what the model gives", "[heap][fit]") { trace<stream_tag>(2, steps); }
