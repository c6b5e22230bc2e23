// A recording as the replay needs it, in memory that processes share: allocations are numbered from 0, and each
// operation knows its turn.
//
//   | sequence_counts | operations | order | begins |     order: operations by thread, each thread's in the recorded
//   order;
//                                                   begins[t]: where thread t begins in it, and the end
//
// Invariant: every operation is of an allocation that is live then. An allocation that is never deallocated stays to the
// end. Operation `turn` of an allocation is done after those with lower turns, whichever threads do them.
#pragma once

#include <allot/watch/recorded_operation.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

namespace replay {

struct operation {
    allot::recorded_kind kind;
    std::uint8_t log_alignment;
    std::uint32_t allocation; // from 0
    std::uint32_t turn;       // of the allocation, from 0
    std::uint32_t stream;     // from 0
    std::size_t bytes;        // asked for; of a deallocate: those that are freed
};

struct sequence_counts {
    std::size_t operations = 0, threads = 0, streams = 0;
    std::size_t allocations = 0, resizes = 0, deallocations = 0;
    std::size_t peak = 0;                 // bytes asked for and live at once, the most
    std::size_t peak_at = 0;              // the operation after which they are
    std::size_t live = 0, live_bytes = 0; // at the end
    bool has_end = false;                 // the recording says that it is whole
    bool has_streams = false;             // beside stream 0
};

class sequence {
  public:
    /// Throws: std::runtime_error, with the line or offset, and what to do.
    static sequence read(std::istream& from);
    /// Of a file, or "-": standard input.
    static sequence read(const std::string& path);
    /// The same, in another process that has inherited the descriptor.
    explicit sequence(int descriptor);

    sequence(sequence&& other) noexcept;
    sequence& operator=(sequence&&) = delete;
    ~sequence();

    const sequence_counts& counts() const { return *static_cast<const sequence_counts*>(memory_); }
    std::span<const operation> operations() const;
    /// Their numbers, in order.
    std::span<const std::uint32_t> operations_of(std::size_t thread) const;
    bool has_streams() const { return counts().has_streams; }
    int descriptor() const { return descriptor_; }

  private:
    sequence() = default;

    int descriptor_ = -1;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace replay
