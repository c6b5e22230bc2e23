// Two translation units, each with the single header: rows of one are released by the other, and rooms that the
// umbrella headers do not include are there.
#include "second.hpp"

int main() {
    shared_rows rows{allot::limit{std::size_t{8} << 20}, allot::name{"shared"}};
    void* row = make_row(rows);
    rows.link(row);
    allot::release(row);
    const bool held = rows.live_rows() == 1;
    allot::release(row);

    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{1 << 20}, tasks};
    const bool refused = !engine.try_charge(2 << 20).charged();
    const bool good = held && rows.live_rows() == 0 && refused && pmr_bytes(rows) >= 4000;
    std::puts(good ? "one allot in both units" : "the units disagree");
    return good ? 0 : 1;
}
