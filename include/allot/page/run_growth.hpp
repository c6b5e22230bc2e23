// A run of pages that is to grow, and what became of it.
//
// Cost: values. Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

struct run_to_grow {
    std::byte* first = nullptr;
    std::size_t pages = 0;
    bool may_move = false;  // to another run
    bool may_slide = false; // to the pages in front of it: its contents then move within the longer run
};
// Null where the request is refused; then the run is as it was.
struct grown_run {
    std::byte* first = nullptr; // the run's own address: only its end is another
    bool is_another = false;    // the old run is still there
    explicit operator bool() const noexcept { return first != nullptr; }
};

} // namespace allot::inline ALLOT_ABI
