// The pmr face of a manager with caches per thread; beside "per_thread_uncounted", which it calls.
#include <counted/count.hpp>

#include <ours/sets.hpp>
#include <ours/subjects.hpp>

void counted::pmr() {
    using namespace bench;
    count<28, pmr_face_subject<uncounted_thread_rows>>("pmr");
    count<29, pmr_face_subject<uncounted_thread_rows, 8>>("pmr_aligned_to_8");
}
