// A type of the program's own in a store: storing<T> says how it is written, and made again.
#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>

using namespace allot::literals;
using number = std::uint64_t;

// Numbers that were counted, each at its place. `seen` is no byte of the buffer.
struct counts {
    allot::buffer places;
    number seen = 0;

    void add(number n) { places.set(n * 8, places.get<number>(n * 8) + 1), ++seen; }
};

template <> struct allot::storing<counts> {
    using held = counts; // what a pin shows

    storing(const counts& c, account& of_store) : places(c.places, of_store), seen(c.seen) {}
    static counts hold(counts& c) noexcept { return std::move(c); }
    static std::size_t charged(const counts& c) noexcept { return c.places.block_bytes(); }
    static bool may_leave(const counts& c) noexcept { return storing<buffer>::may_leave(c.places); }
    static home_status write(const counts& from, kept_bytes& to) noexcept {
        return storing<buffer>::write(from.places, to);
    }
    counts make(const kept_bytes& from, const pin_request& by_pin, home_status& why) const noexcept {
        return {places.make(from, by_pin, why), seen};
    }
    static void move_to(account& to, counts& c) { storing<buffer>::move_to(to, c.places); }

    storing<buffer> places; // remembered while it is away, with:
    number seen;
    account& by = places.by;          // that is charged
    std::size_t bytes = places.bytes; // that are written
};

int main() {
    constexpr std::size_t places = 16'384;
    allot::account engine{allot::name{"engine"}, allot::limit{256_KiB}}, disk{allot::name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory far{memory, disk};
    allot::store data{engine, far};

    counts first{memory.allocate(engine, places * 8)};
    for (std::size_t i = 0; i != places; ++i) first.places.set(i * 8, number{0});
    allot::stored<counts> kept = data.put(std::move(first));
    kept.pin_to_change()->add(7);
    allot::buffer other = memory.allocate(engine, 200_KiB); // there is no room for both
    std::printf("%s, %zu KiB at home\n", kept.is_away() ? "away" : "here", disk.used() >> 10);
    other.release();

    kept.pin_to_change()->add(7); // it comes back
    const counts last = std::move(kept).take();
    std::printf("%ju seen\n", std::uintmax_t{last.seen});
    return last.seen == 2 && last.places.get<number>(7 * 8) == 2 ? 0 : 1;
}
