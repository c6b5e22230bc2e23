// The memory that scans of one task use beside their chunks: pages of files, dictionaries, what Arrow needs.
//
// It is a chunk arena of any set. Where a request of a scan may wait, and may get a verdict of an arbiter, is up to
// that set. No header of Arrow is included here: Arrow's pool is made where Parquet files are read.
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/chunk_arena.hpp>
#include <concepts>
#include <cstddef>
#include <memory>

namespace tpch {

/// A reference to a chunk arena, or to what records one, for code that is no template.
class any_blocks {
  public:
    static constexpr std::size_t max_align = allot::page::max_bytes;

    template <allot::adapt::block_source Arena>
        requires(!std::same_as<Arena, any_blocks>)
    explicit any_blocks(Arena& arena) noexcept : arena_(&arena), calls_(&calls_of<Arena>) {}

    /// Throws as the arena's allocate().
    allot::block allocate(std::size_t bytes, std::size_t align) { return calls_->allocate(arena_, bytes, align); }
    allot::block try_allocate(std::size_t bytes, std::size_t align, allot::charge_status* why) {
        return calls_->try_allocate(arena_, bytes, align, why);
    }
    void deallocate(const void* p) noexcept { calls_->deallocate(arena_, p); }
    void deallocate(const void* p, std::size_t, std::size_t) noexcept { deallocate(p); }
    allot::block resize(void* p, std::size_t bytes) noexcept { return calls_->resize(arena_, p, bytes); }
    std::size_t capacity(const void* p) const noexcept { return calls_->capacity(arena_, p); }
    std::size_t trim() noexcept { return calls_->trim(arena_); }

  private:
    struct calls {
        allot::block (*allocate)(void* arena, std::size_t bytes, std::size_t align);
        allot::block (*try_allocate)(void* arena, std::size_t bytes, std::size_t align, allot::charge_status* why);
        void (*deallocate)(void* arena, const void* p) noexcept;
        allot::block (*resize)(void* arena, void* p, std::size_t bytes) noexcept;
        std::size_t (*capacity)(const void* arena, const void* p) noexcept;
        std::size_t (*trim)(void* arena) noexcept;
    };
    template <class Arena>
    static constexpr calls calls_of{
        [](void* arena, std::size_t bytes, std::size_t align) {
            return static_cast<Arena*>(arena)->allocate(bytes, align);
        },
        [](void* arena, std::size_t bytes, std::size_t align, allot::charge_status* why) {
            return static_cast<Arena*>(arena)->try_allocate(bytes, align, why);
        },
        [](void* arena, const void* p) noexcept { static_cast<Arena*>(arena)->deallocate(p); },
        [](void* arena, void* p, std::size_t bytes) noexcept { return static_cast<Arena*>(arena)->resize(p, bytes); },
        [](const void* arena, const void* p) noexcept { return static_cast<const Arena*>(arena)->capacity(p); },
        [](void* arena) noexcept { return static_cast<Arena*>(arena)->trim(); }};

    void* arena_;
    const calls* calls_;
};

struct arrow_part; // Arrow's pool; parquet_table.cpp has it

/// Requires: the arena outlives it, and it outlives its scans. Threads: those of one task.
class query_memory {
  public:
    template <class Set> explicit query_memory(allot::chunk_arena<Set>& arena) : query_memory(any_blocks{arena}) {}
    explicit query_memory(const any_blocks& blocks);
    ~query_memory();

    any_blocks& blocks() noexcept { return blocks_; }
    arrow_part& arrow() noexcept { return *arrow_; }
    /// Bytes that Arrow holds for scans now, and at most so far; 0 in a build without Arrow.
    std::size_t arrow_bytes() const noexcept;
    std::size_t most_arrow_bytes() const noexcept;

  private:
    any_blocks blocks_;
    std::unique_ptr<arrow_part> arrow_;
};

} // namespace tpch
