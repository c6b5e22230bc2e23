// What must not be done to a device allocator's blocks ends a checked build, which names the misuse, the set and the
// allocator; what is no misuse does not.
#include <support/death.hpp>
#include <support/device_sets.hpp>

using namespace allot::literals;

namespace {

struct fixture {
    allot::device::simulator sim{
        {.execution = allot::device::execution::none, .sink = allot::device::hazard_sink::quiet()}};
    allot::device::simulated api{sim};
    allot::device::simulated::stream_type s = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    allot::device_allocator<task_memory> gpu{api, unheard, allot::limit{64_MiB}, allot::name{"orders"}};
};
template <class Body> death of(Body body) {
    return death_of([&] {
        fixture f;
        body(f);
    });
}
template <class Body> void dies(Body body, const char* misuse) {
    const death end = of(body);
    INFO(end.said);
    CHECK(end.aborted());
    CHECK_THAT(end.said, ContainsSubstring("allot: misuse: " + std::string{misuse}));
    CHECK_THAT(end.said, ContainsSubstring("(set task_memory, heap orders)"));
}
std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }

} // namespace

TEST_CASE("device allocator: a block freed twice is reported", "[death]") {
    dies(
        [](fixture& f) {
            void* const p = f.gpu.allocate(1000, f.s);
            f.gpu.deallocate(p, f.s);
            f.gpu.deallocate(p, f.s);
        },
        "released twice");
    dies(
        [](fixture& f) { // also where it has become part of a larger run meanwhile
            void* const p = f.gpu.allocate(1000, f.s);
            void* const q = f.gpu.allocate(1000, f.s);
            f.gpu.deallocate(p, f.s);
            f.gpu.deallocate(q, f.s);
            f.gpu.deallocate(q, f.s);
        },
        "released twice");
    dies(
        [](fixture& f) { // and in a capture
            void* const p = f.gpu.allocate(1000, f.s);
            (void)f.api.begin_capture(f.s, allot::device::capture_mode::relaxed);
            f.gpu.deallocate(p, f.s);
            f.gpu.deallocate(p, f.s);
        },
        "released twice");
}

TEST_CASE("device allocator: an address inside a block is reported", "[death]") {
    dies([](fixture& f) { f.gpu.deallocate(bytes(f.gpu.allocate(1000, f.s)) + 256, f.s); },
         "a pointer into the inside of a row or block");
    dies([](fixture& f) { f.gpu.deallocate(bytes(f.gpu.allocate(1000, f.s)) + 1, f.s); },
         "a pointer into the inside of a row or block");
    dies([](fixture& f) { f.gpu.deallocate(bytes(f.gpu.allocate(20_MiB, f.s)) + 20_MiB - 1, f.s); },
         "a pointer into the inside of a row or block");
}

TEST_CASE("device allocator: a pointer of somebody else is reported", "[death]") {
    dies(
        [](fixture& f) {
            int here = 0;
            f.gpu.deallocate(&here, f.s);
        },
        "a pointer that is not of this object's memory");
    dies([](fixture& f) { f.gpu.deallocate(*f.api.allocate({0}, 1000), f.s); },
         "a pointer that is not of this object's memory");
    dies([](fixture& f) { f.gpu.deallocate(bytes(f.gpu.allocate(2_MiB, f.s)) + 2_MiB, f.s); },
         "a pointer that is not of this object's memory");
    dies(
        [](fixture& f) { // of another allocator of the same device
            allot::device_allocator<task_memory> other{f.api, unheard, allot::limit{64_MiB}, allot::name{"lines"}};
            f.gpu.deallocate(other.allocate(1000, f.s), f.s);
        },
        "a pointer that is not of this object's memory");
    dies(
        [](fixture& f) { // and after its piece went back to the device
            void* const p = f.gpu.allocate(1000, f.s);
            f.gpu.deallocate(p, f.s);
            if (f.gpu.trim() != 0) f.gpu.deallocate(p, f.s);
        },
        "a pointer that is not of this object's memory");
}

TEST_CASE("device allocator: an alignment that is no power of two is reported", "[death]") {
    dies([](fixture& f) { f.gpu.allocate(1000, 96, f.s); }, "an alignment that is not a power of two");
    dies([](fixture& f) { f.gpu.try_allocate(1000, 0, f.s); }, "an alignment that is not a power of two");
}

TEST_CASE("device allocator: null, no bytes and refused requests are no misuse", "[death]") {
    const death end = of([](fixture& f) {
        f.gpu.deallocate(nullptr, f.s);
        f.gpu.deallocate(f.gpu.allocate(0, f.s), f.s);
        f.gpu.deallocate(f.gpu.try_allocate(65_MiB, f.s), f.s);
        f.gpu.deallocate(f.gpu.allocate(1, 1_MiB, f.s), f.s);
        (void)f.api.destroy_stream(f.s);
    });
    CHECK(end.survived());
    CHECK(end.said.empty());
}
