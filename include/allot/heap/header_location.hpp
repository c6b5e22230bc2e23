// Where the header of a page of rows stands, and how it is found from a row's address.
//
//   header_in_page   page:  | header | bits | counts | rows ...      found by a mask: the page's start
//   header_out_of_band     page:  | rows ...                               found by the arena's word of the page, and
//                    host:  | header | bits | counts |               the header knows where its page lies
//
// Aside is for pages that the host must not touch: all that a heap writes is in host memory, and the whole page is
// rows.
// Invariant: aside, the word of a page is its header's address from before its first row is handed out until it is
// given back. Cost: in the page nothing; aside a load for each look at a header, and 8 bytes a page. A header is got
// and freed where no lock is held. Threads: any; who holds a row of a page may ask for its header.
// Source: out-of-band metadata as in the pagemap of tcmalloc, 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/page/page_map.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

struct header_in_page {
    static constexpr bool out_of_band = false;
};
struct header_out_of_band {
    static constexpr bool out_of_band = true;
    std::byte* memory = nullptr; // the page
};

// Of every kind of header.
inline constexpr std::size_t header_alignment = 64;

namespace detail {

// What stands for the header of a page that holds no rows: it belongs to nobody. Aligned as every header is, since it
// is looked at as each kind of them.
struct alignas(header_alignment) unowned_header : page_header {};
inline unowned_header unowned_page{{.owner = &unowned_page}};

} // namespace detail

// The header of the page that an address of the arena lies in.
template <class Page> ALLOT_ALWAYS_INLINE Page& page_at(const detail::arena_view& arena, const void* address) noexcept {
    if constexpr (!Page::location_type::out_of_band) {
        return *reinterpret_cast<Page*>(page_of(address, arena.page_mask));
    } else {
        static_assert(alignof(Page) <= alignof(detail::unowned_header));
        page_header* found = out_of_band_header_at(arena, address);
        if (ALLOT_UNLIKELY(found == nullptr)) found = &detail::unowned_page;
        return *static_cast<Page*>(found);
    }
}

// Host memory for the header of a page and what goes with it; null when there is none.
inline std::byte* allocate_header(std::size_t bytes) noexcept {
    return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{header_alignment}, std::nothrow));
}
inline void free_header(void* header) noexcept { ::operator delete(header, std::align_val_t{header_alignment}); }

// Headers of pages that were given back under a lock, freed when it has gone: at this object's end.
template <class Page, bool OutOfBand = Page::location_type::out_of_band> class released_headers {
  public:
    void add(Page&) noexcept {}
};
template <class Page> class released_headers<Page, true> {
  public:
    released_headers() = default;
    released_headers(const released_headers&) = delete;
    released_headers& operator=(const released_headers&) = delete;
    ~released_headers() {
        while (first_ != nullptr)
            free_header(std::exchange(first_, first_->empty_link.load(std::memory_order_relaxed)));
    }
    void add(Page& p) noexcept {
        p.empty_link.store(first_, std::memory_order_relaxed);
        first_ = &p;
    }

  private:
    Page* first_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
