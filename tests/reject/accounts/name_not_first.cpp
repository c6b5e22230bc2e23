// expected-error {{allot: the first argument of an account must be a name}}
#include <allot/account/account.hpp>

int main() {
#if WRONG
    allot::account root{allot::limit{1000}, allot::name{"root"}};
#else
    allot::account root{allot::name{"root"}, allot::limit{1000}};
#endif
    return root.is_open() ? 0 : 1;
}
