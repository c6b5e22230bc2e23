// expected-error {{allot: the body of with_retry() is called with an input: let it take Input& or const Input&}}
#include <allot/oom/retry.hpp>
#include <allot/spill/spillable_buffer.hpp>
#include <vector>

int main() {
    std::vector<allot::spillable_buffer> batches;
    const auto halve = [](const allot::spillable_buffer& b) { return b.halves(8); };
#if WRONG
    allot::oom::with_retry(batches, halve, [](allot::spillable_buffer) {});
#else
    allot::oom::with_retry(batches, halve, [](const allot::spillable_buffer&) {});
#endif
}
