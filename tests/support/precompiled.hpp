// What the larger test programs are precompiled with: Catch2 and what of the standard library most of their files
// include.
#pragma once

#include <support/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>
