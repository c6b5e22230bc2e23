// The number columns of the flights on a device: a block for each column of each chunk, from one device allocator with
// a limit, on several streams.
//
// A chunk is copied to the device on its stream, and copied back and freed on the next stream, which waits for the
// first by an event. The allocator orders the next use of the memory after that. The host waits only for data that were
// copied back. At the limit the newest chunk is dropped, and copied again when it is needed, so a scan from the start
// finds the oldest chunks on the device.
#pragma once
#include "../../shared/device_error.hpp"
#include "../tables.hpp"
#include "device.hpp"
#include <allot/device/api.hpp>
#include <allot/device_allocator.hpp>
#include <allot/report/device.hpp>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace flights {

template <class Api>
struct column_memory : allot::policies<allot::page::on_device<Api>, allot::fit::best, allot::order::stream> {};

using shared::must;

template <class Api> class device_columns {
  public:
    static constexpr std::size_t columns = std::tuple_size_v<decltype(flight::numbers)>;
    static constexpr std::size_t streams = 4;

    device_columns(const Api& api, const options& asked, const flight_chunks& from, std::pmr::memory_resource& memory)
        : api_(api), from_(from), gpu_{api, allot::limit{asked.device_memory}, allot::name{"flights"}},
          chunks_(&memory) {
        out_.device = asked.device;
        out_.columns = columns;
        out_.streams = streams;
    }
    device_columns(const device_columns&) = delete;
    device_columns& operator=(const device_columns&) = delete;
    ~device_columns() {
        for (chunk& c : chunks_) drop(c);
        for (std::size_t s = 0; s != opened_; ++s) {
            gpu_.leave(streams_[s]); // so that other streams can wait for its frees
            (void)api_.synchronize(streams_[s]);
            (void)api_.destroy_stream(streams_[s]);
        }
        if (has_event_) (void)api_.destroy_event(ready_);
        if (pinned_ != nullptr) (void)api_.deallocate_pinned(pinned_);
    }

    void keep() {
        for (; opened_ != streams; ++opened_)
            streams_[opened_] = must(api_.create_stream({0}, allot::device::stream_kind::non_blocking));
        ready_ = must(api_.create_event({0}));
        has_event_ = true;
        chunks_.resize(from_.count());
        for (std::size_t c = 0; c != chunks_.size(); ++c) copy_there(c);
        out_.chunks = chunks_.size();
        out_.rows = from_.rows();
    }
    device_outcome finish() {
        char page[8192];
        allot::text_writer text{page};
        gpu_.report(text);
        out_.report = text.view();
        text.clear();
        allot::write_report_json(text, gpu_);
        out_.report_json = text.view();
        std::array<std::uint64_t, columns> there{}, back{};
        for (std::size_t c = 0; c != chunks_.size(); ++c) copy_back(c, there, back);
        for (std::size_t i = 0; i != columns; ++i) out_.equal_columns += there[i] == back[i];
        out_.afterwards = gpu_.stats();
        return std::move(out_);
    }

  private:
    using stream = typename Api::stream_type;
    struct chunk {
        std::array<void*, columns> blocks{};
        bool there = false;
        stream on{};
    };
    /// A block that is freed on its stream at the end of the scope.
    struct temporary {
        allot::device_allocator<column_memory<Api>>& gpu;
        stream on;
        void* const bytes;
        ~temporary() { gpu.deallocate(bytes, on); }
    };

    /// Calls fn(i, bytes, fill) for each column of a chunk; fill(to) writes its values as they are on the device.
    template <class Fn> void each_column(std::size_t c, Fn fn) const {
        from_.read(c, [&](std::span<void* const> rows) {
            std::size_t i = 0;
            const auto one = [&](const auto& column) {
                using value = typename std::remove_cvref_t<decltype(column)>::number;
                fn(i++, rows.size() * sizeof(value), [&](std::byte* to) {
                    for (const void* const row : rows) {
                        std::memcpy(to, &(static_cast<const flight*>(row)->*column.member), sizeof(value));
                        to += sizeof(value);
                    }
                });
            };
            std::apply([&](const auto&... column) { (one(column), ...); }, flight::numbers);
        });
    }
    /// A checksum that depends on the order of the bytes.
    static void add(std::uint64_t& sum, const std::byte* bytes, std::size_t n) {
        for (std::size_t i = 0; i != n; ++i)
            sum = (sum ^ static_cast<std::uint64_t>(bytes[i])) * 0x100000001b3u; // FNV-1a, 1991
    }

    void* allocate(std::size_t bytes, stream on, std::size_t for_chunk) {
        for (;;) {
            if (void* const p = gpu_.try_allocate(bytes, on); p != nullptr || bytes == 0) return p;
            std::size_t c = chunks_.size();
            while (c != 0 && (!chunks_[c - 1].there || c - 1 == for_chunk)) --c;
            if (c == 0) return gpu_.allocate(bytes, on); // throws out_of_memory, with a report
            drop(chunks_[c - 1]);
            ++out_.dropped;
        }
    }
    void drop(chunk& c) {
        if (!c.there) return;
        for (void*& block : c.blocks) gpu_.deallocate(std::exchange(block, nullptr), c.on);
        c.there = false;
    }
    void copy_there(std::size_t c) {
        chunk& to = chunks_[c];
        to.on = streams_[c % streams];
        to.there = true;
        each_column(c, [&](std::size_t i, std::size_t bytes, auto fill) {
            to.blocks[i] = allocate(bytes, to.on, c);
            staging_.resize(bytes);
            fill(staging_.data());
            if (bytes != 0)
                must(api_.copy_async(to.blocks[i], staging_.data(), bytes, to.on)); // reads staging_ before it returns
            out_.copied += bytes;
        });
    }
    /// Copies a chunk back on another stream than it was copied by, through a temporary block, like a kernel's result.
    void copy_back(std::size_t c, std::array<std::uint64_t, columns>& there, std::array<std::uint64_t, columns>& back) {
        chunk& from = chunks_[c];
        if (!from.there) copy_there(c);
        const stream on = streams_[(c + 1) % streams];
        must(api_.record(ready_, from.on));
        must(api_.wait(on, ready_));
        from.on = on; // its blocks are freed on this stream
        std::size_t all = 0;
        each_column(c, [&](std::size_t, std::size_t bytes, auto) { all += bytes; });
        if (pinned_bytes_ < all) {
            if (pinned_ != nullptr) must(api_.deallocate_pinned(std::exchange(pinned_, nullptr)));
            pinned_ = static_cast<std::byte*>(must(api_.allocate_pinned(all)));
            pinned_bytes_ = all;
        }
        std::byte* to = pinned_;
        each_column(c, [&](std::size_t i, std::size_t bytes, auto) {
            if (bytes == 0) return;
            const temporary result{gpu_, on, allocate(bytes, on, c)};
            must(api_.copy_async(result.bytes, from.blocks[i], bytes, on));
            must(api_.copy_async(to, result.bytes, bytes, on));
            to += bytes;
        });
        drop(from);
        must(api_.synchronize(on));
        to = pinned_;
        each_column(c, [&](std::size_t i, std::size_t bytes, auto fill) {
            add(back[i], to, bytes);
            to += bytes;
            staging_.resize(bytes);
            fill(staging_.data());
            add(there[i], staging_.data(), bytes);
        });
    }

    Api api_;
    const flight_chunks& from_;
    allot::device_allocator<column_memory<Api>> gpu_;
    std::pmr::vector<chunk> chunks_;
    std::vector<std::byte> staging_; // one column of one chunk
    std::array<stream, streams> streams_{};
    std::size_t opened_ = 0;
    typename Api::event_type ready_{};
    bool has_event_ = false;
    std::byte* pinned_ = nullptr; // for one chunk
    std::size_t pinned_bytes_ = 0;
    device_outcome out_;
};

} // namespace flights
