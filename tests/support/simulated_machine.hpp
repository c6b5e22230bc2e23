// A simulated machine whose findings are kept instead of printed, and short names for what tests do with it.
#pragma once

#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>

#include <string>
#include <vector>

struct simulated_machine {
    explicit simulated_machine(allot::device::simulator_options options = {})
        : sim{(options.sink = allot::device::hazard_sink::quiet(), options)}, api{sim} {}

    allot::device::simulator sim;
    allot::device::simulated api;
    using stream = allot::device::simulated::stream_type;
    using event = allot::device::simulated::event_type;

    stream make_stream(allot::device::stream_kind kind = allot::device::stream_kind::non_blocking, int device = 0) {
        return got(api.create_stream({device}, kind));
    }
    event make_event(int device = 0) { return got(api.create_event({device})); }
    std::byte* allocate(std::size_t bytes, int device = 0) {
        return static_cast<std::byte*>(got(api.allocate({device}, bytes)));
    }

    void writes(stream s, const void* p, std::size_t bytes, const char* what = "writer") {
        CHECK_ON_THREAD(sim.launch(s, {}, {{p, bytes}}, nullptr, what));
    }
    void reads(stream s, const void* p, std::size_t bytes, const char* what = "reader") {
        CHECK_ON_THREAD(sim.launch(s, {{p, bytes}}, {}, nullptr, what));
    }
    /// `later` comes after all that `earlier` has to do now.
    void order(stream earlier, stream later) {
        const event e = make_event();
        CHECK_ON_THREAD(api.record(e, earlier));
        CHECK_ON_THREAD(api.wait(later, e));
        CHECK_ON_THREAD(api.destroy_event(e));
    }

    std::vector<allot::device::hazard> found() {
        std::vector<allot::device::hazard> all;
        sim.each_hazard([&](const allot::device::hazard& h) { all.push_back(h); });
        return all;
    }
    /// One hazard of this kind and nothing else; forgets it.
    bool only(allot::device::hazard_kind kind) {
        const auto all = found();
        sim.forget_hazards();
        return all.size() == 1 && all[0].kind == kind;
    }

    template <class T> static T got(const allot::device::result<T>& r) {
        CHECK_ON_THREAD(r);
        return *r;
    }
};

template <class Finding> std::string text_of_finding(const Finding& finding) {
    char text[512];
    allot::text_writer out{text};
    write(out, finding);
    return std::string{out.view()};
}
