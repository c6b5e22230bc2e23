// The calls of the simulated device, beside 64 streams and 10,000 blocks. Each call of measured::cold is one.
#include <counted/count.hpp>

#include <workloads/device_calls.hpp>

#include <cstddef>

namespace measured {

struct device_call {
    bench::device_machine& on;
    void (*const call_number)(bench::device_machine&, std::size_t);
    std::size_t n = 0;

    void prepare() {}
    void call() { call_number(on, n++); }
    bool has_happened() const { return on.sim.hazards() == 0; }
};

} // namespace measured

void counted::device() {
    bench::device_machine on{64};
    const auto count = [&]<int I>(const char* name) {
        measured::device_call subject{on, bench::device_calls[I].call};
        count_cold<80 + I>(name, subject);
    };
    count.operator()<0>("device_stream_id");
    count.operator()<1>("device_record");
    count.operator()<2>("device_wait");
    count.operator()<3>("device_query_event");
    count.operator()<4>("device_launch_no_memory");
    count.operator()<5>("device_launch_one_block");
    count.operator()<6>("device_block_again");
}
