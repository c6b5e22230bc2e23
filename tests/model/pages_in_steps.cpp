// The memory of an arena that is charged, where any step of the system may take long: threads take and return parts of
// huge OS pages, and touch theirs late, in an order by seed. Between two steps, what is resident is charged.
//
//     ALLOT_SITUATIONS=10000 allot_model_tests "[pages]"      that many; ALLOT_SEED=n: from that one on
#define ALLOT_FAULTS 1 // for the stage; it is in the name of the library's inline namespace
#include <support/catch.hpp>
#include <support/from_environment.hpp>
#include <support/stage.hpp>

#include <allot/account/account.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#if ALLOT_CHECKED // for the points at system calls
using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

template <class Fit> struct blocks_of : allot::policies<allot::ledger::tree, allot::oom::null, Fit> {};

// Blocks of `least` bytes and more.
template <class Fit, std::size_t least> class situation {
  public:
    explicit situation(std::uint64_t seed) : stage_(seed, [] { return false; }, [this] { look(); }) {
        stage_.hand_over_at_system_calls();
        std::vector<void*> singles; // neither the begin of the range, nor its end has huge OS pages
        for (std::size_t bytes = 0; bytes < 17_MiB; bytes += 64_KiB)
            singles.push_back(blocks_.allocate(60'000).address);
        for (void* const p : singles) blocks_.deallocate(p);
        blocks_.trim();
        end_ = blocks_.allocate(17_MiB).address;
        std::memset(end_, 1, 17_MiB);
    }
    // By how many bytes more is resident than is charged, at most.
    std::size_t play() {
        for (int i = 0; i != 2; ++i) stage_.add([this] { use(); });
        stage_.add([this] { trim(); });
        stage_.play();
        blocks_.deallocate(end_);
        blocks_.trim();
        return blocks_.arena().valid() && engine_.used() == other_.used() ? worst_ : SIZE_MAX;
    }
    std::uint64_t trace() const noexcept { return stage_.trace(); }

  private:
    struct block {
        unsigned char* at;
        std::size_t bytes;
        bool is_touched;
    };
    std::size_t below(std::size_t n) { return stage_.dice().below(n); }
    void look() noexcept {
        const std::size_t resident = blocks_.arena().resident(), charged = blocks_.used();
        if (resident > charged && resident - charged > worst_) worst_ = resident - charged;
    }
    void use() {
        std::vector<block> all;
        for (int step = 0; step != 60; ++step) {
            const std::size_t n = least + below(below(4) == 0 ? 5'000'000 : 2 * least);
            if (auto* const p = static_cast<unsigned char*>(blocks_.try_allocate(n).address))
                all.push_back({p, n, false});
            stage_.point();
            for (block& b : all) // late, or not
                if (!b.is_touched && below(3) != 0) std::memset(b.at, 1, b.bytes), b.is_touched = true, stage_.point();
            if (all.empty() || below(2) == 0) continue;
            std::swap(all[below(all.size())], all.back());
            blocks_.deallocate(all.back().at);
            all.pop_back();
        }
        for (const block& b : all) blocks_.deallocate(b.at);
    }
    void trim() {
        for (int step = 0; step != 60; ++step) {
            if (below(2) == 0) blocks_.trim();
            else if (const std::size_t n = 1 + below(20'000'000); other_.try_charge(n))
                stage_.point(), other_.refund(n);
            stage_.point();
        }
    }

    account engine_{name{"engine"}, limit{64_MiB}}, other_{engine_, name{"other"}};
    allot::chunk_arena<blocks_of<Fit>> blocks_{engine_, name{"blocks"}, allot::page_bytes{64_KiB},
                                               allot::chunk_bytes{64_KiB}};
    void* end_ = nullptr;
    std::size_t worst_ = 0;
    support::stage stage_;
};

} // namespace

TEST_CASE("memory that is resident is charged, wherever a thread is when another takes or returns", "[pages]") {
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1);
    const std::uint64_t many = support::from_environment("ALLOT_SITUATIONS", 20);
    for (std::uint64_t seed = first; seed != first + many; ++seed) {
        INFO("bytes that are resident, and not charged, with seed " << seed);
        if (seed % 2 == 0) CHECK(situation<allot::fit::best, 270'000>{seed}.play() == 0);
        else CHECK(situation<allot::fit::runs, 20'000>{seed}.play() == 0);
    }
}
#endif
