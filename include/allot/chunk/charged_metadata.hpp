// The metadata of a chunk arena's fit: books of the arena, which grow while its lock is held, and are paid afterwards.
//
// Arrays of 128 KiB and more are mappings: a growth copies nothing, and what is freed returns to the system at once.
// Cost: one pointer; a system call per growth of a mapping. Threads: one at a time.
#pragma once

#include <allot/account/books.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/fit/run_array.hpp>
#include <allot/sys/map.hpp>

#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {

class charged_metadata {
  public:
    explicit charged_metadata(const books_of_object& to = books_of_object{nullptr}) noexcept : to_(to) {}

    // As host_metadata::resize().
    ALLOT_OUTLINE void* resize(void* old, std::size_t from, std::size_t to) noexcept {
        void* const now = change(old, from, to);
        if (now == nullptr && to != 0) return nullptr;
        to < least_mapping ? to_.owe(to) : to_.owe_pages(to);
        from < least_mapping ? to_.end(from) : to_.end_pages(from);
        return now;
    }

  private:
    static constexpr std::size_t least_mapping = std::size_t{128} << 10;

    ALLOT_OUTLINE static void* change(void* old, std::size_t from, std::size_t to) noexcept {
        if (from < least_mapping && to < least_mapping) return host_metadata{}.resize(old, from, to);
        if (from >= least_mapping && to >= least_mapping) return sys::resize_mapping(old, mapped(from), mapped(to));
        void* const now = to >= least_mapping ? map(mapped(to)) : host_metadata{}.resize(nullptr, 0, to);
        if (now != nullptr && old != nullptr) std::memcpy(now, old, min(from, to));
        if (now == nullptr && to != 0) return nullptr;
        if (from >= least_mapping) sys::unmap(old, mapped(from));
        else host_metadata{}.resize(old, from, 0);
        return now;
    }
    static std::size_t mapped(std::size_t bytes) noexcept { return align_up(bytes, sys::os_page_bytes()); }
    static void* map(std::size_t bytes) noexcept {
        std::byte* const at = sys::reserve(bytes, sys::os_page_bytes());
        if (at == nullptr || sys::commit(at, bytes)) return at;
        return sys::unmap(at, bytes), nullptr;
    }

    books_of_object to_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
