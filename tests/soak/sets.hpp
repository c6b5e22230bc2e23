// The sets that are soaked: each translation unit of sets/ adds some of the covering array's.
#pragma once

#include <soak/face.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace soak {

struct soaked_set {
    const char* text;
    std::unique_ptr<manager_face> (*make)(leak_count& leaks);
    std::string_view described;
};

inline std::vector<soaked_set>& all_sets() {
    static std::vector<soaked_set> all;
    return all;
}

} // namespace soak
