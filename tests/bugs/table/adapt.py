"""Bugs of faces of others: cuda::mr, Thrust."""
from .bug import bug

BUGS = {
    "face_hands_out_without_the_wait": bug(
        "cuda/memory_resource.cpp",
        "if (p == nullptr || d.api().synchronize(stream)) return p;",
        "return p;"),
    "thrust_blocks_are_not_given_back": bug(
        "cuda/thrust.cpp",
        "detail::deallocate_any_stream(*memory_, thrust::raw_pointer_cast(p), bytes, fallback_stream_);",
        "static_cast<void>(p), static_cast<void>(bytes);"),
}
