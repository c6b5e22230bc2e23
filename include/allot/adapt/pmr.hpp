// A std::pmr::memory_resource over a row manager, a local handle of one, a chunk arena, or an arena.
//
// The source must outlive the resource, and the resource its containers. Bytes count against the source's limit.
// Cost: one virtual call, and the source's. Threads: those of the source. Failure: std::bad_alloc.
#pragma once

#include <allot/adapt/bytes.hpp>

#include <cstddef>
#include <memory_resource>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A std::pmr::memory_resource that refers to a Source.
template <byte_source Source> class memory_resource final : public std::pmr::memory_resource {
  public:
    explicit memory_resource(Source& source) noexcept : source_(&source) {}
    Source& source() const noexcept { return *source_; }

  private:
    void* do_allocate(std::size_t bytes, std::size_t align) override { return adapt::allocate(*source_, bytes, align); }
    void do_deallocate(void* p, std::size_t bytes, std::size_t align) override {
        adapt::deallocate(*source_, p, bytes, align);
    }
    // True for resources of one source; without RTTI only for the same resource.
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
#if ALLOT_RTTI
        const auto* const same = dynamic_cast<const memory_resource*>(&other);
        return same != nullptr && same->source_ == source_;
#else
        return this == &other;
#endif
    }

    Source* source_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
