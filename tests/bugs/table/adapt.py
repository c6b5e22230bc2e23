"""Bugs of faces of others: cuda::mr, Thrust."""

BUGS = {
    "face_hands_out_without_the_wait": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp", "if (p == nullptr || d.api().synchronize(stream)) return p;", "return p;"),
    "face_keeps_what_it_could_not_wait_for": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "        give_to(d, p, bytes, stream);\n        return nullptr;", "        return nullptr;"),
    "face_asks_for_no_bytes": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "return bytes == 0 ? nullptr : d.try_allocate(bytes, align, stream);", "return d.try_allocate(bytes, align, stream);"),
    "face_gives_null_back": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "    if (p == nullptr) return;\n    if constexpr (requires { d.deallocate(p, bytes, stream); })",
        "    if constexpr (requires { d.deallocate(p, bytes, stream); })"),
    "face_frees_on_another_stream": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp",
        "detail::give_to(*memory_, p, bytes, stream.get());", "detail::give_to(*memory_, p, bytes, without_stream_);"),
    "face_takes_for_one_stream_only": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "detail::take_for_all(", "detail::take_from("),
    "face_returns_null_when_full": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))", "if (false && bytes != 0)"),
    "face_equal_to_itself_alone": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "return a.memory_ == b.memory_;", "return &a == &b;"),
    "thrust_resources_are_all_equal": (
        "cuda/thrust.cpp", "adapt/thrust_mr.hpp", "return a.memory_ == b.memory_;", "return a.without_stream_ == b.without_stream_;"),
    "thrust_blocks_are_not_given_back": (
        "cuda/thrust.cpp", "adapt/thrust_mr.hpp",
        "detail::give_from_all(*memory_, thrust::raw_pointer_cast(p), bytes, without_stream_);",
        "static_cast<void>(p), static_cast<void>(bytes);"),
}
