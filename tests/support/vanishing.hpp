// A place for one object whose bytes can be gone for good: who touches them later ends the program, at once.
#pragma once

#include <sys/mman.h>

#include <cstdlib>

namespace support {

template <class T> class vanishing {
  public:
    vanishing() {
        if (bytes_ == MAP_FAILED) std::abort();
    }
    vanishing(const vanishing&) = delete;
    vanishing& operator=(const vanishing&) = delete;
    ~vanishing() { ::munmap(bytes_, sizeof(T)); }

    void* address() { return bytes_; }
    // As a callback that ends the object: its place is the context.
    static void end(T& object, void* place) noexcept {
        auto& here = *static_cast<vanishing*>(place);
        object.~T();
        if (::mprotect(here.bytes_, sizeof(T), PROT_NONE) != 0) std::abort();
        here.gone_ = true;
    }
    bool is_gone() const { return gone_; }

  private:
    void* bytes_ = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool gone_ = false;
};

} // namespace support
