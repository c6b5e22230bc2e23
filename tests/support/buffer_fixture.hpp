// Accounts and a memory that counts its blocks and fails on demand, for tests of buffers.
#pragma once

#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <string>
#include <utility>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using namespace allot::literals;

namespace {

// Blocks of 256 bytes; counts, and fails on demand.
struct counting_memory {
    allot::heap_memory heap;
    std::size_t live = 0, blocks = 0;
    unsigned fail_from = ~0u, asked = 0;
    allot::memory_block try_allocate(std::size_t n, std::size_t align) noexcept {
        if (asked++ >= fail_from) return {};
        const allot::memory_block b = heap.try_allocate(allot::detail::align_up(n, 256), align);
        live += b.bytes, ++blocks;
        return b;
    }
    void deallocate(void* p, std::size_t n) noexcept {
        live -= n, --blocks;
        heap.deallocate(p);
    }
};
// The same, told before.
struct telling_memory : counting_memory {
    static std::size_t capacity_for(std::size_t n) noexcept { return allot::detail::align_up(n, 256); }
};

struct scribe : allot::account_listener {
    std::string heard;
    void transferred(const account& from, const account& to, std::size_t n, const charge_status&) noexcept override {
        heard += std::string{from.name()} + " to " + to.name() + " " + std::to_string(n) + "; ";
    }
    void after(const account& a, std::size_t n, const charge_status&) noexcept override {
        heard += std::string{"charge "} + a.name() + " " + std::to_string(n) + "; ";
    }
    void released(const account& a, std::size_t n) noexcept override {
        heard += std::string{"refund "} + a.name() + " " + std::to_string(n) + "; ";
    }
    std::string take() { return std::exchange(heard, {}); }
};

struct fixture {
    counting_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{10'000}};
    account query{root, name{"query"}};
    account a{query, name{"a"}}, b{query, name{"b"}}, c{query, name{"c"}}, away{root, name{"away"}};
    ~fixture() {
        CHECK(pool.live == 0);
        CHECK(root.used() == 0);
        CHECK(root.verify());
        for (const account* x : {&a, &b, &c, &away}) CHECK(x->stats().buffers == 0);
    }
};

} // namespace
