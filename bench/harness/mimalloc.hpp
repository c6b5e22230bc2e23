// mimalloc as two functions, loaded at run time if it is installed.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <dlfcn.h>

namespace bench {

struct mimalloc {
    void* (*allocate)(std::size_t) = nullptr;
    void (*release)(void*) = nullptr;
    const char* file = "";

    // The newest, or the one asked for by its file; false in the result: none.
    static mimalloc find(const char* asked = nullptr) noexcept {
        for (const char* const file : {asked, "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"}) {
            void* const library = file != nullptr ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
            if (library == nullptr) continue;
            const mimalloc found{reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "mi_malloc")),
                                 reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free")), file};
            if (found) return found;
        }
        return {};
    }
    explicit operator bool() const noexcept { return allocate != nullptr && release != nullptr; }
};

} // namespace bench
