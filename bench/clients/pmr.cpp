// Containers of std::pmr over the standard library's resources, and over the sets that docs/rows.md teaches.
//
//     allot_client_pmr [--set new|pool|allot|allot_thread] [--limit BYTES]
//
// One thread: maps and sets that churn, strings of any length, vectors that double, lists and deques; then half of all
// is freed in another order, and built again.
#include <clients/client.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <malloc.h>

namespace {

// What the containers ask for: passes requests on, and counts the peak.
class counted final : public std::pmr::memory_resource {
  public:
    explicit counted(std::pmr::memory_resource& to, std::size_t limit = 0) : to_(to), limit_(limit) {}
    std::size_t peak() const { return most_; }

  private:
    void* do_allocate(std::size_t n, std::size_t align) override {
        if (limit_ != 0 && now_ + n > limit_) throw std::bad_alloc();
        void* const p = to_.allocate(n, align);
        most_ = std::max(most_, now_ += n);
        return p;
    }
    void do_deallocate(void* p, std::size_t n, std::size_t align) override {
        now_ -= n;
        to_.deallocate(p, n, align);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::memory_resource& to_;
    std::size_t limit_, now_ = 0, most_ = 0;
};

class load {
  public:
    load(std::pmr::memory_resource& memory, double scale)
        : memory_(memory), n_(static_cast<std::size_t>(100'000 * scale)) {}

    // A checksum, the same for each resource.
    std::uint64_t run() {
        std::uint64_t sum = 0;
        std::pmr::vector<orders> all{&memory_};
        all.reserve(4); // a vector that grows would copy them into other memory
        for (unsigned part = 0; part != 4; ++part) all.emplace_back(build());
        for (unsigned round = 0; round != 6; ++round) {
            for (orders& o : all) sum += churn(o);
            all[round % all.size()] = build();
        }
        return sum;
    }

  private:
    struct line {
        std::uint64_t key;
        double price;
    };
    struct orders {
        std::pmr::unordered_map<std::uint64_t, std::pmr::string> names;
        std::pmr::map<std::pmr::string, std::uint64_t> index;
        std::pmr::list<line> recent;
        std::pmr::deque<line> queue;
        std::pmr::vector<std::pmr::vector<line>> groups;
    };

    std::pmr::string text() {
        const std::size_t n = 5 + random_() % (random_() % 50 == 0 ? 2000 : 60);
        return std::pmr::string(n, static_cast<char>('a' + random_() % 26), &memory_);
    }
    orders build() {
        orders o{std::pmr::unordered_map<std::uint64_t, std::pmr::string>{&memory_},
                 std::pmr::map<std::pmr::string, std::uint64_t>{&memory_}, std::pmr::list<line>{&memory_},
                 std::pmr::deque<line>{&memory_}, std::pmr::vector<std::pmr::vector<line>>{&memory_}};
        for (std::size_t i = 0; i != n_; ++i) add(o, i);
        return o;
    }
    void add(orders& o, std::size_t i) {
        o.names.emplace(i, text());
        if (i % 4 == 0) o.index.emplace(text(), i);
        o.recent.push_back({i, 1.5});
        if (o.recent.size() > n_ / 4) o.recent.pop_front();
        o.queue.push_back({i, 2.5});
        if (o.queue.size() > n_ / 2) o.queue.pop_front();
        if (i % 50 == 0) o.groups.emplace_back();
        o.groups[random_() % o.groups.size()].push_back({i, 3.5});
    }
    // Frees a half in another order than it was made, and makes as much anew.
    std::uint64_t churn(orders& o) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != n_ / 2; ++i) {
            const auto at = o.names.find(random_() % n_);
            if (at == o.names.end()) continue;
            sum += at->second.size();
            o.names.erase(at);
        }
        for (auto at = o.index.begin(); at != o.index.end();)
            if (random_() % 2 == 0) at = o.index.erase(at);
            else ++at;
        for (auto& g : o.groups)
            if (random_() % 4 == 0) g.clear(), g.shrink_to_fit();
        for (std::size_t i = 0; i != n_ / 2; ++i) add(o, i * 2);
        return sum + o.index.size() + o.names.size();
    }

    std::pmr::memory_resource& memory_;
    std::size_t n_;
    std::mt19937 random_{1};
};

template <class Held>
int measure(const bench::client_options& with, std::pmr::memory_resource& memory, std::size_t limit, Held held) {
    counted asked{memory, limit};
    std::string outcome = "done";
    std::uint64_t sum = 0;
    bench::client_run all;
    try {
        sum = load{asked, with.scale}.run();
    } catch (const std::bad_alloc& e) {
        outcome = e.what();
    }
    all.print("pmr", with, outcome, asked.peak(), held(), {{"checksum", sum}});
    return outcome == "done" ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    bench::client_options with;
    with.set = "allot_thread";
    if (int code = 0; !with.parse("Containers' memory", {"new", "pool", "allot", "allot_thread"}, argc, argv, code))
        return code;
    if (with.set == "new")
        return measure(with, *std::pmr::new_delete_resource(), with.limit, [] { return std::size_t{0}; });
    if (with.set == "pool") {
        counted from_system{*std::pmr::new_delete_resource(), with.limit};
        std::pmr::unsynchronized_pool_resource pool{&from_system};
        return measure(with, pool, 0, [&] { return from_system.peak(); });
    }
    allot::row_manager<allot::use::containers> rows{allot::name{"containers"},
                                                    allot::limit{with.limit != 0 ? with.limit : SIZE_MAX}};
    if (with.set == "allot") {
        allot::adapt::memory_resource memory{rows};
        return measure(with, memory, 0, [&] { return rows.peak(); });
    }
    auto mine = rows.local();
    allot::adapt::memory_resource memory{mine};
    return measure(with, memory, 0, [&] { return rows.peak(); });
}
