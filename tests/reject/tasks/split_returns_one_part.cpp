// expected-error {{allot: the split function of with_retry() is called with an Input&: let it return its parts as
// std::vector<Input>}}
#include <allot/oom/retry.hpp>
#include <allot/spill/spillable_buffer.hpp>
#include <vector>

int main() {
    std::vector<allot::spillable_buffer> batches;
    const auto body = [](const allot::spillable_buffer&) {};
#if WRONG
    allot::oom::with_retry(batches, [](const allot::spillable_buffer& b) { return b.bytes(); }, body);
#else
    allot::oom::with_retry(batches, [](const allot::spillable_buffer& b) { return b.halves(8); }, body);
#endif
}
