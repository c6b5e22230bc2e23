// Counts what the whole program takes by operator new: counted_new.cpp replaces it.
#pragma once

#include <atomic>
#include <cstddef>

inline std::atomic<std::size_t> news{0};    // since the program's start
inline std::atomic<std::ptrdiff_t> held{0}; // and not given back
