// The faces of the standard library, and the calls that they are compared with.
#include <counted/count.hpp>

#include <ours/list.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/adapt/std_allocator.hpp>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace bench {

struct uncounted_face_rows
    : allot::policies<allot::heap::per_thread, allot::count::none, allot::size::bucketed<allot::size::list::fine>> {};

// In no unnamed namespace: functions that other files cannot see are folded where they are equal.

// The requests of a test of 64 bytes, or of sizes that take turns.
template <bool Mixed> struct request_sizes {
    std::size_t next(std::size_t& at) const noexcept {
        static constexpr std::array<std::size_t, 8> all{24, 600, 64, 120, 320, 40, 200, 450};
        return Mixed ? all[at++ % 8] : 64;
    }
    std::size_t allocated = 0, released = 0;
};

enum class face { none, pmr, std_allocator };

// A manager's calls, or those of a thread's handle, through a face or without one.
template <class Set, bool OfThread, face Through, bool Mixed, std::size_t Align = 8>
struct face_subject : managed<Set> {
    using managed<Set>::managed;
    using source = std::conditional_t<OfThread, allot::local_rows<Set>, allot::row_manager<Set>>;
    static constexpr allot::row_type aligned{.name = "aligned", .align = Align};

    struct user : request_sizes<Mixed> {
        explicit user(face_subject& of) : handle(of.rows), resource(rows_of(of)) { escape(&resource); }
        source& rows_of(face_subject& of) noexcept {
            if constexpr (OfThread) return handle;
            else return of.rows;
        }
        source& rows() noexcept { return resource.source(); }

        BENCH_INLINE void* allocate(std::size_t) {
            const std::size_t bytes = this->next(this->allocated);
            if constexpr (Through == face::pmr) {
                return static_cast<std::pmr::memory_resource&>(resource).allocate(bytes, Align);
            } else if constexpr (Through == face::std_allocator) {
                return allot::adapt::std_allocator<std::byte, source>(rows()).allocate(bytes);
            } else if constexpr (Align > 8) {
                return rows().allocate(bytes, aligned);
            } else {
                return rows().allocate(bytes);
            }
        }
        BENCH_INLINE void release(void* row, std::size_t) {
            const std::size_t bytes = this->next(this->released);
            if constexpr (Through == face::pmr) {
                static_cast<std::pmr::memory_resource&>(resource).deallocate(row, bytes, Align);
            } else if constexpr (Through == face::std_allocator) {
                allot::adapt::std_allocator<std::byte, source>(rows()).deallocate(static_cast<std::byte*>(row), bytes);
            } else {
                rows().release(row, bytes);
            }
        }
        allot::local_rows<Set> handle;
        allot::adapt::memory_resource<source> resource;
    };
};

} // namespace bench

void counted::faces() {
    using namespace bench;
    using enum face;
    count<30, face_subject<thread_rows, false, none, false>>("manager_64");
    count<31, face_subject<thread_rows, false, pmr, false>>("pmr_64");
    count<32, face_subject<thread_rows, false, none, true>>("manager_mixed");
    count<33, face_subject<thread_rows, false, pmr, true>>("pmr_mixed");
    count<34, face_subject<uncounted_face_rows, false, none, false>>("manager_uncounted_64");
    count<35, face_subject<uncounted_face_rows, false, pmr, false>>("pmr_uncounted_64");
    count<36, face_subject<uncounted_face_rows, false, none, true>>("manager_uncounted_mixed");
    count<37, face_subject<uncounted_face_rows, false, pmr, true>>("pmr_uncounted_mixed");
    count<38, face_subject<thread_rows, true, none, false>>("handle_64");
    count<39, face_subject<thread_rows, true, pmr, false>>("pmr_of_handle_64");
    count<40, face_subject<thread_rows, false, std_allocator, false>>("std_allocator_64");
    count<41, face_subject<thread_rows, false, std_allocator, true>>("std_allocator_mixed");
    count<42, face_subject<thread_rows, false, none, false, 16>>("manager_64_aligned_16");
    count<43, face_subject<thread_rows, false, pmr, false, 16>>("pmr_64_aligned_16");
    count<44, face_subject<uncounted_face_rows, false, pmr, false, 16>>("pmr_uncounted_64_aligned_16");
    count<45, face_subject<bitmap_rows, false, none, false>>("manager_shared_64");
    count<46, face_subject<bitmap_rows, false, pmr, false>>("pmr_shared_64");
}
