#include "sequence.hpp"

#include <allot/core/bits.hpp>
#include <allot/watch/recording_reader.hpp>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace replay {
namespace {

struct live_allocation {
    std::uint32_t number;
    std::uint32_t next_turn;
    std::size_t bytes;
};

// Numbers from 0, in the order of their first use.
class numbers {
  public:
    std::uint32_t of(std::uint32_t name) {
        return all_.try_emplace(name, static_cast<std::uint32_t>(all_.size())).first->second;
    }
    std::size_t size() const { return all_.size(); }

  private:
    std::unordered_map<std::uint32_t, std::uint32_t> all_;
};

[[noreturn]] void fail_to_map() {
    throw std::runtime_error(fmt::format("no memory for the recording: {}", std::strerror(errno)));
}
// All of it is in memory then.
void* map(int descriptor, std::size_t bytes, int rights) {
    void* const p = ::mmap(nullptr, bytes, rights, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (p == MAP_FAILED) fail_to_map();
    return p;
}

} // namespace

sequence sequence::read(std::istream& from) {
    allot::recording_reader reader{from};
    sequence_counts all;
    std::vector<operation> operations;
    std::vector<std::vector<std::uint32_t>> of_threads;
    std::unordered_map<std::uint64_t, live_allocation> live;
    numbers threads, streams;
    const auto refuse = [&](const std::string& what) { throw std::runtime_error(reader.place() + ": " + what); };
    for (allot::recorded_operation o; reader.next(o);) {
        if (o.bytes > PTRDIFF_MAX || operations.size() == UINT32_MAX)
            refuse("more bytes or operations than can be replayed");
        const auto log = static_cast<std::uint8_t>(allot::detail::log2_floor(o.alignment));
        all.has_streams |= o.stream != 0;
        operation now{o.kind, log, 0, 0, streams.of(o.stream), o.bytes};
        auto at = live.find(o.id);
        if (o.kind == allot::recorded_kind::allocate) {
            if (at != live.end()) refuse(fmt::format("allocation {} is live: give this one another ID", o.id));
            const auto number = static_cast<std::uint32_t>(all.allocations++);
            at = live.try_emplace(o.id, live_allocation{number, 0, 0}).first;
        } else if (at == live.end()) {
            refuse(fmt::format("allocation {} is not live: add the line that allocates it", o.id));
        }
        live_allocation& of = at->second;
        now.allocation = of.number, now.turn = of.next_turn++;
        if (o.kind == allot::recorded_kind::deallocate) {
            now.bytes = of.bytes;
            all.live_bytes -= of.bytes;
            ++all.deallocations;
            live.erase(at);
        } else {
            all.live_bytes -= of.bytes;
            if (now.bytes > PTRDIFF_MAX - all.live_bytes) refuse("more bytes are live than there are addresses");
            all.live_bytes += of.bytes = now.bytes;
            all.resizes += o.kind == allot::recorded_kind::resize ? 1 : 0;
        }
        const std::uint32_t thread = threads.of(o.thread);
        if (thread == of_threads.size()) of_threads.emplace_back();
        of_threads[thread].push_back(static_cast<std::uint32_t>(operations.size()));
        operations.push_back(now);
        if (all.live_bytes > all.peak) all.peak = all.live_bytes, all.peak_at = operations.size() - 1;
    }
    if (!reader.error().empty()) throw std::runtime_error(reader.error());
    if (operations.empty()) throw std::runtime_error("there are no operations: record a program that allocates");
    all.operations = operations.size(), all.threads = of_threads.size(), all.streams = streams.size();
    all.live = live.size(), all.has_end = reader.has_end();

    sequence t;
    t.bytes_ = sizeof all + operations.size() * (sizeof(operation) + 4) + (all.threads + 1) * 4;
    t.descriptor_ = ::memfd_create("recording", 0);
    if (t.descriptor_ < 0 || ::ftruncate(t.descriptor_, static_cast<off_t>(t.bytes_)) != 0) fail_to_map();
    t.memory_ = map(t.descriptor_, t.bytes_, PROT_READ | PROT_WRITE);
    auto* to = static_cast<std::byte*>(t.memory_);
    const auto put = [&](const void* from_there, std::size_t n) {
        std::memcpy(to, from_there, n);
        to += n;
    };
    put(&all, sizeof all);
    put(operations.data(), operations.size() * sizeof(operation));
    std::vector<std::uint32_t> begins{0};
    for (const auto& mine : of_threads) {
        put(mine.data(), mine.size() * 4);
        begins.push_back(begins.back() + static_cast<std::uint32_t>(mine.size()));
    }
    put(begins.data(), begins.size() * 4);
    return t;
}

sequence sequence::read(const std::string& path) {
    if (path == "-") {
        std::ios::sync_with_stdio(false); // else a read that fails looks like the end
        return read(std::cin);
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(std::strerror(errno));
    return read(file);
}

sequence::sequence(int descriptor) : descriptor_(descriptor) {
    struct ::stat about{};
    if (::fstat(descriptor, &about) != 0) fail_to_map();
    bytes_ = static_cast<std::size_t>(about.st_size);
    memory_ = map(descriptor, bytes_, PROT_READ);
}
sequence::sequence(sequence&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_) {}
sequence::~sequence() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::span<const operation> sequence::operations() const {
    return {reinterpret_cast<const operation*>(&counts() + 1), counts().operations};
}
std::span<const std::uint32_t> sequence::operations_of(std::size_t thread) const {
    const auto* const order = reinterpret_cast<const std::uint32_t*>(operations().data() + counts().operations);
    const std::uint32_t* const begins = order + counts().operations;
    return {order + begins[thread], order + begins[thread + 1]};
}

} // namespace replay
