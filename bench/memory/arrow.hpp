// Buffers as Arrow's C++ library asks for them, over a chunk arena, a row manager and glibc. Peaks of bytes.
//
// The pattern is that of Arrow 26 while it read a CSV file, grouped, sorted, joined and filtered it: buffers are
// aligned to 64 bytes and their sizes padded to 64; builders begin with 64 bytes and double; a finished column is cut
// to its length; offsets have an entry more than rows. So half of the requests are 2^n bytes, and a third are 2^n + 64.
#pragma once

#include <memory/child.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace bench {

struct arrow_blocks : allot::policies<allot::oom::null> {};
struct arrow_rows : allot::policies<allot::count::none, allot::oom::null> {};

struct buffer_at {
    void* address = nullptr;
    std::size_t bytes = 0;
};

// From has members allocate(n) and release(p, n).
template <class From> class arrow_pattern {
  public:
    explicit arrow_pattern(From& from) : from_(from) {}
    std::size_t asked_peak() const noexcept { return asked_.peak(); }

    // A table of `batches` x 16 Ki rows with an integer, a number and a text; a sorted copy; half of the rows again;
    // the text once more, as in a group table that doubles.
    void run(unsigned batches) {
        std::vector<buffer_at> table, sorted, filtered;
        for (unsigned i = 0; i != batches; ++i) add_batch(table, rows_);
        std::vector<buffer_at> all{built(batches * rows_ * 13)};
        for (unsigned i = 0; i != batches; ++i) add_batch(sorted, rows_);
        for (unsigned i = 0; i != batches; ++i) add_batch(filtered, rows_ / 2 + random_() % 512);
        for (auto* const group : {&table, &all, &sorted, &filtered})
            for (const buffer_at& b : *group) release(b);
    }
    // 2^n + 64 bytes for n from 6 to 20; half of them replaced, in random order.
    void run_padded(unsigned times) {
        std::vector<buffer_at> all;
        for (unsigned i = 0; i != times; ++i)
            for (unsigned n = 6; n <= 20; ++n) all.push_back(take((std::size_t{1} << n) + 64));
        for (std::size_t i = 0; i != all.size() / 2; ++i) {
            buffer_at& b = all[random_() % all.size()];
            const std::size_t bytes = b.bytes;
            release(b);
            b = take(bytes);
        }
        for (const buffer_at& b : all) release(b);
    }

  private:
    static constexpr std::size_t rows_ = 16384;

    buffer_at take(std::size_t n) {
        n = (n + 63) / 64 * 64;
        void* const p = from_.allocate(n);
        std::memset(p, 1, n);
        asked_.add(n);
        return {p, n};
    }
    void release(const buffer_at& b) {
        from_.release(b.address, b.bytes);
        asked_.remove(b.bytes);
    }
    buffer_at resized(const buffer_at& from, std::size_t n) {
        const buffer_at to = take(n);
        std::memcpy(to.address, from.address, from.bytes < to.bytes ? from.bytes : to.bytes);
        release(from);
        return to;
    }
    // From a builder, which doubles; cut to its length at the end.
    buffer_at built(std::size_t n) {
        buffer_at b = take(64);
        while (b.bytes < n) b = resized(b, 2 * b.bytes);
        return resized(b, n);
    }
    void add_batch(std::vector<buffer_at>& to, std::size_t rows) {
        for (int column = 0; column != 2; ++column) {
            to.push_back(take(rows / 8)); // validity
            to.push_back(take(rows * 8));
        }
        to.push_back(take(rows / 8));
        to.push_back(take((rows + 1) * 4));
        to.push_back(built(rows * 10 + random_() % (rows * 8)));
    }

    From& from_;
    asked_bytes asked_;
    std::mt19937 random_{1};
};

struct arrow_over_chunks {
    allot::chunk_arena<arrow_blocks> blocks{allot::name{"arrow"}};
    void* allocate(std::size_t n) { return blocks.allocate(n).address; }
    void release(void* p, std::size_t n) { blocks.deallocate({p, n}); }
    std::size_t taken() { return blocks.peak(); }
};
struct arrow_over_rows {
    static constexpr allot::row_type buffer{.name = "buffer", .align = 64};
    allot::row_manager<arrow_rows> rows{allot::name{"arrow"}};
    void* allocate(std::size_t n) { return rows.allocate(n, buffer); }
    void release(void* p, std::size_t n) { rows.release(p, n); }
    std::size_t taken() { return rows.peak(); }
};
struct arrow_over_glibc {
    glibc_peak peak;
    void* allocate(std::size_t n) {
        peak.look();
        void* p = nullptr;
        return posix_memalign(&p, 64, n) == 0 ? p : nullptr;
    }
    void release(void* p, std::size_t) {
        peak.look();
        std::free(p);
    }
    std::size_t taken() { return peak.bytes(); }
};

// `padded`: 2^n + 64 bytes only.
template <class From> peaks arrow_peaks(unsigned batches, bool padded) {
    return in_child<peaks>([=] {
        From from;
        arrow_pattern<From> pattern(from);
        if (padded) pattern.run_padded(batches);
        else pattern.run(batches);
        return peaks{pattern.asked_peak(), from.taken()};
    });
}

} // namespace bench
