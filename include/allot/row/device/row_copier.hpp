// A row_mover for rows on a device: they are copied on a stream, in batches, and the old ones are freed behind it.
//
// Cost: 2 KiB more of stack. Threads: as row_mover.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/row/moving/row_mover.hpp>
#include <allot/row/row_ops.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class row_copier : public row_mover {
  public:
    using row_mover::row_mover;

    // copy_rows(to, from, bytes, n) copies rows on a stream, and releases the old ones behind the copies; where it
    // cannot, it releases the new ones, and the rows stay.
    template <class Copy> void copy(std::span<void*> rows, Copy copy_rows) noexcept {
        batch_of_copies some;
        for (void*& row : rows) {
            page_header* const p = page_of(row);
            heap_base* const of = p != nullptr ? p->ops->leaves(*p, bytes_of(row), manager_) : nullptr;
            if (of == nullptr) continue;
            if (some.n == left_ || some.n == some.most)
                if (!flush(some, copy_rows)) return;
            std::byte* const to = take(*of);
            if (to == nullptr) {
                if (left_ == 0) break;
                continue;
            }
            some.add(row, to, p->ops->capacity(*p, bytes_of(row)));
        }
        static_cast<void>(flush(some, copy_rows));
    }

  private:
    // Rows, and their places in the span.
    struct batch_of_copies {
        static constexpr std::size_t most = 60;
        void add(void*& row, void* copy, std::size_t size) noexcept {
            place[n] = &row;
            from[n] = row;
            to[n] = copy;
            bytes[n++] = size;
        }
        std::size_t n = 0;
        void** place[most];
        void* from[most];
        void* to[most];
        std::size_t bytes[most];
    };

    template <class Copy> bool flush(batch_of_copies& some, Copy& copy_rows) noexcept {
        const std::size_t n = std::exchange(some.n, 0);
        if (n == 0) return true;
        for (std::size_t i = 0; i != n; ++i) {
            page_header* const p = page_of(some.from[i]);
            p->ops->move(*p, bytes_of(some.from[i]), bytes_of(some.to[i])); // from here on it is a row
        }
        if (!copy_rows(some.to, some.from, some.bytes, n)) return left_ = 0, false;
        for (std::size_t i = 0; i != n; ++i) *some.place[i] = some.to[i];
        done_.moved += n;
        done_.kept -= n;
        left_ -= n;
        return true;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
