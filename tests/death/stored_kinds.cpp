// Vectors and rows that cannot be stored end a checked build, with the account, and the row type where it is to blame.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/buffers.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_rows.hpp>
#include <allot/spill/stored_vector.hpp>

#include <cstddef>
#include <utility>

using allot::account;
using allot::name;
using allot::value_vector;

namespace {

struct in_tree : allot::policies<allot::ledger::tree> {};
struct fixture {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account near{name{"near"}}, far{name{"far"}};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there, name{"inputs"}};
    allot::row_manager<in_tree> rows{near, name{"sort"}}, others{near, name{"join"}};
    allot::row_array<in_tree> array{rows};

    value_vector<int> vector() { return value_vector<int>::allocate(memory, near, 100); }
    void put_rows() { static_cast<void>(inputs.put(std::move(array))); }
};
struct ending {
    ~ending() {}
};

} // namespace

TEST_CASE("a vector of a block that others view", "[death][spill]") {
    static constexpr const char* what = "a buffer whose block has other views is put into a store: release them first";
    dies_telling<fixture>(
        [](fixture& f) {
            value_vector<int> v = f.vector();
            const value_vector<int> other = v.slice(0, 1);
            f.inputs.put(std::move(v));
        },
        {what, "near"});
    dies_telling<fixture>(
        [](fixture& f) {
            value_vector<int> v = f.vector();
            const allot::buffer other = v.validity().slice();
            f.inputs.put(std::move(v));
        },
        {what, "near"});
}

TEST_CASE("a stored object is replaced by one of another account", "[death][spill]") {
    dies_telling<fixture>(
        [](fixture& f) {
            auto empty = f.inputs.put(value_vector<int>{}); // of the store's account
            account query{f.near, name{"query"}};
            *empty.pin_to_change() = value_vector<int>::allocate(f.memory, query, 100);
        },
        {"an object in a store was replaced by one that another account is charged for", "query"});
}

TEST_CASE("rows that cannot leave", "[death][spill]") {
    dies_telling<fixture>(
        [](fixture& f) {
            void* const row = f.rows.allocate(8);
            f.rows.link(row);
            f.array.push_back(row);
            f.put_rows();
        },
        {"a row with other links than its array's is put into a store", "sort"});
    dies_telling<fixture>(
        [](fixture& f) {
            f.array.push_back(f.rows.make<ending>());
            f.put_rows();
        },
        {"a row that is more than its bytes is put into a store: give its type encode and decode", "sort", "ending"});
    dies_telling<fixture>(
        [](fixture& f) {
            f.array.push_back(f.others.allocate(8));
            f.put_rows();
        },
        {"a row of an arena that this manager does not use", "sort"});
}

TEST_CASE("rows are taken into an array of another manager, or while others pin them", "[death][spill]") {
    dies_telling<fixture>(
        [](fixture& f) {
            auto run = f.inputs.put(std::move(f.array));
            allot::row_array<in_tree> other{f.others};
            std::move(run).take_into(other);
        },
        {"a row of an arena that this manager does not use", "sort"});
    dies_telling<fixture>(
        [](fixture& f) {
            auto run = f.inputs.put(std::move(f.array));
            const auto pin = run.pin();
            std::move(run).take_into(f.array);
        },
        {"a stored object ends, or is taken, while others pin it"});
}
