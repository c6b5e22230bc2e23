// A hash table that has its rows: packed into buffers of an operator, each with the number of the next one of its
// chain.
//
//     row_table<order> orders{run, memory_of_join, expected};
//     orders.add(hash, o, texts);
//     orders.find(hash, [&](order& o) { if (o.key == key) ...; });
//
// Rows of one hash, and others by chance, are in a chain: compare keys. Rows stay where they are. Threads: one.
#pragma once

#include "batches.hpp"
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace tpch {

template <class Row> class row_table {
    struct slot {
        std::uint32_t next; // 0: none
        Row row;
    };
    static constexpr std::size_t chunk_bytes = std::size_t{1} << 17, unit = 4;
    static constexpr unsigned unit_bits = 15; // units of a chunk
    static_assert(chunk_bytes / unit == std::size_t{1} << unit_bits && alignof(slot) <= 8);

  public:
    /// `rows`: about how many there will be. Throws: what buffer_memory::allocate throws.
    row_table(engine& in, allot::account& by, std::size_t rows) : in_(in), by_(by) {
        make_heads(2 * std::bit_floor(rows | 64));
    }
    /// The bytes of a table with these rows, which have `bytes` together.
    static constexpr std::size_t bytes_for(std::size_t rows, std::size_t bytes) {
        return bytes + rows * (sizeof(slot) - sizeof(Row) + 4 * 3 / 2) + chunk_bytes;
    }

    std::size_t size() const { return size_; }
    Row& add(std::uint64_t hash, const Row& r, const char* tail = nullptr) {
        const std::size_t n = (offsetof(slot, row) + bytes_of(r) + alignof(slot) - 1) & ~(alignof(slot) - 1);
        if (n > room_) add_chunk();
        auto* const s = reinterpret_cast<slot*>(at_);
        std::uint32_t& head = heads_[hash & mask_];
        s->next = head;
        head = static_cast<std::uint32_t>((chunks_.size() - 1) << unit_bits | (chunk_bytes - room_) / unit) + 1;
        std::memcpy(&s->row, &r, sizeof(Row));
        if constexpr (has_tail<Row>) std::memcpy(reinterpret_cast<char*>(&s->row) + sizeof(Row), tail, r.tail());
        at_ += n, room_ -= n, ++size_;
        return s->row;
    }
    /// The first of these rows for which f(row) is true; null: none.
    template <class F> Row* find(std::uint64_t hash, F&& f) {
        for (std::uint32_t at = heads_[hash & mask_]; at != 0;) {
            slot& s =
                *reinterpret_cast<slot*>(bases_[(at - 1) >> unit_bits] + ((at - 1) & ((1U << unit_bits) - 1)) * unit);
            if (f(s.row)) return &s.row;
            at = s.next;
        }
        return nullptr;
    }
    template <class F> void for_each(F&& f) {
        for (std::size_t c = 0; c != chunks_.size(); ++c) {
            std::byte* p = bases_[c];
            const std::byte* const end = c + 1 == chunks_.size() ? at_ : ends_[c];
            while (p != end) {
                slot& s = *reinterpret_cast<slot*>(p);
                p += (offsetof(slot, row) + bytes_of(s.row) + alignof(slot) - 1) & ~(alignof(slot) - 1);
                f(s.row);
            }
        }
    }

  private:
    void make_heads(std::size_t n) {
        heads_of_ = in_.allocate(by_, n * sizeof(std::uint32_t));
        heads_ = reinterpret_cast<std::uint32_t*>(heads_of_.data());
        std::memset(heads_, 0, n * sizeof(std::uint32_t));
        mask_ = n - 1;
    }
    void add_chunk() {
        allot::buffer b = in_.allocate(by_, chunk_bytes);
        if (!chunks_.empty()) ends_.push_back(at_);
        at_ = b.data(), room_ = chunk_bytes;
        bases_.push_back(at_);
        chunks_.push_back(std::move(b));
    }

    engine& in_;
    allot::account& by_;
    allot::buffer heads_of_;
    std::uint32_t* heads_ = nullptr;
    std::size_t mask_ = 0, size_ = 0, room_ = 0;
    std::byte* at_ = nullptr;
    std::vector<allot::buffer> chunks_;
    std::vector<std::byte*> bases_, ends_;
};

} // namespace tpch
