// A recording: what a program allocates, written to a file or to the caller's sink.
//
//     allot::recording record{"program.allot"};
//     allot::adapt::recorded source{rows, record};      // adapt/recorded.hpp: the rows with the same calls
//     ...
//     if (int error = record.close()) std::puts(std::strerror(error)); // a write failed: the recording is cut
//
//   text     a comment that says who wrote it; a line per operation (recorded_operation.hpp); end OPERATIONS CHECKSUM:
//            the crc32c of all bytes before this line
//   binary   | 89 'a' 'l' 'l' 'o' 't' 'r' 01 | block | block | ... | end block |
//            block      | n u32 | operations u32 | n bytes of operations | crc32c of all of these, u32 |
//            end block  n = 0, and the number of all operations, modulo 2^32;  numbers are little endian
//
// Invariant: an allocation's ID is new in the recording; an address has one ID while it is live, so operations of one
// address are in the order in which they happened. Operations of addresses that are not live here are not written.
// An alignment that is no power of two is recorded as the power of two below it, 2^31 at most, in both formats.
// Cost: 60 KiB, and 32 to 64 bytes per live allocation; an operation some 20 ns with one thread, under one lock.
// Threads: any. Threads that run one after the other may have one number.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/core/hash.hpp>
#include <allot/core/little_endian.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/thread.hpp>
#include <allot/watch/recorded_operation.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {

enum class recording_format : std::uint8_t { binary, text };

/// Gets a recording piece by piece. Returns: 0, or the errno of its failure; then it gets no more.
struct recording_sink {
    int (*write)(void* context, std::string_view piece) noexcept;
    void* context = nullptr;
};

namespace detail {

inline constexpr std::string_view recording_magic{"\x89"
                                                  "allotr\x01",
                                                  8};
inline constexpr std::string_view recording_text_header{
    "# allot recording 1: a ID BYTES ALIGNMENT STREAM THREAD, r ID BYTES STREAM THREAD, d ID STREAM THREAD\n"};
inline constexpr std::string_view recording_text_magic = recording_text_header.substr(0, 18);
inline constexpr std::string_view recording_text_version = recording_text_header.substr(18, 3);
inline constexpr std::size_t most_block_bytes = std::size_t{60} << 10;

inline unsigned char* put_u32(unsigned char* to, std::uint32_t n) noexcept {
    store_little(reinterpret_cast<std::byte*>(to), n);
    return to + sizeof n;
}
inline std::uint32_t u32_at(const unsigned char* at) noexcept {
    return load_little<std::uint32_t>(reinterpret_cast<const std::byte*>(at));
}

// Numbers of addresses: open addressing with linear probing, at most half full.
class address_numbers {
  public:
    // False: no memory; then nothing has changed. Requires: the address is not in the table, and not 0.
    bool insert(std::uintptr_t address, std::uint64_t number) noexcept {
        if (2 * (used_ + 1) > size_ && !grow()) return false;
        place(address, number);
        ++used_;
        return true;
    }
    const std::uint64_t* find(std::uintptr_t address) const noexcept {
        if (size_ == 0) return nullptr;
        const std::size_t i = slot_of(address);
        return slots_[i].address != 0 ? &slots_[i].number : nullptr;
    }
    // Removes an address. False: it is not in the table.
    ALLOT_OUTLINE bool extract(std::uintptr_t address, std::uint64_t& number) noexcept {
        if (size_ == 0) return false;
        std::size_t hole = slot_of(address);
        if (slots_[hole].address == 0) return false;
        number = slots_[hole].number;
        slots_[hole] = {};
        --used_;
        for (std::size_t i = next(hole); slots_[i].address != 0; i = next(i)) { // entries move up, so none is lost
            const std::size_t home = home_of(slots_[i].address);
            if (((i - home) & (size_ - 1)) < ((i - hole) & (size_ - 1))) continue;
            slots_[hole] = std::exchange(slots_[i], {});
            hole = i;
        }
        return true;
    }
    std::size_t used() const noexcept { return used_; }

  private:
    struct slot {
        std::uintptr_t address = 0;
        std::uint64_t number = 0;
    };
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & (size_ - 1); }
    std::size_t home_of(std::uintptr_t address) const noexcept { return multiplicative_hash(address, shift_); }
    std::size_t slot_of(std::uintptr_t address) const noexcept {
        std::size_t i = home_of(address);
        while (slots_[i].address != 0 && slots_[i].address != address) i = next(i);
        return i;
    }
    void place(std::uintptr_t address, std::uint64_t number) noexcept { slots_[slot_of(address)] = {address, number}; }
    ALLOT_OUTLINE bool grow() noexcept {
        const std::size_t had = size_, size = had != 0 ? 2 * had : 1024;
        std::unique_ptr<slot[]> old{new (std::nothrow) slot[size]};
        if (old == nullptr) return false;
        old.swap(slots_);
        size_ = size, shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        for (std::size_t i = 0; i != had; ++i)
            if (old[i].address != 0) place(old[i].address, old[i].number);
        return true;
    }

    std::unique_ptr<slot[]> slots_;
    std::size_t size_ = 0, used_ = 0; // a power of two, or 0
    unsigned shift_ = 63;
};

} // namespace detail

class recording {
  public:
    /// Replaces the file. If it cannot be opened, error() says so, and nothing is recorded.
    explicit recording(const char* path, recording_format format = recording_format::binary) noexcept
        : file_(std::fopen(path, "wb")), sink_{&write_to_file, file_}, format_(format) {
        if (file_ == nullptr) error_ = errno != 0 ? errno : EIO;
        begin();
    }
    /// The sink is called under the lock of the recording, and must not use what is recorded.
    explicit recording(recording_sink sink, recording_format format = recording_format::binary) noexcept
        : sink_(sink), format_(format) {
        begin();
    }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;
    /// close(); a failure that no caller has seen goes to standard error.
    ~recording() {
        if (!is_closed_ && close() != 0)
            std::fprintf(stderr, "allot: a recording is cut: errno %d; call close() to handle it\n", error_);
    }

    /// Writes what is buffered, and the end. Later operations are not recorded.
    /// Returns: 0; else the errno of the first failure, after which nothing was written.
    [[nodiscard]] int close() noexcept {
        const detail::lock_guard hold{lock_};
        if (std::exchange(is_closed_, true)) return error_;
        write_block();
        if (format_ == recording_format::binary) {
            operations_in_block_ = operations_; // the end block
            write_block(true);
        } else {
            std::array<char, 48> line;
            const int n =
                std::snprintf(line.data(), line.size(), "end %llu %lu\n", static_cast<unsigned long long>(operations_),
                              static_cast<unsigned long>(text_checksum_));
            write({line.data(), static_cast<std::size_t>(n)});
        }
        if (file_ != nullptr && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
        file_ = nullptr;
        return error_;
    }
    /// Returns: the errno of the first failure so far; 0: none. ENOMEM: there was no memory for its table.
    int error() const noexcept {
        const detail::lock_guard hold{lock_};
        return error_;
    }
    /// Returns: number of operations so far.
    std::uint64_t operations() const noexcept {
        const detail::lock_guard hold{lock_};
        return operations_;
    }

    // ---- for faces, as adapt::recorded ----------------------------------------------------------------------

    /// Call after the allocation. Null is ignored. An alignment that no recording can have is rounded down to one.
    ALLOT_OUTLINE void allocated(const void* p, std::size_t bytes, std::size_t alignment,
                                 std::uint32_t stream = 0) noexcept {
        if (p == nullptr) return;
        const detail::lock_guard hold{lock_};
        if (stops()) return;
        if (std::uint64_t lost = 0; live_.extract(address_of(p), lost)) // its deallocation was not recorded
            add({recorded_kind::deallocate, lost, 0, 1, stream, thread()});
        if (!live_.insert(address_of(p), next_id_)) return fail(ENOMEM);
        add({recorded_kind::allocate, next_id_++, bytes, detail::recorded_alignment(alignment), stream, thread()});
    }
    /// Call before the deallocation: afterwards another thread may get the address.
    void deallocating(const void* p, std::uint32_t stream = 0) noexcept {
        const detail::lock_guard hold{lock_};
        std::uint64_t id = 0;
        if (p == nullptr || stops() || !live_.extract(address_of(p), id)) return;
        add({recorded_kind::deallocate, id, 0, 1, stream, thread()});
    }
    /// An allocation that is being resized; its address may get another owner meanwhile.
    class resizing {
      public:
        /// Call before the resize.
        resizing(recording& of, const void* p) noexcept : of_(of), from_(p) {
            const detail::lock_guard hold{of_.lock_};
            is_known_ = p != nullptr && !of_.stops() && of_.live_.extract(address_of(p), id_);
        }
        resizing(const resizing&) = delete;
        resizing& operator=(const resizing&) = delete;
        /// Call after it. Null: it failed, and the allocation is as before.
        void done(const void* to, std::size_t bytes) noexcept {
            const detail::lock_guard hold{of_.lock_};
            if (!is_known_ || of_.stops()) return;
            if (!of_.live_.insert(address_of(to != nullptr ? to : from_), id_)) return of_.fail(ENOMEM);
            if (to != nullptr) of_.add({recorded_kind::resize, id_, bytes, 1, 0, of_.thread()});
        }

      private:
        recording& of_;
        const void* from_;
        std::uint64_t id_ = 0;
        bool is_known_ = false;
    };

  private:
    static std::uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
    static int write_to_file(void* file, std::string_view piece) noexcept {
        errno = 0;
        if (std::fwrite(piece.data(), 1, piece.size(), static_cast<std::FILE*>(file)) == piece.size()) return 0;
        return errno != 0 ? errno : EIO;
    }
    // The functions below require lock_.
    bool stops() const noexcept { return is_closed_ || error_ != 0; }
    void fail(int error) noexcept {
        if (error_ == 0) error_ = error;
    }
    void begin() noexcept {
        write(format_ == recording_format::binary ? detail::recording_magic : detail::recording_text_header);
    }
    std::uint32_t thread() noexcept {
        const std::uintptr_t token = detail::sys::thread_token();
        if (const std::uint64_t* const known = threads_.find(token)) return static_cast<std::uint32_t>(*known);
        if (!threads_.insert(token, threads_.used())) fail(ENOMEM);
        return static_cast<std::uint32_t>(threads_.used() - 1);
    }
    void add(const recorded_operation& o) noexcept {
        if (stops()) return;
        ++operations_, ++operations_in_block_;
        if (format_ == recording_format::binary) end_ = coder_.encode(o, end_);
        else end_ = reinterpret_cast<unsigned char*>(detail::put_line(o, reinterpret_cast<char*>(end_)));
        if (static_cast<std::size_t>(end_ - first()) + 128 > detail::most_block_bytes) write_block();
    }
    unsigned char* first() noexcept { return buffer_.data() + header_bytes; }
    void write_block(bool is_end = false) noexcept {
        const auto n = static_cast<std::size_t>(end_ - first());
        if (n == 0 && !is_end) return;
        if (format_ == recording_format::binary) {
            unsigned char* const start = buffer_.data();
            detail::put_u32(detail::put_u32(start, static_cast<std::uint32_t>(n)),
                            static_cast<std::uint32_t>(operations_in_block_));
            end_ = detail::put_u32(end_, crc32c(start, header_bytes + n));
            write({reinterpret_cast<const char*>(start), static_cast<std::size_t>(end_ - start)});
        } else {
            write({reinterpret_cast<const char*>(first()), n});
        }
        end_ = first(), coder_ = {}, operations_in_block_ = 0;
    }
    void write(std::string_view piece) noexcept {
        if (error_ != 0) return;
        if (format_ == recording_format::text) text_checksum_ = crc32c(piece.data(), piece.size(), text_checksum_);
        fail(sink_.write(sink_.context, piece));
    }

    static constexpr std::size_t header_bytes = 8; // of a block

    mutable detail::sys::mutex lock_{detail::lock_rank::leaf};
    std::FILE* file_ = nullptr;
    recording_sink sink_;
    recording_format format_;
    int error_ = 0;
    std::uint32_t text_checksum_ = 0; // of all bytes so far
    bool is_closed_ = false;
    std::uint64_t next_id_ = 1, operations_ = 0, operations_in_block_ = 0;
    detail::address_numbers live_, threads_; // IDs by address; numbers by token
    detail::operation_coder coder_;
    std::array<unsigned char, header_bytes + detail::most_block_bytes> buffer_;
    unsigned char* end_ = buffer_.data() + header_bytes;
};

} // namespace allot::inline ALLOT_ABI
