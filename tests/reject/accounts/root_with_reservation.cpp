// expected-error {{allot: a root account takes no reservation}}
#include <allot/account/account.hpp>

int main() {
    allot::account root{allot::name{"root"}};
#if WRONG
    allot::account query{allot::name{"query"}, allot::reservation{10}};
#else
    allot::account query{root, allot::name{"query"}, allot::reservation{10}};
#endif
    return query.is_open() ? 0 : 1;
}
