// Loads torch.cpp as PyTorch loads the library of a CUDAPluggableAllocator, and calls it as its C++ does: by address,
// with the size, device and stream of the allocation again when it frees. Exceptions of the library arrive here by
// their standard base classes.
//
//   torch_program LIBRARY                the one of torch.cpp
//   torch_program LIBRARY --some-device  any: what there is without a GPU, too
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/types.h>

namespace {

int failures = 0;
void check(bool good, const char* what) {
    if (good) return;
    ++failures;
    std::printf("failed: %s\n", what);
}

void* library = nullptr;
template <class Function> Function* function(const char* name) {
    void* const at = dlsym(library, name);
    if (at == nullptr) std::printf("%s\n", dlerror()), std::exit(2);
    return reinterpret_cast<Function*>(at);
}

void* (*allocate)(ssize_t, int, void*);
void (*deallocate)(void*, ssize_t, int, void*);
void* (*make_stream)(int);
int (*writes)(void*, void*, std::size_t);
std::size_t (*hazards)();
std::size_t (*live)(int);
void* (*per_thread_stream)();
void (*set_current)(int);
int (*current)();
void (*fail_set_current)();

// The text of the bad_alloc that a request ends with.
std::string refusal(ssize_t bytes, int device, void* stream) {
    try {
        void* const p = allocate(bytes, device, stream);
        return p == nullptr ? "returned null" : "was granted";
    } catch (const std::bad_alloc& e) {
        return e.what();
    } catch (...) {
        return "threw something else";
    }
}
bool says(const std::string& text, const char* part) {
    if (text.find(part) != text.npos) return true;
    std::printf("\"%s\" does not say \"%s\"\n", text.c_str(), part);
    return false;
}

void sizes(void* s) {
    check(allocate(0, 0, s) == nullptr, "0 bytes are null");
    deallocate(nullptr, 0, 0, s);
    struct block {
        void* p;
        ssize_t bytes;
    };
    std::vector<block> all;
    for (const ssize_t bytes : {1, 255, 256, 257, 511, 512, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 20 << 20}) {
        void* const p = allocate(bytes, 0, s);
        check(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % 256 == 0, "a block, aligned to 256");
        check(writes(s, p, static_cast<std::size_t>(bytes)) == 1, "it is written");
        all.push_back({p, bytes});
    }
    check(live(0) == all.size(), "all are live");
    for (const block& b : all) deallocate(b.p, b.bytes, 0, s);
    check(live(0) == 0, "none is live");
}

void failures_throw(void* s) {
    check(says(refusal(65 << 20, 0, s), "65 MiB"), "more than the limit of a device");
    check(says(refusal(-1, 0, s), "-1 byte refused by PyTorch's device memory: misused: a negative"), "negative bytes");
    check(says(refusal(PTRDIFF_MIN, 0, s), "-8 EiB refused"), "the least number of bytes");
    check(says(refusal(100, 3, s), "returned null"), "no allocator was made");
    for (const int device : {-1, 2, 63, 64, 1000})
        check(says(refusal(100, device, s), "device that does not exist"), "no such device");
    check(says(refusal(PTRDIFF_MAX, 0, s), "refused"), "the largest size");
    check(live(0) == 0, "nothing is live behind refusals");
}

void two_devices(void* s0, void* s1) {
    std::vector<void*> first, second;
    for (int i = 0; i != 15; ++i) { // 60 MiB of each: the limits are each device's own
        first.push_back(allocate(4 << 20, 0, s0));
        second.push_back(allocate(4 << 20, 1, s1));
        writes(s0, first.back(), 4 << 20);
        writes(s1, second.back(), 4 << 20);
    }
    check(live(0) == 15 && live(1) == 15, "each device has its own");
    check(says(refusal(8 << 20, 1, s1), "refused"), "the limit of the second");
    for (void* p : first) deallocate(p, 4 << 20, 0, s0);
    for (void* p : second) deallocate(p, 4 << 20, 1, s1);
    check(live(0) == 0 && live(1) == 0, "both are empty");
}

// Memory that a stream freed goes to another one in the order of their work.
void two_streams(void* a, void* b) {
    for (int i = 0; i != 100; ++i) {
        void* const p = allocate(30 << 20, 0, a);
        writes(a, p, 30 << 20);
        deallocate(p, 30 << 20, 0, a);
        void* const q = allocate(40 << 20, 0, b);
        writes(b, q, 40 << 20);
        deallocate(q, 40 << 20, 0, b);
    }
    check(hazards() == 0, "no use is out of order");
}

// Default streams of device 1, while device 0 is current, as when a tensor is deleted: they are those of the block's
// device, not of the current one.
void default_streams(void* stream, void* other) {
    for (int i = 0; i != 20; ++i) {
        set_current(1);
        void* const p = allocate(20 << 20, 1, stream);
        writes(stream, p, 20 << 20);
        set_current(0);
        deallocate(p, 20 << 20, 1, stream);
        void* const q = allocate(40 << 20, 1, i % 2 == 0 ? stream : other);
        check(q != nullptr && current() == 0, "the current device stays");
        set_current(1);
        writes(i % 2 == 0 ? stream : other, q, 40 << 20);
        set_current(i % 3 == 0);
        deallocate(q, 40 << 20, 1, i % 2 == 0 ? stream : other);
    }
    check(hazards() == 0, "no use is out of the order of a default stream");
    check(live(1) == 0, "none is live on device 1");
    set_current(0);
}

// A block that cannot be freed in order is not used again.
void device_fails() {
    set_current(0);
    fail_set_current();
    check(says(refusal(100, 1, nullptr), "cannot be made current"), "an allocation");
    void* const p = allocate(20 << 20, 1, nullptr);
    fail_set_current();
    deallocate(p, 20 << 20, 1, nullptr);
    check(live(1) == 1 && current() == 0, "it stays live");
    deallocate(p, 20 << 20, 1, nullptr);
    check(live(1) == 0, "and can be freed later");
}

void threads() {
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (int t = 0; t != 4; ++t)
        all.emplace_back([&, t] {
            const int device = t % 2;
            void* const s = make_stream(device);
            std::vector<void*> held(20);
            for (int i = 0; i != 2000; ++i) {
                void*& p = held[static_cast<std::size_t>(i * 7 % 20)];
                if (p != nullptr) deallocate(p, 1, device, s);
                p = allocate(1 + i * 997 % 500'000, device, s);
                if (p == nullptr) ++wrong;
            }
            for (void* p : held)
                if (p != nullptr) deallocate(p, 1, device, s);
        });
    for (std::thread& t : all) t.join();
    check(wrong == 0 && live(0) == 0 && live(1) == 0, "threads");
}

// A block, or an exception: never null.
void some_device() {
    check(says(refusal(-1, 0, nullptr), "negative"), "negative bytes");
    const std::string none = refusal(100, 63, nullptr);
    check(none.find("no device is found") != none.npos || says(none, "device that does not exist"), "no such device");
    try {
        void* const p = allocate(1 << 20, 0, nullptr);
        check(p != nullptr, "a block");
        deallocate(p, 1 << 20, 0, nullptr);
    } catch (const std::bad_alloc& e) {
        std::printf("no block: %s\n", e.what());
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool any = argc == 3 && std::string{argv[2]} == "--some-device";
    if (argc != 2 && !any) return std::printf("torch_program LIBRARY [--some-device]\n"), 2;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::printf("%s\n", dlerror()), 2;
    allocate = function<void*(ssize_t, int, void*)>("torch_allocate");
    deallocate = function<void(void*, ssize_t, int, void*)>("torch_deallocate");
    if (any) {
        some_device();
        std::printf("%s\n", failures == 0 ? "good" : "bad");
        return failures;
    }
    make_stream = function<void*(int)>("test_stream");
    writes = function<int(void*, void*, std::size_t)>("test_write");
    hazards = function<std::size_t()>("test_hazards");
    live = function<std::size_t(int)>("test_live_blocks");
    per_thread_stream = function<void*()>("test_per_thread_stream");
    set_current = function<void(int)>("test_set_current");
    current = function<int()>("test_current");
    fail_set_current = function<void()>("test_fail_set_current");
    void *const a = make_stream(0), *const b = make_stream(0), *const other = make_stream(1);
    sizes(a);
    failures_throw(a);
    two_devices(a, other);
    two_streams(a, b);
    for (void* stream : {static_cast<void*>(nullptr), per_thread_stream()}) default_streams(stream, other);
    device_fails();
    threads();
    check(hazards() == 0, "no hazard");
    std::printf("%s\n", failures == 0 ? "good" : "bad");
    return failures == 0 ? 0 : 1;
}
