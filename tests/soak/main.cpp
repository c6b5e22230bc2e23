// The soak: random steps on managers of random sets by threads that come and go, for a time, with everything checked.
//
//   soak [--seconds N | --minutes N] [--seed S] [--threads N] [--set TEXT] [--list]
//
// Exit code: 0 nothing was wrong, 1 something was (told on standard error, with seed, set and thread), 2 not so called.
#include <soak/stage.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace soak {
namespace {

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

struct options {
    double seconds = 10;
    std::uint64_t seed =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000000007;
    unsigned threads = max_workers; // at most
    std::string_view set;           // only those whose text has this
};

// The managers that stand now.
class stages {
  public:
    static constexpr std::size_t most = 4;

    std::shared_ptr<stage> any(dice& random) {
        const std::lock_guard hold(lock_);
        return all_[random.below(most)];
    }
    std::shared_ptr<stage> exchange(std::size_t at, std::shared_ptr<stage> s) {
        const std::lock_guard hold(lock_);
        return std::exchange(all_[at], std::move(s));
    }

  private:
    std::mutex lock_;
    std::array<std::shared_ptr<stage>, most> all_;
};

class run {
  public:
    explicit run(const options& asked) : asked_(asked), random_(asked.seed) {
        for (const soaked_set& set : all_sets())
            if (std::string_view(set.text).find(asked.set) != std::string_view::npos) sets_.push_back(&set);
        std::sort(sets_.begin(), sets_.end(), [](auto* a, auto* b) { return std::string_view(a->text) < b->text; });
        for (std::size_t i = sets_.size(); i > 1; --i) std::swap(sets_[i - 1], sets_[random_.below(i)]);
    }
    std::size_t sets() const { return sets_.size(); }

    // Directs; the calling thread tells how it goes, and when nothing goes any more.
    void go() {
        std::thread director([this] { direct(); });
        std::thread onlooker([this] { look_on(); });
        std::uint64_t last = 0;
        double next_line = 60, moved = 0;
        while (!over_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const double now = seconds_since(start_);
            if (const std::uint64_t beat = beats_.load(); beat != last) last = beat, moved = now;
            expect(now - moved < 120, "nothing moves for 120 s");
            if (now >= next_line) done_.print(now, sets()), next_line += 60;
        }
        director.join();
        onlooker.join();
        done_.print(seconds_since(start_), sets());
    }

  private:
    struct worker {
        std::thread thread;
        std::atomic<bool> stop{false};
    };

    void work(unsigned index, std::uint64_t seed) {
        here.thread = static_cast<int>(index);
        dice random(seed);
        counts done;
        std::vector<std::shared_ptr<stage>> met;
        while (!workers_[index].stop.load(std::memory_order_relaxed)) {
            auto s = stages_.any(random);
            if (s == nullptr || !s->burst(index, random, done)) {
                std::this_thread::yield();
                continue;
            }
            if (std::find(met.begin(), met.end(), s) == met.end()) {
                std::erase_if(met, [](const auto& old) { return old->ended(); });
                met.push_back(std::move(s));
            }
            done_.add(done);
            here = {here.thread, "", ""};
        }
        for (const auto& s : met) s->leave(index);
    }
    void look_on() {
        here.thread = -2;
        dice random(asked_.seed + 2);
        std::vector<char> buffer(1 << 18);
        counts done;
        while (!over_) {
            if (const auto s = stages_.any(random)) s->look_on(random, buffer, done);
            done_.add(done);
            std::this_thread::sleep_for(std::chrono::milliseconds(random.between(1, 20)));
        }
    }
    void start(unsigned index) {
        workers_[index].stop = false;
        workers_[index].thread = std::thread([this, index, seed = random_.next()] { work(index, seed); });
        done_of_director_.add(did::thread);
        ++working_;
    }
    void stop(unsigned index) {
        if (!workers_[index].thread.joinable()) return;
        workers_[index].stop = true;
        workers_[index].thread.join();
        --working_;
    }
    void start_or_stop_one() {
        const auto index = static_cast<unsigned>(random_.below(asked_.threads));
        if (!workers_[index].thread.joinable()) start(index);
        else if (working_ > 2) stop(index);
    }
    void stop_all() {
        for (unsigned i = 0; i < asked_.threads; ++i) stop(i);
    }
    // One of the places gets another manager, or none.
    void next_stage(std::size_t at, bool last) {
        std::shared_ptr<stage> fresh;
        if (!last) {
            here = {-1, sets_[next_set_ % sets_.size()]->text, "a manager's construction"};
            fresh = std::make_shared<stage>(*sets_[next_set_++ % sets_.size()], random_.next());
            done_of_director_.add(did::manager);
        }
        const auto old = stages_.exchange(at, std::move(fresh));
        if (old == nullptr) return;
        // Threads end before a manager that keeps something for each, or after it.
        const bool threads_first = last || (old->by_thread() && random_.one_in(2));
        if (threads_first) stop_all();
        old->retire(random_, done_of_director_, threads_first);
        while (!last && working_ < 2) start_or_stop_one();
    }
    void direct() {
        here.thread = -1;
        // Short runs meet each set, too.
        const double life =
            std::clamp(asked_.seconds * stages::most / static_cast<double>(sets_.size()) / 1.5, 0.04, 2.0);
        std::array<double, stages::most> until{};
        while (working_ < 2) start_or_stop_one();
        for (double now = 0; (now = seconds_since(start_)) < asked_.seconds;) {
            const std::size_t at = random_.below(stages::most);
            if (now >= until[at]) {
                next_stage(at, false);
                until[at] = now + life * static_cast<double>(random_.between(50, 150)) / 100;
            } else if (random_.one_in(3)) start_or_stop_one();
            else if (const auto s = stages_.any(random_)) {
                done_.charged(s->charged());
                s->quiet(random_, done_of_director_);
            }
            done_.add(done_of_director_);
            beats_.fetch_add(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(random_.between(1, 15)));
        }
        for (std::size_t at = 0; at < stages::most; ++at) next_stage(at, true);
        stop_all();
        done_.add(done_of_director_);
        over_ = true;
    }

    const options asked_;
    dice random_;
    std::vector<const soaked_set*> sets_;
    std::size_t next_set_ = 0;
    const clock::time_point start_ = clock::now();
    stages stages_;
    std::array<worker, max_workers> workers_;
    unsigned working_ = 0;
    all_counts done_;
    counts done_of_director_;
    std::atomic<std::uint64_t> beats_{0};
    std::atomic<bool> over_{false};
};

void describe(const char* text) {
    for (const soaked_set& set : all_sets())
        if (std::string_view(set.text) == text)
            std::fprintf(stderr, "%.*s", static_cast<int>(set.described.size()), set.described.data());
}

int usage() {
    std::fputs("soak [--seconds N | --minutes N] [--seed S] [--threads 2..8] [--set TEXT] [--list]\n", stderr);
    return 2;
}

int soak_main(int argc, char** argv) {
    options asked;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--list") {
            for (const soaked_set& set : all_sets()) std::puts(set.text);
            return 0;
        }
        if (i + 1 == argc) return usage();
        const char* const value = argv[++i];
        if (name == "--seconds") asked.seconds = std::atof(value);
        else if (name == "--minutes") asked.seconds = 60 * std::atof(value);
        else if (name == "--seed") asked.seed = std::strtoull(value, nullptr, 10);
        else if (name == "--threads") asked.threads = static_cast<unsigned>(std::atoi(value));
        else if (name == "--set") asked.set = value;
        else return usage();
    }
    if (asked.threads < 2 || asked.threads > max_workers || asked.seconds <= 0) return usage();
    run all(asked);
    if (all.sets() == 0) return usage();
    std::printf("soak: seed %llu, %.0f s, up to %u threads, %zu sets\n", static_cast<unsigned long long>(asked.seed),
                asked.seconds, asked.threads, all.sets());
    std::fflush(stdout);
    begin_run(asked.seed);
    tell_set_by(&describe);
    all.go();
    std::puts("soak: nothing was wrong");
    return 0;
}

} // namespace
} // namespace soak

int main(int argc, char** argv) { return soak::soak_main(argc, argv); }
