// What every model of device::api does: the same suite for the simulated device and for a GPU. No test framework, so
// that it also runs on a bare machine: a wrong answer is printed with its line, and counted.
#pragma once

#include <allot/device/api.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace conform {

namespace device = allot::device;

template <class Api> class device_api {
    static_assert(device::api<Api>);

  public:
    /// `bytes_move` is false where no memory stands behind addresses.
    device_api(const Api& api, allot::device_id id, bool bytes_move = true)
        : api_{api}, id_{id}, bytes_move_{bytes_move} {}

    /// The number of wrong answers.
    int run() {
        about_devices();
        plain_memory();
        stream_ordered_memory();
        virtual_memory();
        virtual_memory_refuses();
        streams_and_events();
        default_streams();
        threads_have_streams();
        wrong_handles();
        a_capture_is_a_graph();
        a_capture_refuses();
        return wrong_;
    }

  private:
    using stream_type = typename Api::stream_type;
    static constexpr std::size_t some = 1 << 20;

    void check(bool right, const char* what, int line) {
        if (right) return;
        ++wrong_;
        std::printf("%s:%d: wrong: %s\n", __FILE__, line, what);
    }
    template <class T> T need(const device::result<T>& r, int line) {
        if (!r) {
            ++wrong_;
            char text[160];
            allot::text_writer out{text};
            write(out, r.error());
            std::printf("%s:%d: %s\n", __FILE__, line, text);
        }
        return r ? *r : T{};
    }
    void need(const device::result<>& r, int line) {
        if (!r) need(device::result<int>{r.error()}, line);
    }
#define ALLOT_RIGHT(...) check((__VA_ARGS__) ? true : false, #__VA_ARGS__, __LINE__)
#define ALLOT_NEED(...) need(__VA_ARGS__, __LINE__)

    // Whether `bytes` at p are `value`, as seen by stream s.
    void holds(const void* p, unsigned char value, std::size_t bytes, stream_type s, int line) {
        auto* const host = static_cast<unsigned char*>(need(api_.allocate_pinned(bytes), line));
        need(api_.copy_async(host, p, bytes, s), line);
        need(api_.synchronize(s), line);
        std::size_t different = 0;
        if (bytes_move_ && host != nullptr)
            for (std::size_t i = 0; i != bytes; ++i) different += host[i] != value;
        check(different == 0, "the bytes that were written are there", line);
        need(api_.deallocate_pinned(host), line);
    }

    void about_devices() {
        const int n = ALLOT_NEED(api_.device_count());
        ALLOT_RIGHT(id_.index < n);
        const auto p = ALLOT_NEED(api_.properties_of(id_));
        ALLOT_RIGHT(p.name[0] != '\0' && p.total_bytes > some && p.warp_size == 32);
        const auto m = ALLOT_NEED(api_.memory_of(id_));
        ALLOT_RIGHT(m.free_bytes <= m.total_bytes && m.total_bytes > some);
        ALLOT_RIGHT(api_.properties_of({n}).kind() == device::failure::invalid_device);
        ALLOT_RIGHT(api_.set_current({n}).kind() == device::failure::invalid_device);
        ALLOT_NEED(api_.set_current(id_));
        ALLOT_RIGHT(ALLOT_NEED(api_.current()) == id_);
        for (int peer = 0; peer != n; ++peer)
            if (peer != id_.index && ALLOT_NEED(api_.can_access_peer(id_, {peer}))) {
                ALLOT_NEED(api_.enable_peer(id_, {peer}));
                ALLOT_NEED(api_.enable_peer(id_, {peer}));
                copies_to(peer);
            }
    }
    void copies_to(int peer) {
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        void* const here = ALLOT_NEED(api_.allocate(id_, some));
        void* const there = ALLOT_NEED(api_.allocate({peer}, some));
        ALLOT_NEED(api_.fill_async(here, 3, some, s));
        ALLOT_NEED(api_.copy_peer_async(there, {peer}, here, id_, some, s));
        holds(there, 3, some, s, __LINE__);
        ALLOT_NEED(api_.deallocate({peer}, there));
        ALLOT_NEED(api_.deallocate(id_, here));
        ALLOT_NEED(api_.destroy_stream(s));
    }

    void plain_memory() {
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        void* const p = ALLOT_NEED(api_.allocate(id_, some));
        ALLOT_RIGHT(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
        ALLOT_NEED(api_.fill_async(p, 7, some, s));
        holds(p, 7, some, s, __LINE__);
        unsigned char pageable[1000];
        std::memset(pageable, 9, sizeof pageable);
        ALLOT_NEED(api_.copy_async(p, pageable, sizeof pageable, s));
        std::memset(pageable, 0, sizeof pageable); // it was read
        ALLOT_NEED(api_.copy_async(pageable, p, sizeof pageable, s));
        ALLOT_RIGHT(!bytes_move_ || (pageable[0] == 9 && pageable[999] == 9)); // it was written
        ALLOT_NEED(api_.deallocate(id_, p));
        ALLOT_NEED(api_.deallocate(id_, nullptr));
        ALLOT_RIGHT(ALLOT_NEED(api_.allocate(id_, 0)) == nullptr);
        ALLOT_RIGHT(api_.allocate(id_, std::size_t{1} << 60).kind() == device::failure::out_of_memory);
        ALLOT_NEED(api_.destroy_stream(s));
    }

    void stream_ordered_memory() {
        if (!ALLOT_NEED(api_.properties_of(id_)).memory_pools) return;
        const auto a = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        for (unsigned char round = 1; round != 20; ++round) {
            void* const p = ALLOT_NEED(api_.allocate_async(some, a));
            ALLOT_NEED(api_.fill_async(p, round, some, a));
            holds(p, round, some, a, __LINE__);
            ALLOT_NEED(api_.deallocate_async(p, a));
        }
        ALLOT_NEED(api_.synchronize(a));
        ALLOT_NEED(api_.destroy_stream(a));
    }

    void virtual_memory() {
        if (!ALLOT_NEED(api_.properties_of(id_)).virtual_memory) return;
        const std::size_t g = ALLOT_NEED(api_.granularity(id_));
        ALLOT_RIGHT(g != 0 && (g & (g - 1)) == 0 && g == ALLOT_NEED(api_.properties_of(id_)).granularity);
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        auto* const p = static_cast<std::byte*>(ALLOT_NEED(api_.reserve(id_, 8 * g, 0)));
        ALLOT_RIGHT(reinterpret_cast<std::uintptr_t>(p) % g == 0);
        const auto one = ALLOT_NEED(api_.create(id_, g));
        const auto two = ALLOT_NEED(api_.create(id_, 2 * g));
        ALLOT_NEED(api_.map(p, one, g));
        ALLOT_NEED(api_.map(p + g, two, 2 * g));
        ALLOT_NEED(api_.set_access(p, 3 * g, id_, device::access::read_write));
        ALLOT_NEED(api_.fill_async(p, 5, 3 * g, s)); // across both
        holds(p, 5, 3 * g, s, __LINE__);
        ALLOT_NEED(api_.map(p + 5 * g, one, g)); // the same memory once more
        ALLOT_NEED(api_.set_access(p + 5 * g, g, id_, device::access::read_write));
        ALLOT_NEED(api_.release(one)); // stays while it is mapped
        ALLOT_NEED(api_.fill_async(p + 5 * g, 6, g, s));
        holds(p, 6, g, s, __LINE__);
        ALLOT_NEED(api_.synchronize(s));
        ALLOT_NEED(api_.unmap(p, 3 * g)); // two mappings at once
        holds(p + 5 * g, 6, g, s, __LINE__);
        ALLOT_NEED(api_.map(p + 2 * g, two, 2 * g)); // at another place
        ALLOT_NEED(api_.set_access(p + 2 * g, 2 * g, id_, device::access::read_write));
        holds(p + 2 * g, 5, 2 * g, s, __LINE__);
        ALLOT_NEED(api_.unmap(p + 2 * g, 2 * g));
        ALLOT_NEED(api_.unmap(p + 5 * g, g));
        ALLOT_NEED(api_.release(two));
        ALLOT_NEED(api_.free_address(p, 8 * g));
        ALLOT_NEED(api_.destroy_stream(s));
    }
    void virtual_memory_refuses() {
        if (!ALLOT_NEED(api_.properties_of(id_)).virtual_memory) return;
        const std::size_t g = ALLOT_NEED(api_.granularity(id_));
        auto* const p = static_cast<std::byte*>(ALLOT_NEED(api_.reserve(id_, 4 * g, 0)));
        const auto handle = ALLOT_NEED(api_.create(id_, 2 * g));
        ALLOT_RIGHT(!api_.create(id_, g + 1));
        ALLOT_RIGHT(!api_.create(id_, std::size_t{1} << 60));
        ALLOT_RIGHT(!api_.set_access(p, g, id_, device::access::read_write)); // not mapped
        ALLOT_NEED(api_.map(p, handle, 2 * g));
        ALLOT_RIGHT(!api_.map(p, handle, 2 * g)); // twice
        ALLOT_RIGHT(!api_.unmap(p, g));           // half a mapping
        ALLOT_NEED(api_.unmap(p, 2 * g));
        ALLOT_RIGHT(!api_.unmap(p, 2 * g));
        ALLOT_NEED(api_.release(handle));
        ALLOT_NEED(api_.free_address(p, 4 * g));
    }

    void streams_and_events() {
        const auto a = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        const auto b = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::blocking));
        ALLOT_RIGHT(ALLOT_NEED(api_.stream_id(a)) != ALLOT_NEED(api_.stream_id(b)));
        ALLOT_RIGHT(ALLOT_NEED(api_.device_of(a)) == id_);
        const auto e = ALLOT_NEED(api_.create_event(id_));
        ALLOT_RIGHT(ALLOT_NEED(api_.query(e))); // never recorded
        ALLOT_NEED(api_.synchronize(e));
        ALLOT_NEED(api_.wait(b, e));
        void* const p = ALLOT_NEED(api_.allocate(id_, some));
        void* const q = ALLOT_NEED(api_.allocate(id_, some));
        for (unsigned char round = 1; round != 20; ++round) { // to and fro
            ALLOT_NEED(api_.fill_async(p, round, some, a));
            ALLOT_NEED(api_.record(e, a));
            ALLOT_NEED(api_.wait(b, e));
            ALLOT_NEED(api_.copy_async(q, p, some, b));
            ALLOT_NEED(api_.record(e, b));
            ALLOT_NEED(api_.wait(a, e));
        }
        ALLOT_NEED(api_.synchronize(e));
        ALLOT_RIGHT(ALLOT_NEED(api_.query(e)));
        holds(q, 19, some, a, __LINE__);
        ALLOT_NEED(api_.synchronize(a));
        auto done = api_.query(b);
        while (done && !*done) done = api_.query(b);
        ALLOT_RIGHT(done);
        ALLOT_NEED(api_.destroy_event(e));
        ALLOT_NEED(api_.deallocate(id_, p));
        ALLOT_NEED(api_.deallocate(id_, q));
        ALLOT_NEED(api_.destroy_stream(a));
        ALLOT_NEED(api_.destroy_stream(b));
        ALLOT_NEED(api_.synchronize(id_));
    }
    void default_streams() {
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::blocking));
        void* const p = ALLOT_NEED(api_.allocate(id_, some));
        for (unsigned char round = 1; round != 20; ++round) { // the legacy stream waits, and is waited for
            ALLOT_NEED(api_.fill_async(p, 0, some, s));
            ALLOT_NEED(api_.fill_async(p, round, some, Api::legacy_stream()));
            holds(p, round, some, s, __LINE__);
        }
        ALLOT_NEED(api_.fill_async(p, 77, some, Api::per_thread_stream()));
        holds(p, 77, some, Api::legacy_stream(), __LINE__);
        ALLOT_NEED(api_.deallocate(id_, p));
        ALLOT_NEED(api_.destroy_stream(s));
    }
    void threads_have_streams() {
        const auto mine = ALLOT_NEED(api_.stream_id(Api::per_thread_stream()));
        ALLOT_RIGHT(mine == ALLOT_NEED(api_.stream_id(Api::per_thread_stream())));
        ALLOT_RIGHT(mine != ALLOT_NEED(api_.stream_id(Api::legacy_stream())));
        std::uint64_t other = mine;
        std::thread{[&] {
            ALLOT_NEED(api_.set_current(id_));
            other = ALLOT_NEED(api_.stream_id(Api::per_thread_stream()));
        }}.join();
        ALLOT_RIGHT(mine != other);
    }
    void wrong_handles() {
        ALLOT_RIGHT(!api_.destroy_event(typename Api::event_type{}));
        ALLOT_RIGHT(!api_.release(typename Api::memory_type{}));
        ALLOT_RIGHT(!api_.create_stream({1000}, device::stream_kind::blocking));
        ALLOT_RIGHT(!api_.create_event({-1}));
    }

    void a_capture_is_a_graph() {
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        const auto fork = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        const auto out = ALLOT_NEED(api_.create_event(id_));
        const auto back = ALLOT_NEED(api_.create_event(id_));
        auto* const p = static_cast<std::byte*>(ALLOT_NEED(api_.allocate(id_, 2 * some)));
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(s)) == device::capture_state::none);
        ALLOT_NEED(api_.begin_capture(s, device::capture_mode::global));
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(s)) == device::capture_state::active);
        ALLOT_NEED(api_.fill_async(p, 21, some, s));
        ALLOT_NEED(api_.record(out, s));
        ALLOT_NEED(api_.wait(fork, out));
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(fork)) == device::capture_state::active);
        ALLOT_NEED(api_.copy_async(p + some, p, some, fork));
        ALLOT_NEED(api_.record(back, fork));
        ALLOT_NEED(api_.wait(s, back));
        const auto graph = ALLOT_NEED(api_.end_capture(s));
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(fork)) == device::capture_state::none);
        ALLOT_NEED(api_.fill_async(p, 1, 2 * some, s)); // nothing of the capture has run
        holds(p + some, 1, some, s, __LINE__);
        for (int i = 0; i != 2; ++i) {
            ALLOT_NEED(api_.fill_async(p, 1, 2 * some, s));
            ALLOT_NEED(api_.launch_graph(graph, s));
            holds(p + some, 21, some, s, __LINE__);
        }
        ALLOT_NEED(api_.destroy_graph(graph));
        ALLOT_NEED(api_.deallocate(id_, p));
        ALLOT_NEED(api_.destroy_event(out));
        ALLOT_NEED(api_.destroy_event(back));
        ALLOT_NEED(api_.destroy_stream(s));
        ALLOT_NEED(api_.destroy_stream(fork));
    }
    void a_capture_refuses() {
        const auto s = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        const auto other = ALLOT_NEED(api_.create_stream(id_, device::stream_kind::non_blocking));
        const auto e = ALLOT_NEED(api_.create_event(id_));
        const auto refused = device::failure::not_permitted_in_capture;
        ALLOT_RIGHT(!api_.begin_capture(Api::legacy_stream(), device::capture_mode::global));

        ALLOT_NEED(api_.begin_capture(s, device::capture_mode::global));
        ALLOT_RIGHT(api_.allocate(id_, some).kind() == refused);
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(s)) == device::capture_state::invalidated);
        ALLOT_RIGHT(api_.end_capture(s).kind() == refused);
        ALLOT_RIGHT(ALLOT_NEED(api_.capturing(s)) == device::capture_state::none);

        ALLOT_NEED(api_.begin_capture(s, device::capture_mode::global));
        const auto before = ALLOT_NEED(api_.exchange_capture_mode(device::capture_mode::relaxed));
        void* const p = ALLOT_NEED(api_.allocate(id_, some)); // the thread's mode lets it pass
        ALLOT_RIGHT(ALLOT_NEED(api_.exchange_capture_mode(before)) == device::capture_mode::relaxed);
        ALLOT_NEED(api_.fill_async(p, 1, some, s));
        ALLOT_RIGHT(api_.synchronize(s).kind() == refused);
        ALLOT_RIGHT(api_.end_capture(s).kind() == refused);

        ALLOT_NEED(api_.record(e, other));
        ALLOT_NEED(api_.begin_capture(s, device::capture_mode::relaxed));
        ALLOT_RIGHT(api_.wait(s, e).kind() == refused); // work outside the capture
        ALLOT_RIGHT(api_.end_capture(s).kind() == refused);

        ALLOT_NEED(api_.begin_capture(s, device::capture_mode::relaxed));
        ALLOT_NEED(api_.record(e, s));
        ALLOT_NEED(api_.wait(other, e));
        ALLOT_NEED(api_.fill_async(p, 2, some, other));
        ALLOT_RIGHT(api_.end_capture(s).kind() == refused); // `other` was not joined
        ALLOT_NEED(api_.deallocate(id_, p));
        ALLOT_NEED(api_.destroy_event(e));
        ALLOT_NEED(api_.destroy_stream(s));
        ALLOT_NEED(api_.destroy_stream(other));
    }
#undef ALLOT_RIGHT
#undef ALLOT_NEED

    Api api_;
    allot::device_id id_;
    bool bytes_move_;
    int wrong_ = 0;
};

} // namespace conform
