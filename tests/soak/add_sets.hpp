// Adds sets to the soak. tests/sets.cmake makes files that include this one and list sets of sets.inc.
#pragma once

#include <soak/faces.hpp>
#include <soak/sets.hpp>

#include <allot/core/describe.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using namespace allot::literals;

struct own_list {
    static constexpr std::array<std::uint32_t, 7> sizes{24, 40, 72, 136, 520, 1032, 4096};
};

template <class Set> bool add_set(const char* text) {
    soak::all_sets().push_back({text,
                                [](soak::leak_count& leaks) -> std::unique_ptr<soak::manager_face> {
                                    return std::make_unique<soak::face_of<Set>>(leaks);
                                },
                                allot::describe<Set>().text().view()});
    return true;
}

} // namespace

#define ALLOT_SOAK_SET(id, text, set)                                                                                  \
    namespace {                                                                                                        \
    const bool id##_added = add_set<set>(text);                                                                        \
    }
#define ALLOT_ROW_SET(id, text, ...)                                                                                   \
    namespace {                                                                                                        \
    struct id : allot::policies<__VA_ARGS__> {};                                                                       \
    }                                                                                                                  \
    ALLOT_SOAK_SET(id, text, id)
