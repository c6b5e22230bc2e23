// expected-error {{allot: a root has no parent of whom it could reserve}}
#include <allot/ledger/account.hpp>

int main() {
    allot::account root{allot::name{"root"}};
#if WRONG
    allot::account query{allot::name{"query"}, allot::reservation{10}};
#else
    allot::account query{root, allot::name{"query"}, allot::reservation{10}};
#endif
    return query.is_open() ? 0 : 1;
}
