// The library, compiled with its symbols hidden and with them open.
#include "library.hpp"

#include <cstring>
#include <memory>

namespace {

// Other answers than those of the program's sets, whose code would be the program's where that exports it.
struct own_set : allot::policies<allot::heap::per_thread, allot::size::packed, allot::oom::null> {};

std::unique_ptr<allot::row_manager<common_set>> common;
std::unique_ptr<allot::row_manager<own_set>> own;

bool churn(auto& rows, std::size_t n) {
    void* held[40] = {};
    for (std::size_t i = 0; i < n; ++i) {
        void*& place = held[i * 7 % 40];
        if (place != nullptr) rows.release(place);
        place = rows.allocate(16 + i % 300);
        if (place == nullptr) return false;
        std::memset(place, 1, 16);
    }
    for (void* row : held)
        if (row != nullptr) allot::release(row);
    return true;
}

constexpr library_api api{
    [] {
        common = std::make_unique<allot::row_manager<common_set>>(allot::limit{8 << 20});
        own = std::make_unique<allot::row_manager<own_set>>(allot::limit{8 << 20});
    },
    [] {
        const bool good = common->live_rows() == 0 && own->live_rows() == 0 && common->valid() && own->valid();
        common.reset();
        own.reset();
        return good;
    },
    [] { return common.get(); },
    [](std::size_t bytes) { return common->allocate(bytes); },
    [](std::size_t bytes) { return own->allocate(bytes); },
    [](void* row) { allot::release(row); },
    [](void* row, allot::row_manager<common_set>& rows) { rows.release(row); },
    [](std::size_t n) { return churn(*common, n) && churn(*own, n); },
};

} // namespace

extern "C" __attribute__((visibility("default"))) const library_api* allot_test_library() { return &api; }
