// Blocks of chunk arenas.
#include <counted/count.hpp>

#include <allot/chunk_arena.hpp>

namespace measured { // named, so that no two of their functions are folded into one

// Sized: told their bytes.
template <bool Sized, class... Ps> struct chunk_subject {
    struct set : allot::policies<allot::fit::runs, allot::oom::null, Ps...> {};
    allot::chunk_arena<set> blocks{allot::limit{std::size_t{1} << 30}};

    explicit chunk_subject(const bench::job&) {}
    struct user {
        explicit user(chunk_subject& of) : blocks(of.blocks) {}
        void* allocate(std::size_t bytes) { return blocks.try_allocate(bytes).address; }
        void release(void* p, [[maybe_unused]] std::size_t bytes) {
            if constexpr (Sized) blocks.deallocate({p, bytes});
            else blocks.deallocate(p);
        }
        allot::chunk_arena<set>& blocks;
    };
};

} // namespace measured

void counted::chunks() {
    using allot::heap::per_thread;
    using measured::chunk_subject;
    count<11, chunk_subject<false, allot::heap::shared>>("chunks_shared");
    count<12, chunk_subject<false, per_thread>>("chunks_per_thread");
    count<13, chunk_subject<true, per_thread>>("chunks_per_thread_told_bytes");
    count<14, chunk_subject<true, per_thread, allot::watch::none>>("chunks_per_thread_unwatched");
}
