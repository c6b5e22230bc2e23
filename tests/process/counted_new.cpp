// Compiled alone: it replaces operator new.
#include <process/counted_new.hpp>

#include <cstdlib>
#include <new>

namespace {

void* counted_new(std::size_t bytes, std::size_t align) {
    ++news, ++held;
    void* const p = align > alignof(std::max_align_t) ? std::aligned_alloc(align, (bytes + align - 1) / align * align)
                                                      : std::malloc(bytes);
    if (p == nullptr) std::abort();
    return p;
}

void counted_delete(void* p) {
    if (p != nullptr) --held;
    std::free(p);
}

} // namespace

void* operator new(std::size_t bytes) { return counted_new(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) {
    return counted_new(bytes, static_cast<std::size_t>(align));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_new(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
    return counted_new(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* p) noexcept { counted_delete(p); }
void operator delete(void* p, std::size_t) noexcept { counted_delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { counted_delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { counted_delete(p); }
