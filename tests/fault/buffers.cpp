// The host has no memory for what is kept about a block of buffers: nothing changes, and the status says that it was no
// account.
// Compiled alone: it replaces operator new.
#include <support/catch.hpp>

#include <allot/buffers.hpp>

#include <cstddef>
#include <new>
#include <thread>
#include <utility>

using allot::account;
using allot::buffer;
using allot::charge_outcome;
using allot::charge_status;
using allot::name;

namespace {

thread_local bool host_is_full = false;

struct none_left {
    none_left() { host_is_full = true; }
    ~none_left() { host_is_full = false; }
};
bool says_the_host(const charge_status& s, std::size_t bytes) {
    return !s && s.outcome == charge_outcome::no_memory && s.at == nullptr && s.requested == bytes;
}
// With nothing at hand of what is kept about a block.
template <class Body> void on_a_fresh_thread(Body body) { std::thread{body}.join(); }

} // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return host_is_full ? nullptr : ::operator new(bytes);
}

TEST_CASE("foreign memory that the host cannot keep a record of stays its owner's", "[fault][buffer]") {
    on_a_fresh_thread([] {
        static std::byte bytes[300];
        static unsigned released = 0;
        const auto back = [](void*, std::byte*, std::size_t) noexcept { ++released; };
        account root{name{"root"}};
        charge_status why;
        {
            const none_left full;
            CHECK_ON_THREAD(!buffer::of_foreign(root, bytes, 300, back, nullptr, true, &why));
        }
        CHECK_ON_THREAD(says_the_host(why, 300));
        CHECK_ON_THREAD(released == 0);
        CHECK_ON_THREAD(root.used() == 0);
        CHECK_ON_THREAD(root.stats().buffers == 0);
    });
}

TEST_CASE("an account that the host has no memory for gets no view, and nothing changes", "[fault][buffer]") {
    on_a_fresh_thread([] {
        allot::heap_memory heap;
        const allot::buffer_memory memory{heap};
        account root{name{"root"}};
        account scan{root, name{"scan"}}, join{root, name{"join"}}, sort{root, name{"sort"}};
        buffer view = memory.allocate(scan, 64), theirs = view.retain(join);
        auto v = allot::value_vector<int>::allocate(memory, scan, 4);
        v.set(3, 7);
        const std::size_t all = scan.used(), whole = v.values().block_bytes();
        {
            const none_left full;
            CHECK_ON_THREAD(!view.retain(sort));
            const auto kept = view.transfer(sort), gone = std::move(view).transfer(sort);
            CHECK_ON_THREAD(!kept.view);
            CHECK_ON_THREAD(!gone.view);
            CHECK_ON_THREAD(says_the_host(kept.status, 64));
            CHECK_ON_THREAD(says_the_host(gone.status, 64));
            buffer more = v.values().slice(); // so that the vector's is not the only view
            const auto r = std::move(v).transfer(sort);
            CHECK_ON_THREAD(r.view.holder() == nullptr);
            CHECK_ON_THREAD(says_the_host(r.status, whole));
        }
        CHECK_ON_THREAD(view.charged() == &scan);
        CHECK_ON_THREAD(view.valid());
        CHECK_ON_THREAD(v[3] == 7);
        CHECK_ON_THREAD(scan.used() == all);
        CHECK_ON_THREAD(sort.stats().buffers == 0);
        sort.close();
        CHECK_ON_THREAD(view.transfer(sort).status.outcome == charge_outcome::closed);
        CHECK_ON_THREAD(view.transfer(sort).status.at == &sort);
    });
}
