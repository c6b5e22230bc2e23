// allot_device_calls: host work of each call of the simulated device. Prints a Markdown table for docs/device.md. Exit
// code 1 if a correct program reports a hazard. Instructions of the calls have ceilings: allot_instructions.
//
//     allot_device_calls [--smoke]        --smoke: fewer calls
#include <harness/measure.hpp>
#include <workloads/device_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

double nanoseconds(bench::device_machine& m, const bench::device_call& what, std::size_t calls) {
    std::vector<double> rounds;
    for (int round = 0; round != 9; ++round) {
        const double start = bench::cpu_ns();
        for (std::size_t i = 0; i != calls; ++i) what.call(m, i);
        rounds.push_back((bench::cpu_ns() - start) / static_cast<double>(calls));
    }
    std::nth_element(rounds.begin(), rounds.begin() + 4, rounds.end());
    return rounds[4];
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t calls = argc > 1 && std::strcmp(argv[1], "--smoke") == 0 ? 10'000 : 300'000;
    bench::device_machine machines[] = {bench::device_machine{2}, bench::device_machine{16}, bench::device_machine{64}};
    std::printf("| ns of host work | 2 streams | 16 | 64 |\n|---|---|---|---|\n");
    for (const bench::device_call& what : bench::device_calls) {
        std::printf("| %s |", what.name);
        for (bench::device_machine& m : machines) std::printf(" %.0f |", nanoseconds(m, what, calls));
        std::printf("\n");
    }
    return std::ranges::all_of(machines, [](auto& m) { return m.sim.hazards() == 0; }) ? 0 : 1;
}
