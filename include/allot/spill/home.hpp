// A home: where bytes are kept that have left memory: files, or memory of another account.
//
//     home         write, read, slice, drop: what a store asks for; an account counts what it keeps, and limits it
//     kept_bytes   the bytes of one object at a home, or the room for them: a handle whose slices share them
//     byte_source, byte_sink   the bytes in memory; where they lie in one piece, a home reads and writes them in place
//
// A store makes the room while an object is put into it, so that to write it later needs no memory of the host.
// Invariant: a home keeps all bytes of an object or none; a read changes nothing. Bytes that are kept are not written
// again. Cost: 32 bytes per handle. Threads: calls for different objects at once; reads of one object
// at once. Source: Mars' storage backends, 2021; Spark-RAPIDS' SpillableHandle, 2024.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/sys/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// How a call of a home ended.
struct home_status {
    enum class outcome : std::uint8_t {
        done,
        refused, // by the home's account, or the memory that it keeps bytes in: `why`
        failed,  // by the system: `error`; the bytes are as they were
        damaged, // what was read is not what was written
    };
    outcome how = outcome::done;
    charge_status why{};
    int error = 0;            // errno
    const char* call = "";    // "open", "write", "read"; lives as long as the program
    const char* file = "";    // its name; lives as long as the home
    std::uint64_t offset = 0; // in the file
    std::size_t bytes = 0;

    explicit operator bool() const noexcept { return how == outcome::done; }
};

/// Bytes in memory that a home writes: in one piece at `data`, or, where that is null, copied piece by piece.
class byte_source {
  public:
    explicit byte_source(std::span<const std::byte> all) noexcept : data(all.data()), bytes(all.size()) {}
    byte_source(const byte_source&) = delete;
    byte_source& operator=(const byte_source&) = delete;
    virtual ~byte_source() = default;
    /// Copies the next to.size() bytes. Returns: false if that failed. Called only where `data` is null.
    virtual bool next(std::span<std::byte>) noexcept { return false; }

    const std::byte* const data;
    const std::size_t bytes;

  protected:
    explicit byte_source(std::size_t n) noexcept : data(nullptr), bytes(n) {}
};

/// Where a home puts bytes that it reads: in one piece at `data`, or, where that is null, given piece by piece.
class byte_sink {
  public:
    explicit byte_sink(std::span<std::byte> all) noexcept : data(all.data()), bytes(all.size()) {}
    byte_sink(const byte_sink&) = delete;
    byte_sink& operator=(const byte_sink&) = delete;
    virtual ~byte_sink() = default;
    /// Takes the next bytes. Returns: false if that failed. Called only where `data` is null.
    virtual bool next(std::span<const std::byte>) noexcept { return false; }

    std::byte* const data;
    const std::size_t bytes;

  protected:
    explicit byte_sink(std::size_t n) noexcept : data(nullptr), bytes(n) {}
};

class kept_bytes;

/// What a home has written and read since it began, and the time that threads spent in that.
struct home_traffic {
    std::uint64_t bytes_written = 0, write_ns = 0;
    std::uint64_t bytes_read = 0, read_ns = 0;
};

/// A place that keeps the bytes of objects. Users construct one (spill_files, spill_memory) and give it to a store.
/// Requires: outlives the stores and handles that use it.
class home {
  public:
    home(const home&) = delete;
    home& operator=(const home&) = delete;

    /// The account that is charged for what it keeps.
    account& by() const noexcept { return by_; }
    /// Whether bytes stay here when they are in memory again, so that they need not be written once more.
    bool keeps_copies() const noexcept { return keeps_copies_; }
    /// Whatever failed lately is tried again at once (store::end_pause()).
    virtual void end_pause() noexcept {}
    home_traffic traffic() const noexcept {
        const auto get = [](const std::atomic<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); };
        return {get(bytes_written_), get(write_ns_), get(bytes_read_), get(read_ns_)};
    }

  protected:
    friend class kept_bytes;
    // What a home knows of an object. A home derives its own from it.
    struct record {
        explicit record(std::size_t n) noexcept : room(n) {}
        std::atomic<std::uint32_t> shares{1};
        bool is_written = false;
        const std::size_t room; // bytes of the largest object that it is for
    };

    // An object that is written with others. The same is required of it.
    struct written_object {
        record* to;
        std::span<const std::byte> bytes;
        home_status how{};
    };

    home(account& by, bool keeps_copies) noexcept : by_(by), keeps_copies_(keeps_copies) {}
    ~home() = default;

    // Makes a record for an object of that many bytes, with all memory that to write it needs. Null: the host has none.
    virtual record* reserve(std::size_t bytes) noexcept = 0;
    // Keeps the bytes, at most `room`. Allocates no memory of the host. Requires: nothing is written in the record.
    virtual home_status write(record& to, byte_source& from) noexcept = 0;
    // Keeps several objects, each of one piece; sets how each ended. A home may write them by one call.
    ALLOT_OUTLINE virtual void write_together(std::span<written_object> all) noexcept {
        for (written_object& o : all) {
            byte_source from{o.bytes};
            o.how = write(*o.to, from);
        }
    }
    // Reads [offset, offset + to.bytes) of what was written. Where it fails, the sink may hold anything.
    virtual home_status read(record& from, std::size_t offset, byte_sink& to) noexcept = 0;
    // Forgets what was written, and refunds it; the record can be written again.
    virtual void drop(record& of) noexcept = 0;
    // Ends a record in which nothing is written.
    virtual void end(record& of) noexcept = 0;

    // Of a handle, for a home that shows where its bytes are: the record, and where they begin in what was written.
    static record* record_of(const kept_bytes& kept) noexcept;
    static std::size_t offset_of(const kept_bytes& kept) noexcept;

  private:
    // Counts a call that moves bytes.
    class timed_call {
      public:
        timed_call(std::atomic<std::uint64_t>& bytes, std::atomic<std::uint64_t>& ns) noexcept
            : bytes_(bytes), ns_(ns) {}
        timed_call(const timed_call&) = delete;
        timed_call& operator=(const timed_call&) = delete;
        ~timed_call() {
            bytes_.fetch_add(moved, std::memory_order_relaxed);
            ns_.fetch_add(sys::fine_clock::now() - start_, std::memory_order_relaxed);
        }
        std::size_t moved = 0;

      private:
        std::atomic<std::uint64_t>&bytes_, &ns_;
        const std::uint64_t start_ = sys::fine_clock::now();
    };

    account& by_;
    const bool keeps_copies_;
    std::atomic<std::uint64_t> bytes_written_{0}, write_ns_{0}, bytes_read_{0}, read_ns_{0};
};

/// The bytes of an object at a home, or the room for them. Slices share what is written; it is dropped with the last.
/// Threads: one at a time, and several that read.
class kept_bytes {
  public:
    kept_bytes() noexcept = default;
    /// Room for that many bytes; none if the host has no memory.
    kept_bytes(home& at, std::size_t bytes) noexcept : home_(&at), record_(at.reserve(bytes)) {}
    kept_bytes(kept_bytes&& o) noexcept
        : home_(o.home_), record_(std::exchange(o.record_, nullptr)), offset_(o.offset_), bytes_(o.bytes_) {}
    kept_bytes& operator=(kept_bytes&& o) noexcept {
        kept_bytes now{std::move(o)};
        std::swap(home_, now.home_), std::swap(record_, now.record_);
        std::swap(offset_, now.offset_), std::swap(bytes_, now.bytes_);
        return *this;
    }
    ALLOT_OUTLINE ~kept_bytes() {
        if (record_ == nullptr || record_->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        if (record_->is_written) home_->drop(*record_);
        home_->end(*record_);
    }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool is_written() const noexcept { return record_ != nullptr && record_->is_written; }
    std::size_t bytes() const noexcept { return bytes_; }
    /// Whether bytes may be written: nothing is, it has room, and no slice shares it.
    bool has_room(std::size_t bytes) const noexcept {
        return record_ != nullptr && !record_->is_written && bytes <= record_->room &&
               record_->shares.load(std::memory_order_acquire) == 1;
    }
    /// Requires: has_room(from.bytes).
    home_status write(byte_source& from) noexcept {
        home::timed_call call{home_->bytes_written_, home_->write_ns_};
        const home_status s = home_->write(*record_, from);
        if (s) call.moved = from.bytes;
        if (s) record_->is_written = true, offset_ = 0, bytes_ = from.bytes;
        return s;
    }
    /// The same for several, of one piece each: kept(i) and bytes(i) of object i; ended(i, status) how it ended.
    template <class Kept, class Bytes, class Ended>
    static void write_together(home& at, std::size_t n, Kept kept, Bytes bytes, Ended ended) noexcept {
        home::written_object all[most_together];
        for (std::size_t i = 0; i != n; ++i) all[i] = {kept(i).record_, bytes(i)};
        {
            home::timed_call call{at.bytes_written_, at.write_ns_};
            at.write_together({all, n});
            for (std::size_t i = 0; i != n; ++i) call.moved += all[i].how ? all[i].bytes.size() : 0;
        }
        for (std::size_t i = 0; i != n; ++i) {
            kept_bytes& k = kept(i);
            if (all[i].how) k.record_->is_written = true, k.offset_ = 0, k.bytes_ = all[i].bytes.size();
            ended(i, all[i].how);
        }
    }
    static constexpr std::size_t most_together = 64;
    /// Reads all, in order. Requires: is_written(), to.bytes == bytes().
    home_status read(byte_sink& to) const noexcept { return read(0, to); }
    /// Reads a part. Requires: is_written(), and the part is inside.
    ALLOT_OUTLINE home_status read(std::size_t from, byte_sink& to) const noexcept {
        home::timed_call call{home_->bytes_read_, home_->read_ns_};
        const home_status s = home_->read(*record_, offset_ + from, to);
        if (s) call.moved = to.bytes;
        return s;
    }
    /// Another handle of a part of what is written. Requires: is_written(), and the part is inside.
    kept_bytes slice(std::size_t from, std::size_t n) const noexcept {
        kept_bytes part;
        part.home_ = home_, part.record_ = record_, part.offset_ = offset_ + from, part.bytes_ = n;
        record_->shares.fetch_add(1, std::memory_order_relaxed);
        return part;
    }
    /// Forgets what is written. Returns: false where slices share it: this handle has no room then.
    bool drop() noexcept {
        if (record_->shares.load(std::memory_order_acquire) != 1) {
            *this = {};
            return false;
        }
        if (std::exchange(record_->is_written, false)) home_->drop(*record_);
        return true;
    }
    home* at() const noexcept { return home_; }

  private:
    friend home;
    home* home_ = nullptr;
    home::record* record_ = nullptr;
    std::size_t offset_ = 0, bytes_ = 0; // of what is written
};

inline auto home::record_of(const kept_bytes& kept) noexcept -> record* { return kept.record_; }
inline std::size_t home::offset_of(const kept_bytes& kept) noexcept { return kept.offset_; }

} // namespace allot::inline ALLOT_ABI
