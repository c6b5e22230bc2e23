// slots::linked: free slots form a list through their own first four bytes.
//
// Any thread pushes a chain of slots with one compare-and-swap. The holder of the heap's lock takes the whole list with
// one exchange and pushes its own slots with plain stores. No thread reads a link in a slot that another thread may
// own, so there is no ABA problem and no race. Links are offsets from the page's start; 0 ends the list. Under
// guard::encoded they are encoded (slots/link_code.hpp), and a list with an invalid link is dropped.
// Cost: nothing out of band; 8 bytes per heaplet. Slots are claimed in the order of their release: if that is random,
// each costs a cache miss, which slots::bitmap avoids.
// Threads: put by any; put_locked and claim by the holder of the heap's lock.
// Source: Treiber 1986; the consumer takes all: mimalloc's thread free list, 2019.
#pragma once

#include <allot/core/category/slots.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/slots/link_code.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace slots {

/// A list through the free slots. No memory out of band; the host must be able to touch the rows.
struct linked {
    using category = allot::category::slots;
    using needs = types<property::host_accessible>;
    using provides = types<property::concurrent>;
    static constexpr std::string_view about = "a list through the free slots; a claim takes the whole list";
    static constexpr std::string_view cost = "0 bits per slot; one compare-and-swap per chain of releases";

    static constexpr std::size_t min_row_bytes = sizeof(std::uint32_t); // the link lies in the row
    static constexpr std::size_t least_offset = 1;                      // of a row in its page: 0 ends a list

    static constexpr std::size_t out_of_band_bytes(std::size_t, std::size_t, std::size_t) noexcept { return 0; }

    // The free slots of one page. Lives in the page's header.
    template <class Code> class list_in_page {
      public:
        void reset(std::byte*, const detail::slot_geometry&) noexcept {
            head_.store(0, std::memory_order_relaxed);
            chain_ = 0;
        }
        // Call before the first put.
        void encode(std::uint32_t secret, const detail::slot_geometry& cut) noexcept
            requires Code::checks
        {
            code_ = Code(secret, cut);
        }
        // Offset of the row with an invalid link; 0: none. The heap claims no slot of a broken page.
        std::uint32_t broken() const noexcept
            requires Code::checks
        {
            return code_.broken;
        }

        // Frees n > 0 slots of this page.
        void put(std::byte* page, const detail::slot_geometry&, std::byte* const* rows, std::size_t n) noexcept {
            const Code code = code_;
            for (std::size_t i = 0; i + 1 < n; ++i) set_link(code, rows[i], offset(page, rows[i + 1]));
            std::uint32_t head = head_.load(std::memory_order_relaxed);
            do {
                set_link(code, rows[n - 1], head);
            } while (!head_.compare_exchange_weak(head, offset(page, rows[0]), std::memory_order_release,
                                                  std::memory_order_relaxed));
        }

        ALLOT_ALWAYS_INLINE void put_locked(std::byte* page, const detail::slot_geometry&, std::byte* const* rows,
                                            std::size_t n) noexcept {
            const Code code = code_;
            for (std::size_t i = 0; i != n; ++i) {
                set_link(code, rows[i], chain_);
                chain_ = offset(page, rows[i]);
            }
        }

        // Claims up to n slots; fills `out` from its end.
        std::size_t claim(std::byte* page, [[maybe_unused]] const detail::slot_geometry& cut, std::byte** out,
                          std::size_t n) noexcept {
            [[maybe_unused]] const Code code = code_;
            std::size_t left = n;
            while (left != 0) {
                if (chain_ == 0) chain_ = head_.exchange(0, std::memory_order_acquire);
                if (chain_ == 0) break;
                out[--left] = page + chain_;
                const std::uint32_t next = link(code, page + chain_);
                if constexpr (Code::checks)
                    if (ALLOT_UNLIKELY(!code.is_valid(next, cut))) {
                        code_.broken = chain_;
                        chain_ = 0;
                        break;
                    }
                chain_ = next;
            }
            if (left != 0) std::memmove(out, out + left, (n - left) * sizeof *out);
            return n - left;
        }

        // Calls visit(index) for each free slot, up to an invalid link. Requires the heap's lock.
        template <class Visit>
        void visit_free(std::byte* page, const detail::slot_geometry& cut, Visit visit) const noexcept {
            std::uint32_t left = cut.capacity;
            for (const std::uint32_t start : {chain_, head_.load(std::memory_order_acquire)})
                for (std::uint32_t at = start; at != 0 && cut.is_row(at) && left != 0; --left) {
                    visit(cut.index_of(at));
                    at = link(code_, page + at);
                }
        }

        // True if the lists hold `freed` valid slots. No other thread may use the page meanwhile.
        bool valid(std::byte* page, const detail::slot_geometry& cut, std::uint32_t freed) const noexcept {
            std::uint32_t n = 0;
            for (const std::uint32_t start : {chain_, head_.load(std::memory_order_acquire)})
                for (std::uint32_t at = start; at != 0; at = link(code_, page + at))
                    if (!cut.is_row(at) || ++n > freed) return false;
            return n == freed;
        }

      private:
        static std::uint32_t offset(std::byte* page, std::byte* row) noexcept {
            return static_cast<std::uint32_t>(row - page);
        }
        static std::uint32_t link(const Code& code, const std::byte* row) noexcept {
            std::uint32_t next;
            detail::sys::read_poisoned(&next, row, sizeof next);
            return code.read(row, next);
        }
        static void set_link(const Code& code, std::byte* row, std::uint32_t next) noexcept {
            next = code.write(row, next);
            detail::sys::write_poisoned(row, &next, sizeof next);
        }

        std::atomic<std::uint32_t> head_{0};
        std::uint32_t chain_ = 0; // taken from head_ or put with the lock held; used by the lock's holder only
        ALLOT_NO_UNIQUE_ADDRESS Code code_;
    };
    using in_page = list_in_page<detail::plain_links>;
    using in_page_encoded = list_in_page<detail::encoded_links>; // under guard::encoded
};

static_assert(category::slots::takes<linked>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
