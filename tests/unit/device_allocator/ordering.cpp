// Who may use freed memory when: the same stream at once, others after a wait, with an event only where there is none
// yet.
#include <support/device_sets.hpp>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;

namespace {

// As CUDA is where each thread has a default stream: a null handle is the per-thread stream.
struct null_is_per_thread : allot::device::simulated {
    using simulated::simulated;
    static stream_type of(stream_type s) { return s == stream_type{} ? per_thread_stream() : s; }
    auto stream_id(stream_type s) const noexcept { return simulated::stream_id(of(s)); }
    auto device_of(stream_type s) const noexcept { return simulated::device_of(of(s)); }
    auto capturing(stream_type s) const noexcept { return simulated::capturing(of(s)); }
    auto record(event_type e, stream_type s) const noexcept { return simulated::record(e, of(s)); }
    auto wait(stream_type s, event_type e) const noexcept { return simulated::wait(of(s), e); }
    void mark_allocated(void* p, std::size_t bytes, stream_type s) const noexcept {
        simulated::mark_allocated(p, bytes, of(s));
    }
    void mark_freed(void* p, std::size_t bytes, stream_type s) const noexcept {
        simulated::mark_freed(p, bytes, of(s));
    }
};
struct with_null_per_thread : allot::policies<allot::page::on_device<null_is_per_thread>, allot::oom::null> {};

// Something happens just before the host waits for an event.
struct interrupted : allot::device::simulated {
    using simulated::simulated;
    using simulated::synchronize;
    static inline std::function<void()> first;
    static inline int refused = 0;
    allot::device::result<> synchronize(event_type e) const noexcept {
        if (const auto now = std::exchange(first, nullptr)) now();
        const auto done = simulated::synchronize(e);
        refused += !done;
        return done;
    }
};
struct with_interruptions : allot::policies<allot::page::on_device<interrupted>, allot::oom::null> {};

} // namespace

TEST_CASE("device allocator: a stream uses what it freed at once, without a call that orders") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1000, m.a);
    gpu.deallocate(p, m.a);
    for (int i = 0; i != 100; ++i) {
        CHECK(m.used(gpu, 1000, m.a) == p);
        gpu.deallocate(p, m.a);
    }
    CHECK(m.events() == 0);
    CHECK(m.waits() == 0);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: another stream takes what is free for all before it waits for anybody") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 1_MiB, m.b) != p);
    CHECK(m.waits() == 0);
    CHECK(m.sim.hazards() == 0);
}

namespace {

// Of its streams, make_busy() says which have work to do for ever.
struct busy_machine : allocator_machine {
    allot::device_allocator<partly_busy_memory> gpu;
    stream c = make_stream();

    explicit busy_machine(allot::limit most, allot::device::simulator_options options = {})
        : allocator_machine{options}, gpu{partly_busy{sim}, unheard, most} {}
    ~busy_machine() { make_busy({}); }
    busy_machine(const busy_machine&) = delete;
    busy_machine& operator=(const busy_machine&) = delete;
    static void make_busy(std::vector<stream> all) {
        partly_busy::busy = std::move(all);
        partly_busy::behind.clear();
    }
};

} // namespace

TEST_CASE("device allocator: it takes from a stream that is done before it waits for a busy one") {
    for (const bool busy_first : {false, true})
        for (const bool recorded : {false, true}) { // an event behind what the busy stream freed
            busy_machine m{allot::limit{4_MiB}};
            const auto busy = busy_first ? m.a : m.b, done = busy_first ? m.b : m.a;
            void* const p = m.used(m.gpu, 1_MiB, m.a);
            void* const q = m.used(m.gpu, 1_MiB, m.b);
            void* const more = m.used(m.gpu, 1_MiB, busy);
            void* const rest = m.used(m.gpu, 1_MiB, m.c);
            m.make_busy({busy});
            m.gpu.deallocate(busy_first ? p : q, busy);
            if (recorded) {
                m.gpu.deallocate(more, busy);
                CHECK(m.used(m.gpu, 1_MiB, m.make_stream()) != nullptr);
            }
            m.gpu.deallocate(busy_first ? q : p, done);
            const auto waits = m.waits(), events = m.events();
            CHECK(m.used(m.gpu, 1_MiB, m.c) == (busy_first ? q : p));
            CHECK(m.waits() == waits);
            CHECK(m.events() == events);
            CHECK(m.sim.hazards() == 0);
            CHECK(rest != nullptr);
        }
}

TEST_CASE("device allocator: of a busy stream it takes first what it need not wait for") {
    busy_machine m{allot::limit{2_MiB}};
    void* const late = m.used(m.gpu, 512_KiB, m.a);
    void* const live = m.used(m.gpu, 512_KiB, m.a); // so that the two are not joined
    void* const early = m.used(m.gpu, 1_MiB, m.a);
    m.gpu.deallocate(early, m.a);
    CHECK(m.used(m.gpu, 512_KiB, m.b) == early); // b comes after a's first free
    m.make_busy({m.a});
    m.gpu.deallocate(late, m.a);
    CHECK(m.used(m.gpu, 512_KiB, m.b) == static_cast<char*>(early) + 512_KiB);
    CHECK(m.waits() == 0);
    CHECK(m.sim.hazards() == 0);
    CHECK(live != nullptr);
}

TEST_CASE("device allocator: a request asks at most 16 streams whether they are done, the next one the others") {
    busy_machine m{allot::limit{40_MiB}};
    std::vector<allocator_machine::stream> all;
    std::vector<void*> blocks;
    for (int i = 0; i != 40; ++i) {
        all.push_back(m.make_stream());
        blocks.push_back(m.used(m.gpu, 1_MiB, all.back()));
    }
    const void* const done = blocks.back();
    m.make_busy({all.begin(), all.end() - 1});
    for (std::size_t i = 0; i != 40; ++i) m.gpu.deallocate(blocks[i], all[i]);
    bool found = false;
    for (int i = 0; i != 3; ++i) {
        const auto before = m.sim.count(allocator_machine::call::capturing);
        found = m.used(m.gpu, 1_MiB, m.c) == done || found;
        CHECK(m.sim.count(allocator_machine::call::capturing) - before <= 16 + 2); // and the request's, and a record's
    }
    CHECK(found);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: the host waits for no busy stream where what is done is enough") {
    busy_machine m{allot::limit{12_MiB}};
    void* const p = m.used(m.gpu, 2_MiB, m.a);
    void* const live = m.used(m.gpu, 4_MiB, m.b);
    void* const q = m.used(m.gpu, 2_MiB, m.a);
    void* const between = m.used(m.gpu, 2_MiB, m.b); // so that nothing is joined
    void* const other = m.used(m.gpu, 2_MiB, m.b);
    m.make_busy({m.b});
    m.gpu.deallocate(p, m.a);
    m.gpu.deallocate(q, m.a);
    m.gpu.deallocate(other, m.b);
    CHECK(m.used(m.gpu, 4_MiB, m.c) != nullptr); // in place of p and q
    using call = allocator_machine::call;
    CHECK(m.sim.count(call::synchronize_event) + m.sim.count(call::synchronize_device) + m.waits() == 0);
    CHECK(m.sim.hazards() == 0);
    CHECK((live != nullptr && between != nullptr));
}

TEST_CASE("device allocator: one event and one wait stand for all frees before them") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 8; ++i) all.push_back(m.used(gpu, 256_KiB, m.a));
    for (int i = 0; i != 8; i += 2) gpu.deallocate(all[static_cast<std::size_t>(i)], m.a);
    for (int i = 0; i != 4; ++i) (void)m.used(gpu, 256_KiB, m.b);
    CHECK(m.events() == 1);
    CHECK(m.waits() == 1);
    SECTION("a third stream waits for the event that is there") {
        gpu.deallocate(all[1], m.a);
        (void)m.used(gpu, 64_KiB, m.b);
        CHECK(m.events() == 2);
        const auto c = m.make_stream();
        (void)m.used(gpu, 64_KiB, c);
        CHECK(m.events() == 2);
        CHECK(m.waits() == 3);
    }
    CHECK(m.sim.hazards() == 0);
    const auto f = gpu.stats();
    CHECK(f.events == m.events());
    CHECK(f.waits == m.waits());
}

TEST_CASE("device allocator: what follows a steal knows of it") {
    // b takes from a and frees; c takes it from b, and comes after a as well.
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    const auto c = m.make_stream();
    gpu.deallocate(m.used(gpu, 2_MiB, m.a), m.a);
    gpu.deallocate(m.used(gpu, 2_MiB, m.b), m.b);
    gpu.deallocate(m.used(gpu, 2_MiB, c), c);
    gpu.deallocate(m.used(gpu, 2_MiB, m.a), m.a);
    CHECK(m.sim.hazards() == 0);
    CHECK(m.events() == 3);
}

TEST_CASE("device allocator: all that is free is joined for one stream when that is what fits") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    void* const q = m.used(gpu, 1_MiB, m.b);
    gpu.deallocate(p, m.a);
    gpu.deallocate(q, m.b);
    const auto c = m.make_stream();
    CHECK(m.used(gpu, 2_MiB, c) != nullptr);
    CHECK(m.waits() == 2);
    CHECK(gpu.stats().joined == 1);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a stream that left can be waited for, and its place serves another") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.a);
    gpu.deallocate(p, m.a);
    gpu.leave(m.a);
    CHECK(m.events() == 1);
    REQUIRE(m.api.destroy_stream(m.a));
    CHECK(m.used(gpu, 2_MiB, m.b) == p);
    CHECK(m.events() == 1);
    gpu.deallocate(p, m.b);
    CHECK(gpu.stats().streams == 1);
    // c has the place of a: what b waited for then says nothing of c, and what a waited for nothing to c
    const auto c = m.make_stream();
    CHECK(m.used(gpu, 2_MiB, c) == p);
    gpu.deallocate(p, c);
    CHECK(m.used(gpu, 2_MiB, m.b) == p);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a stream in another's place does not inherit what that had waited for") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.b);
    gpu.deallocate(p, m.b);
    CHECK(m.used(gpu, 1_MiB, m.a) == p); // a waits for b's first free
    gpu.leave(m.a);                      // and has freed nothing
    REQUIRE(m.api.destroy_stream(m.a));
    const auto c = m.make_stream();
    (void)m.used(gpu, 1_MiB, c); // from b, in a's place
    CHECK(m.waits() == 2);
    CHECK(m.sim.hazards() == 0);
    gpu.deallocate(p, c);
}

TEST_CASE("device allocator: what a stream freed that was destroyed untold waits for the whole device") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    void* const q = m.used(gpu, 1_MiB, m.b);
    gpu.deallocate(p, m.a);
    REQUIRE(m.api.destroy_stream(m.a));
    gpu.deallocate(q, m.b);
    const auto c = m.make_stream();
    CHECK(m.used(gpu, 2_MiB, c) == p); // gathering what can be waited for is not enough
    CHECK(m.sim.count(allocator_machine::call::synchronize_device) == 1);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a block may be freed on another stream than it was allocated for") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.a);
    m.order(m.a, m.b);
    m.writes(m.b, p, 2_MiB);
    gpu.deallocate(p, m.b);
    CHECK(m.used(gpu, 2_MiB, m.b) == p);
    gpu.deallocate(p, m.b);
    CHECK(m.used(gpu, 2_MiB, m.a) == p);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a free on another stream that does not come after the block is found by the simulator") {
    for (const bool is_used : {false, true}) { // the allocation alone counts as a use: its stream may have waited
        allocator_machine m;
        m.seem_busy();
        allocator gpu{m.api, unheard, allot::limit{2_MiB}};
        const auto c = m.make_stream();
        gpu.deallocate(m.used(gpu, 2_MiB, c), c);
        void* const p = gpu.try_allocate(2_MiB, m.a); // after a wait for c
        REQUIRE(p != nullptr);
        if (is_used) m.writes(m.a, p, 2_MiB);
        const bool ordered = m.sim.hazards() == 0;
        CHECK(ordered);
        gpu.deallocate(p, m.b);
        CHECK(m.only(allot::device::hazard_kind::not_ordered));
    }
}

TEST_CASE("device allocator: per-thread streams are one each, and the legacy stream is its own") {
    allocator_machine m;
    const auto mine = allot::device::simulated::per_thread_stream();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    std::thread other{[&] {
        for (int i = 0; i != 100; ++i) {
            void* const p = gpu.try_allocate(2_MiB, mine);
            (void)m.sim.launch(mine, {}, {{p, 2_MiB}});
            gpu.deallocate(p, mine);
        }
    }};
    other.join();
    CHECK(m.events() == 3); // every 32 frees: nobody else can record on that stream
    void* const p = gpu.try_allocate(2_MiB, mine);
    REQUIRE(p != nullptr);
    m.writes(mine, p, 2_MiB);
    gpu.deallocate(p, mine);
    const auto legacy = allot::device::simulated::legacy_stream();
    gpu.deallocate(m.used(gpu, 2_MiB, legacy), legacy);
    gpu.deallocate(m.used(gpu, 2_MiB, m.a), m.a);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a null handle that is the per-thread stream is kept up with, the legacy stream is not") {
    allocator_machine m;
    const auto frees = [&](auto& gpu) {
        for (int i = 0; i != 100; ++i) gpu.deallocate(gpu.try_allocate(1_MiB, {}), {});
    };
    allot::device_allocator<with_null_per_thread> gpu{null_is_per_thread{m.sim}, unheard, allot::limit{2_MiB}};
    std::thread{[&] { frees(gpu); }}.join();
    CHECK(m.events() == 3);
    allocator plain{m.api, unheard, allot::limit{2_MiB}};
    frees(plain);
    CHECK(m.events() == 3); // others can record there
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: an event that the host waits for lives until it has waited") {
    allocator_machine m{{.devices = 2}};
    allot::device_allocator<with_interruptions> gpu{interrupted{m.sim}, unheard, allot::limit{2_MiB}};
    const auto other = m.make_stream(allot::device::stream_kind::non_blocking, 1);
    void* const p = m.used(gpu, 1_MiB, m.a);
    void* const q = m.used(gpu, 1_MiB - 256, m.b);
    gpu.deallocate(p, m.a);
    interrupted::refused = 0;
    interrupted::first = [&] {
        CHECK(gpu.try_allocate(1_MiB, m.b) == p); // the last that a freed
        gpu.leave(m.a);
        CHECK(gpu.try_allocate(256, other) != nullptr); // and a stream of another device could have its place
    };
    CHECK(gpu.trim() == 0);
    CHECK(interrupted::refused == 0);
    gpu.deallocate(p, m.b);
    gpu.deallocate(q, m.b);
}

TEST_CASE("device allocator: on no stream nothing is allocated, and what is freed there is held") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    REQUIRE(m.api.destroy_stream(m.a));
    CHECK(gpu.try_allocate(1, m.a) == nullptr);
    gpu.deallocate(p, m.a);
    CHECK(gpu.stats().captured == 1_MiB);
    REQUIRE(m.api.synchronize(allot::device_id{0}));
    CHECK(gpu.release_captured(m.b) == 1_MiB);
    CHECK(gpu.stats().captured == 0);
    CHECK(gpu.try_allocate(2_MiB, m.b) == p);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: what is left of a joined run is waited for anew") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    const auto c = m.make_stream(), u = m.make_stream();
    (void)m.used(gpu, 512_KiB, m.a);
    void* const second = m.used(gpu, 512_KiB, m.b);
    void* const third = m.used(gpu, 512_KiB, c);
    gpu.deallocate(m.used(gpu, 512_KiB, m.a), m.a);
    (void)m.used(gpu, 512_KiB, u); // u comes after what a has freed so far
    gpu.deallocate(second, m.b);
    gpu.deallocate(third, c);
    CHECK(m.used(gpu, 768_KiB, m.a) == second); // by joining what b and c freed
    CHECK(gpu.stats().joined == 1);
    CHECK(m.used(gpu, 256_KiB, u) != nullptr); // of what c freed: after a's wait for it
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a span begins where the asking stream can come after, and not beside it") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{6_MiB}};
    const auto c = m.make_stream();
    const auto mine = allot::device::simulated::per_thread_stream();
    std::thread other{[&] {
        void* const p = gpu.try_allocate(1_MiB, mine);
        (void)m.sim.launch(mine, {}, {{p, 1_MiB}});
        gpu.deallocate(p, mine); // nobody else can record an event behind that
    }};
    other.join();
    void* const beside = m.used(gpu, 1_MiB, m.a);
    (void)m.used(gpu, 512_KiB, m.a);
    void* const first = m.used(gpu, 1536_KiB, m.b);
    void* const second = m.used(gpu, 1536_KiB, c);
    (void)m.used(gpu, 512_KiB, m.a);
    gpu.deallocate(beside, m.a);
    gpu.deallocate(first, m.b);
    gpu.deallocate(second, c);
    REQUIRE(gpu.stats().live == 1_MiB);
    CHECK(m.used(gpu, 2_MiB, m.make_stream()) == first);
    CHECK(gpu.stats().joined == 1);
    CHECK(m.sim.count(allocator_machine::call::synchronize_event) +
              m.sim.count(allocator_machine::call::synchronize_device) ==
          0); // the host waits for nobody
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: nobody waits for what does not lie side by side") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const first = m.used(gpu, 512_KiB, m.b);
    (void)m.used(gpu, 512_KiB, m.a);
    void* const third = m.used(gpu, 1_MiB, m.b);
    gpu.deallocate(first, m.b);
    gpu.deallocate(third, m.b);
    const auto c = m.make_stream();
    CHECK(gpu.try_allocate(1_MiB + 256, c) == nullptr);
    CHECK(m.waits() == 0);
    CHECK(gpu.stats().joined == 0);
}
