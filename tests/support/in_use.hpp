// Bytes charged to an object that are not idle: without the free pages that its arena keeps.
#pragma once

#include <cstddef>

namespace support {

template <class Object> std::size_t in_use(const Object& object) { return object.used() - object.stats().idle; }

} // namespace support
