// Host memory for what is kept about a block of buffers, some of it at hand in each thread.
//
// Invariant: a piece is buffer_record bytes, with nobody or in one thread's list; any thread may give it back. Checked
// builds keep
// none, so that who uses one too long is found. Cost: some ten instructions a pair; 6.5 KiB a thread at most, until it
// ends.
// Threads: any, also in the last destructors of a thread that ends.
// Source: free lists a thread, as in Hoard, 2000; bounded, since what one thread makes another may release.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::size_t buffer_record = 104;

// Constant at first and without a destructor, so that it can be used to the thread's very end.
struct record_list {
    struct piece {
        piece* next;
    };
    piece* first = nullptr;
    std::uint32_t room = 0;
    bool known = false; // its end is seen to
};
inline constinit thread_local record_list records_here{};

class buffer_records {
  public:
    static constexpr std::uint32_t most = 64; // in a thread's list

    // Null: the host has no memory.
    static void* take() noexcept {
        record_list& mine = records_here;
        record_list::piece* const p = mine.first;
        if (ALLOT_UNLIKELY(p == nullptr)) return ::operator new(buffer_record, std::nothrow);
        mine.first = p->next;
        ++mine.room;
        return p;
    }
    static void give(void* record) noexcept {
        record_list& mine = records_here;
        if (ALLOT_UNLIKELY(mine.room == 0 && !open(mine))) return ::operator delete(record);
        mine.first = ::new (record) record_list::piece{mine.first};
        --mine.room;
    }

  private:
    struct end {
        ~end() {
            records_here.room = 0;
            while (record_list::piece* const p = records_here.first) {
                records_here.first = p->next;
                ::operator delete(p);
            }
        }
    };
    static ALLOT_COLD bool open(record_list& mine) noexcept {
        if (ALLOT_CHECKED != 0 || std::exchange(mine.known, true)) return false; // it is full, or has ended
        static thread_local end at_end;
        static_cast<void>(at_end);
        mine.room = most;
        return true;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
