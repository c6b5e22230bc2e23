// What a library of these tests offers, loaded with dlopen by a program that has allot, too.
#pragma once

#include <allot/row_manager.hpp>

#include <cstddef>

// A set that program and libraries name alike.
struct common_set : allot::policies<allot::heap::per_thread, allot::oom::null> {};

// Managers of two sets, one that all know and one of the library's own, between start() and end().
struct library_api {
    void (*start)();
    bool (*end)(); // false: something was left
    allot::row_manager<common_set>* (*common)();
    void* (*take_common)(std::size_t bytes);
    void* (*take_own)(std::size_t bytes);
    void (*give)(void* row); // by its address alone
    void (*give_to_common)(void* row, allot::row_manager<common_set>& rows);
    bool (*churn)(std::size_t rows); // by the calling thread, in both managers
};
extern "C" {
using library_entry = const library_api*();
}
