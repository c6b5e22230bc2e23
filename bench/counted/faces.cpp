// The faces of the standard library, and the calls that they are compared with.
#include <counted/count.hpp>

#include <ours/sets.hpp>
#include <ours/subjects.hpp>

#include <allot/adapt/std_allocator.hpp>

#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace measured { // named, so that no two of their functions are folded into one

enum class face { none, pmr, std_allocator };

// A manager's calls, or those of a thread's handle, through a face or without one.
template <class Set, face Through, bool OfThread = false, std::size_t Align = 8>
struct face_subject : bench::managed<Set> {
    static constexpr bool any_size = true;
    using bench::managed<Set>::managed;
    using source = std::conditional_t<OfThread, allot::local_rows<Set>, allot::row_manager<Set>>;
    static constexpr allot::row_type aligned{.name = "aligned", .align = Align};

    struct user {
        explicit user(face_subject& of) : handle(of.rows), resource(source_of(of)) { bench::escape(&resource); }

        BENCH_INLINE void* allocate(std::size_t bytes) {
            source& rows = resource.source();
            if constexpr (Through == face::pmr)
                return static_cast<std::pmr::memory_resource&>(resource).allocate(bytes, Align);
            else if constexpr (Through == face::std_allocator)
                return allot::adapt::std_allocator<std::byte, source>(rows).allocate(bytes);
            else if constexpr (Align > 8) return rows.allocate(bytes, aligned);
            else return rows.allocate(bytes);
        }
        BENCH_INLINE void release(void* row, std::size_t bytes) {
            source& rows = resource.source();
            if constexpr (Through == face::pmr)
                static_cast<std::pmr::memory_resource&>(resource).deallocate(row, bytes, Align);
            else if constexpr (Through == face::std_allocator)
                allot::adapt::std_allocator<std::byte, source>(rows).deallocate(static_cast<std::byte*>(row), bytes);
            else if constexpr (Align > 8) rows.release(row);
            else rows.release(row, bytes);
        }

      private:
        source& source_of(face_subject& of) noexcept {
            if constexpr (OfThread) return handle;
            else return of.rows;
        }
        allot::local_rows<Set> handle;
        allot::adapt::memory_resource<source> resource;
    };
};

} // namespace measured

void counted::faces() {
    using namespace bench;
    using measured::face_subject;
    using enum measured::face;
    count<40, face_subject<thread_rows, none>>("face_none");
    count<41, face_subject<thread_rows, pmr>>("face_pmr");
    count<42, face_subject<thread_rows, std_allocator>>("face_std_allocator");
    count<43, face_subject<uncounted_thread_rows, none>>("face_none_uncounted");
    count<44, face_subject<uncounted_thread_rows, pmr>>("face_pmr_uncounted");
    count<45, face_subject<thread_rows, none, true>>("face_none_of_thread");
    count<46, face_subject<thread_rows, pmr, true>>("face_pmr_of_thread");
    count<47, face_subject<thread_rows, none, false, 16>>("face_none_aligned_to_16");
    count<48, face_subject<thread_rows, pmr, false, 16>>("face_pmr_aligned_to_16");
    count<49, face_subject<uncounted_thread_rows, none, false, 16>>("face_none_uncounted_aligned_to_16");
    count<50, face_subject<uncounted_thread_rows, pmr, false, 16>>("face_pmr_uncounted_aligned_to_16");
    count<51, face_subject<shared_rows, none>>("face_none_shared");
    count<52, face_subject<shared_rows, pmr>>("face_pmr_shared");
}
