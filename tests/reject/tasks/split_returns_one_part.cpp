// expected-error {{allot: the split function of with_retry() is called with an Input&: let it return its parts as
// std::vector<Input>}}
#include <allot/oom/retry.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <vector>

using batch = allot::stored<allot::buffer>;

int main() {
    std::vector<batch> batches;
    const auto body = [](const batch&) {};
#if WRONG
    allot::oom::with_retry(batches, [](const batch& b) { return b.bytes(); }, body);
#else
    allot::oom::with_retry(batches, [](const batch& b) { return b.halves(8); }, body);
#endif
}
