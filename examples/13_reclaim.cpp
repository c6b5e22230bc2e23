// A cache that gives up its oldest answers when a query is short of memory.
#include <allot/buffers.hpp>
#include <cstdio>
#include <deque>
#include <mutex>
#include <utility>

using namespace allot::literals;

class answer_cache final : public allot::reclaimer {
  public:
    answer_cache(allot::account& engine, allot::buffer_memory& memory)
        : reclaimer("cached answers", 2), account_{engine, allot::name{"cached answers"}}, memory_{memory} {
        account_.add(*this);
    }
    ~answer_cache() { account_.remove(*this); }

    void keep(std::size_t bytes) {
        allot::buffer answer = memory_.allocate(account_, bytes); // before the lock: it may need reclaim()
        {
            const std::lock_guard hold(lock_);
            answers_.push_back(std::move(answer));
        }
        account_.notify_unused(); // a request that waits, and found no more to free, asks again
    }
    std::size_t size() const { return answers_.size(); }

    // Called for requests that the engine's limit refuses.
    bool reclaim(const allot::shortage& s) noexcept override {
        const std::unique_lock hold(lock_, std::try_to_lock); // never wait: its holder may wait for this call
        std::size_t freed = 0;
        while (hold && !answers_.empty() && (s.critical || freed < s.missing())) {
            freed += answers_.front().size();
            answers_.pop_front();
        }
        return freed != 0;
    }

  private:
    allot::account account_;
    allot::buffer_memory& memory_;
    std::mutex lock_;
    std::deque<allot::buffer> answers_;
};

int main() {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    answer_cache cache{engine, memory};
    for (int i = 0; i != 60; ++i) cache.keep(1_MiB);

    allot::account query{engine, allot::name{"query 7"}};
    const allot::buffer table = memory.allocate(query, 32_MiB); // 4 MiB are free: the oldest 28 answers go
    std::printf("%zu answers left; the cache gave %zu MiB in %zu call\n", cache.size(), cache.freed() >> 20,
                cache.calls());

    const allot::buffer too_large = memory.try_allocate(query, 40_MiB); // more than all answers are
    std::printf("%zu answers left; 40 MiB more were %s\n", cache.size(), too_large ? "granted" : "refused");
    return table && !too_large && engine.peak() <= 64_MiB ? 0 : 1;
}
