// Metadata for a fit that counts what is held, and says no from the n-th growth on.
#pragma once

#include <cstddef>
#include <cstdlib>

struct failing_metadata {
    struct state {
        std::size_t held = 0;
        long left = -1; // growths until it says no; below 0: never
        long growths = 0;
    };
    state* of = nullptr;

    void* resize(void* old, std::size_t from, std::size_t to) noexcept {
        if (to == 0) {
            of->held -= from;
            std::free(old);
            return nullptr;
        }
        ++of->growths;
        if (of->left == 0) return nullptr;
        if (of->left > 0) --of->left;
        of->held += to - from;
        return std::realloc(old, to);
    }
};
