// expected-error {{allot: the body of with_retry() returns a reference: let it return a value or nothing}}
#include <allot/oom/retry.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <vector>

using batch = allot::stored<allot::buffer>;

int main() {
    std::vector<batch> batches;
    const auto halve = [](const batch& b) { return b.halves(8); };
#if WRONG
    allot::oom::with_retry(batches, halve, [](const batch& b) -> const auto& { return b; });
#else
    allot::oom::with_retry(batches, halve, [](const batch& b) { return b.bytes(); });
#endif
}
