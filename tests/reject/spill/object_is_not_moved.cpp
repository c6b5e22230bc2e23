// expected-error {{allot: a store takes the object over; pass std::move(object)}}
#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <utility>

void keep(allot::store& inputs, allot::buffer& batch) {
#if WRONG
    inputs.put(batch);
#else
    inputs.put(std::move(batch));
#endif
}
int main() {}
