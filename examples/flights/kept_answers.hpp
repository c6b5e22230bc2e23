// Answers as bytes, so that they can be kept.
#pragma once
#include "answer.hpp"
#include <cstddef>
#include <span>
#include <vector>

namespace flights {

/// As MessagePack, without the seconds.
std::vector<std::byte> pack(const answer& from);
/// Requires: the bytes are from pack().
answer unpack(std::span<const std::byte> from);

} // namespace flights
