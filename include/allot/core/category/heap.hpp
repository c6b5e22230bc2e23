// The category `heap`: who uses a heap. Tags: the row room makes the heaps and handles that they ask for.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace heap {

struct shared;
struct unique;
struct per_thread;
template <std::size_t Users = 8> struct shared_by;

} // namespace heap

namespace category {

struct heap {
    static constexpr std::string_view name = "heap";
    static constexpr std::string_view question = "who uses a heap";
    static constexpr std::string_view contract =
        "bool exclusive: one owner, rows of one type; bool by_thread: threads find handles of their own; std::size_t "
        "users: handles that a heap serves, 0 for any number";
    static constexpr std::string_view fallback_rule = "shared";
    static constexpr std::string_view room = "row";
    using fallback = allot::heap::shared;

    template <class P>
    static constexpr bool takes = detail::answers<P, heap> && requires {
        { P::exclusive } -> detail::constant<bool>;
        { P::by_thread } -> detail::constant<bool>;
        { P::users } -> detail::constant<std::size_t>;
    };
};

} // namespace category

namespace heap {

struct shared {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = 0;
    static constexpr std::string_view about = "everybody, on any thread, with rows of any type";
    static constexpr std::string_view cost = "the row type's number in every row";
};

struct unique {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = true;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = 1;
    static constexpr std::string_view about = "one owner with rows of one type, who may release them all at once";
    static constexpr std::string_view cost = "a page of its own at least; the row type once a heaplet";
};

struct per_thread {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = true;
    static constexpr std::size_t users = 0;
    static constexpr std::string_view about = "everybody, each thread through a handle that it finds by itself";
    static constexpr std::string_view cost = "a look-up in the thread's table; some free rows with each thread";
};

/// Handles made by heap(...) come to an open heap of their size and kind; when `Users` of them live there, the next one
/// opens another. So at most so many handles (and who shares them) contend for one heap. Requests of any size are
/// shared by all as ever. Source: HPCC roxiemem's limitedcount, 2025.
template <std::size_t Users> struct shared_by {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = Users;
    static constexpr bool options_valid = Users >= 1 && Users <= 65536;
    static constexpr std::string_view about =
        "so many handles a heap, with rows of any type; the next one opens another";
    static constexpr std::string_view cost =
        "the row type's number in every row; part of a page more for each heap opened";
};

static_assert(category::heap::takes<shared>);
static_assert(category::heap::takes<shared_by<>>);
static_assert(category::heap::takes<unique>);
static_assert(category::heap::takes<per_thread>);

} // namespace heap

} // namespace allot::inline ALLOT_ABI
