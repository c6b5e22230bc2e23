// The category `heap`: who uses a heap. Tags; row/ makes the heaps and handles.
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
        "bool exclusive: one owner, rows of one type; bool by_thread: each thread has a handle, found by the library; "
        "std::size_t users: the handles per heap, 0 for any number";
    static constexpr std::string_view fallback_rule = "per_thread";
    static constexpr std::string_view room = "row";
    using fallback = allot::heap::per_thread;

    template <class P>
    static constexpr bool takes = detail::answers<P, heap> && requires {
        { P::exclusive } -> detail::constant<bool>;
        { P::by_thread } -> detail::constant<bool>;
        { P::users } -> detail::constant<std::size_t>;
    };
};

} // namespace category

namespace heap {

/// Heaps used by all threads, with rows of any type.
struct shared {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = 0;
    static constexpr std::string_view about = "all threads, through caches that they borrow, with rows of any type";
    static constexpr std::string_view cost = "the row type's number in every row; a locked operation per call";
};

/// A heap of one owner and one row type.
struct unique {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = true;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = 1;
    static constexpr std::string_view about = "one owner, with rows of one type; it may release all of them at once";
    static constexpr std::string_view cost = "at least one page per heap; the row type once per heaplet";
};

/// As shared, with a handle per thread.
struct per_thread {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = true;
    static constexpr std::size_t users = 0;
    static constexpr std::string_view about =
        "all threads, each through its own caches, which the library finds and empties when memory is short";
    static constexpr std::string_view cost = "the row type's number in every row; a thread-local load and a compare "
                                             "per call; up to 128 free rows per thread "
                                             "and size class";
};

/// A handle made by heap(...) joins an open heap of its size and kind; when that has `Users` live handles, it opens
/// another heap. So at most `Users` handles contend for one heap. Requests of any size are shared as with heap::shared.
/// Source: HPCC roxiemem's limitedcount, 2025.
template <std::size_t Users> struct shared_by {
    using category = category::heap;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool exclusive = false;
    static constexpr bool by_thread = false;
    static constexpr std::size_t users = Users;
    static constexpr bool options_valid = Users >= 1 && Users <= 65536;
    static constexpr std::string_view about =
        "at most this many handles per heap, with rows of any type; the next handle opens another heap";
    static constexpr std::string_view cost = "the row type's number in every row; part of one more page per heap";
};

static_assert(category::heap::takes<shared>);
static_assert(category::heap::takes<shared_by<>>);
static_assert(category::heap::takes<unique>);
static_assert(category::heap::takes<per_thread>);

} // namespace heap

} // namespace allot::inline ALLOT_ABI
