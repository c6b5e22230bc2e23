// expected-error {{allot: the body of with_retry_no_split() is called without arguments: let it take none}}
#include <allot/oom/retry.hpp>

int main() {
#if WRONG
    allot::oom::with_retry_no_split([](int) {});
#else
    allot::oom::with_retry_no_split([] {});
#endif
}
