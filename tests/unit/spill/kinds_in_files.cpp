// Vectors, rows and device memory leave for files, through tiers too, and come back whole.
#include <support/catch.hpp>
#include <support/device_sets.hpp>

#include <allot/buffers.hpp>
#include <allot/core/row_encoding.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_device.hpp>
#include <allot/spill/stored_rows.hpp>
#include <allot/spill/stored_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using array = allot::row_array<struct in_files>;

struct in_files : allot::policies<allot::ledger::tree, allot::spill::chain> {};

namespace {

struct text_row {
    explicit text_row(std::string s) : text(std::move(s)) {}
    explicit text_row(allot::row_reader& from) : text(from.left(), ' ') {
        static_cast<void>(from.get(text.data(), text.size()));
    }
    void encode(allot::row_writer& to) const noexcept { to.put(text.data(), text.size()); }
    std::string text;
};
struct homes {
    account near{name{"near"}, limit{4_MiB}}, disk{name{"disk"}};
    allot::spill_files files{disk, "/tmp", allot::spill_file_options{.extent_bytes = 4_KiB}};
    allot::store inputs{near, files};

    ~homes() { CHECK(disk.used() == 0); }
};

} // namespace

TEST_CASE("vectors and halves of them are read from files", "[spill][vector]") {
    homes h;
    allot::heap_memory heap;
    const allot::buffer_memory memory{heap};
    std::vector<allot::stored<allot::value_vector<std::uint16_t>>> all;
    for (const std::size_t n : {1u, 1001u, 50'000u, 500'001u}) {
        auto v = allot::value_vector<std::uint16_t>::allocate(memory, h.near, n);
        for (std::size_t i = 0; i < n; i += 3) v.set(i, static_cast<std::uint16_t>(i));
        all.push_back(h.inputs.put(std::move(v)));
    }
    CHECK(h.inputs.spill(SIZE_MAX) != 0);
    CHECK(h.near.used() == 0);
    const auto is = [](const auto& stored, std::size_t from, std::size_t n) {
        const auto pin = stored.pin();
        for (std::size_t i = 0; i != pin->size(); ++i)
            if (pin->is_valid(i) != ((from + i) % 3 == 0) ||
                (pin->is_valid(i) && pin->get(i) != static_cast<std::uint16_t>(from + i)))
                return false;
        return pin->size() == n;
    };
    const auto parts = all[3].halves(1000);
    REQUIRE(parts.size() == 2);
    CHECK((is(all[0], 0, 1) && is(all[1], 0, 1001) && is(all[2], 0, 50'000) && is(all[3], 0, 500'001)));
    CHECK((is(parts[0], 0, 250'000) && is(parts[1], 250'000, 250'001)));
}

TEST_CASE("rows are read from files, those that are encoded too", "[spill][rows]") {
    homes h;
    allot::row_manager<in_files> rows{h.near, allot::page_bytes{64_KiB}};
    array from{rows};
    const auto text = [](std::size_t i) { return std::string(i * 131 % 20'000, static_cast<char>('a' + i % 26)); };
    for (std::size_t i = 0; i != 300; ++i) {
        if (i % 5 == 0) {
            from.push_back(rows.make<text_row>(text(i)));
            continue;
        }
        void* const row = rows.allocate(10 + i * 17 % 3000);
        std::memset(row, static_cast<int>(i % 251), allot::capacity(row));
        from.push_back(row);
    }
    const auto is = [&](const auto& stored, std::size_t first, std::size_t n) {
        const auto pin = stored.pin();
        std::size_t i = first;
        for (void* const row : pin->read()) {
            const auto* const bytes = static_cast<const unsigned char*>(row);
            const std::size_t last = 10 + i * 17 % 3000 - 1;
            if (i % 5 == 0 ? static_cast<const text_row*>(row)->text != text(i)
                           : bytes[0] != i % 251 || bytes[last / 2] != i % 251 || bytes[last] != i % 251)
                return false;
            ++i;
        }
        return i == first + n;
    };
    auto run = h.inputs.put(std::move(from));
    for (int round = 0; round != 2; ++round) {
        CHECK(run.spill());
        CHECK(rows.live_rows() == 0);
        CHECK(is(run, 0, 300));
    }
    CHECK(h.inputs.stats().written == 1); // files keep it
    const auto parts = run.halves(7);
    REQUIRE(parts.size() == 2);
    const auto quarters = parts[1].halves();
    REQUIRE(quarters.size() == 2);
    CHECK((is(parts[0], 0, 147) && is(quarters[0], 147, 76) && is(quarters[1], 223, 77)));
}

TEST_CASE("device memory leaves for the host, and from there for files", "[spill][device]") {
    using allocator = allot::device_allocator<task_memory>;
    allocator_machine m{{.execution = allot::device::execution::delayed}};
    account device{name{"device"}, limit{256_KiB}}, host{name{"host"}, limit{256_KiB}}, disk{name{"disk"}};
    {
        allocator gpu{m.api, unheard, limit{64_MiB}};
        allot::on_stream at{gpu, m.a};
        const allot::buffer_memory memory{at};
        allot::device_staging through{m.api, allot::device_id{0}, host, 8_KiB};
        allot::heap_memory heap;
        allot::spill_files files{disk, "/tmp", allot::spill_file_options{.extent_bytes = 4_KiB}};
        allot::spill_memory there{heap, host, files};
        allot::store inputs{device, there};
        std::vector<allot::stored<allot::device_buffer<allot::device::simulated>>> all;
        for (int i = 0; i != 10; ++i) {
            allot::device_buffer b{memory.allocate(device, 100'000), at, through};
            REQUIRE(m.api.fill_async(b.bytes.data(), static_cast<unsigned char>(i), 100'000, m.a));
            all.push_back(inputs.put(std::move(b)));
        }
        CHECK((device.used() <= 256_KiB && host.used() <= 256_KiB && disk.used() >= 500'000));
        for (std::size_t i = 0; i != 10; ++i) {
            const auto pin = all[i].pin();
            std::vector<unsigned char> back(100'000);
            REQUIRE(m.api.copy_async(back.data(), pin->bytes.data(), back.size(), m.a));
            REQUIRE(m.api.synchronize(m.a));
            CHECK((back.front() == i && back[50'000] == i && back.back() == i));
        }
    }
    CHECK((device.used() == 0 && host.used() == 0 && disk.used() == 0 && m.sim.hazards() == 0));
}
