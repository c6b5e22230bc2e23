// What the programs of bench/clients have in common: their options, and one line of JSON with what a run took.
#pragma once
#include <shared/options.hpp>
#include <shared/resident.hpp>
#include <shared/stopwatch.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace bench {

/// User and system time of the process so far, in seconds.
inline double cpu_seconds() {
    rusage all{};
    getrusage(RUSAGE_SELF, &all);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(all.ru_utime) + seconds(all.ru_stime);
}

struct client_options {
    std::string set = "default";
    std::uint64_t limit = 0; // bytes; 0: none
    double scale = 1;        // of the load

    /// False: exit with `code`.
    bool parse(const char* what, const std::vector<std::string>& sets, int argc, char** argv, int& code) {
        CLI::App app{what};
        app.add_option("--set", set, "Whose memory")->transform(shared::one_of(sets));
        app.add_option("--limit", limit, "Most bytes; 0: no limit")->transform(shared::size());
        app.add_option("--scale", scale, "Size of the load");
        more(app);
        return shared::parse(app, argc, argv, code);
    }
    virtual void more(CLI::App&) {}
    virtual ~client_options() = default;
};

/// Measures from its construction to stop(), or print().
class client_run {
  public:
    client_run() { shared::restart_peak(); }
    double cpu() const { return cpu_seconds() - start_; }
    void stop() {
        if (wall_ != 0) return;
        cpu_ = cpu();
        wall_ = clock_.seconds();
    }

    /// `asked`, `held`: peaks of the bytes that the client asked for, and of those held for them; 0: not known.
    void print(const char* client, const client_options& with, const std::string& outcome, std::size_t asked,
               std::size_t held, nlohmann::json more = nlohmann::json::object()) {
        stop();
        more.update({{"client", client},
                     {"set", with.set},
                     {"limit", with.limit},
                     {"cpu_s", cpu_},
                     {"wall_s", wall_},
                     {"peak_rss_bytes", shared::peak_resident_bytes()},
                     {"asked_bytes", asked},
                     {"held_bytes", held},
                     {"outcome", outcome}});
        std::puts(more.dump().c_str());
    }

  private:
    shared::stopwatch clock_;
    double start_ = cpu_seconds(), cpu_ = 0, wall_ = 0;
};

} // namespace bench
