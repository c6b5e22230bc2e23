// Host memory for the records of blocks, with a free list in each thread.
//
// Invariant: a record has buffer_record bytes and is in at most one thread's list; any thread may free it. Checked builds
// keep no list, so that a use after free is found.
// Cost: about ten instructions per pair; at most 6.5 KiB per thread. Threads: any, also in the last destructors of a
// thread that ends. Source: free lists per thread, as in Hoard, 2000; bounded, since any thread may free a record.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/thread_end.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::size_t buffer_record = 104;

// Constant-initialized and without a destructor, so that it is usable until the thread ends.
struct record_list {
    struct free_record {
        free_record* next;
    };
    free_record* first = nullptr;
    std::uint32_t places_left = 0;
    bool started = false; // start() has run: the list is freed at the thread's end
};
inline constinit thread_local record_list records_here{};

class buffer_records {
  public:
    static constexpr std::uint32_t most = 64; // in a thread's list

    // Returns null if the host has no memory.
    static void* take() noexcept {
        record_list& mine = records_here;
        record_list::free_record* const p = mine.first;
        if (ALLOT_UNLIKELY(p == nullptr)) return ::operator new(buffer_record, std::nothrow);
        mine.first = p->next;
        ++mine.places_left;
        return p;
    }
    static void give(void* record) noexcept {
        record_list& mine = records_here;
        if (ALLOT_UNLIKELY(mine.places_left == 0 && !start(mine))) return ::operator delete(record);
        mine.first = ::new (record) record_list::free_record{mine.first};
        --mine.places_left;
    }

  private:
    static void end(void*) noexcept {
        records_here.places_left = 0;
        while (record_list::free_record* const p = records_here.first) {
            records_here.first = p->next;
            ::operator delete(p);
        }
    }
    // False: free the record. The list is full, its thread ends or has no memory, or this is a checked build.
    static ALLOT_COLD bool start(record_list& mine) noexcept {
        if (ALLOT_CHECKED != 0 || mine.started || !sys::at_thread_end<&end>(&mine)) return false;
        mine.started = true;
        mine.places_left = most;
        return true;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
