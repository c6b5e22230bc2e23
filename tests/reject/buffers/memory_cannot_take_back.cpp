// expected-error {{allot: this is no memory source for buffers}}
#include <allot/buffers.hpp>

struct only_gives {
    void* try_allocate(std::size_t, std::size_t);
};

int main() {
    allot::heap_memory heap;
#if WRONG
    only_gives gives;
    allot::buffer_memory memory{gives};
#else
    allot::buffer_memory memory{heap};
#endif
    return memory.host_access() ? 0 : 1;
}
