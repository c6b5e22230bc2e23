// expected-error {{allot: a store does not hold this type; include the header that says how it is stored, as
// <allot/spill/stored_buffer.hpp>, or specialize allot::storing for it (docs/spill.md)}}
#include <allot/buffers.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <string>
#include <utility>

void keep(allot::store& inputs, std::string& text, allot::buffer& batch) {
#if WRONG
    inputs.put(std::move(text));
#else
    inputs.put(std::move(batch));
    static_cast<void>(text);
#endif
}
int main() {}
