// Random calls of a store and its handles beside a plain reference: bytes, charges and counts agree, whatever fails.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/tasks.hpp>

#include <soak/random.hpp>

#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::spill::entry_state;
using handle = allot::stored<allot::buffer>;

namespace {

// A handle, what it must hold, and what the home must have of it.
struct expected {
    handle object;
    std::vector<std::uint8_t> bytes;
    std::vector<handle::pinned> reads;
    std::optional<handle::pinned_to_change> change;
};

class trial {
  public:
    explicit trial(std::uint64_t seed) : dice_(seed) {
        home_.in_write = [this] { return !fails_ || !dice_.one_in(3); };
        home_.in_read = [this] { return !fails_ || !dice_.one_in(3); };
    }
    void run(unsigned steps) {
        for (unsigned i = 0; i != steps; ++i) {
            const allot::oom::task_thread here{dice_.one_in(2) ? first_ : second_};
            step();
            check();
        }
        fails_ = false;
        disk_.set_limit(SIZE_MAX);
        for (expected& e : all_) e.reads.clear(), e.change.reset();
        for (expected& e : all_) static_cast<void>(inputs_.spill(16_KiB)), verify(e);
        all_.clear();
        CHECK((engine_.used() == 0 && disk_.used() == 0 && home_.records == 0));
        CHECK((engine_.verify() && disk_.verify() && engine_.peak() <= 64_KiB));
    }

  private:
    expected& any() { return all_[dice_.below(all_.size())]; }
    void step() {
        if (all_.empty()) return put();
        switch (dice_.below(14)) {
        case 0:
        case 1: return put();
        case 2: return read();
        case 3: return change();
        case 4:
        case 5: { // pins end
            expected& e = any();
            e.change.reset();
            if (!e.reads.empty()) e.reads.pop_back();
            return;
        }
        case 6: {
            expected& e = any();
            const bool was_away = e.object.is_away(), is_pinned = e.change || !e.reads.empty();
            const bool left = e.object.spill();
            CHECK((!left || (!was_away && !is_pinned && e.object.is_away())));
            return;
        }
        case 7:
        case 8: return press();
        case 9: return halve();
        case 10: return take();
        case 11: return static_cast<void>(inputs_.spill(dice_.below(64_KiB)));
        case 12: fails_ = dice_.one_in(2); return;
        case 13: disk_.set_limit(dice_.one_in(2) ? SIZE_MAX : dice_.below(96_KiB)); return;
        }
    }
    void put() {
        if (all_.size() > 40) return end(dice_.below(all_.size()));
        const std::size_t bytes = dice_.one_in(8) ? 0 : dice_.between(1, 12_KiB);
        allot::buffer b = memory_.try_allocate(*accounts_[dice_.below(2)], bytes);
        if (!b && bytes != 0) return;
        expected e;
        for (std::size_t i = 0; i != bytes; ++i) {
            e.bytes.push_back(static_cast<std::uint8_t>(dice_.below(256)));
            b.data()[i] = std::byte{e.bytes.back()};
        }
        e.object = inputs_.put(std::move(b));
        all_.push_back(std::move(e));
    }
    void end(std::size_t n) {
        all_[n].reads.clear(), all_[n].change.reset();
        all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    void read() {
        expected& e = any();
        if (e.change) return;
        const std::size_t written = inputs_.stats().written;
        const bool was_here = !e.object.is_away();
        if (handle::pinned p = e.object.try_pin()) {
            REQUIRE(p->size() == e.bytes.size());
            for (std::size_t i = 0; i != e.bytes.size(); ++i) REQUIRE(p->data()[i] == std::byte{e.bytes[i]});
            if (e.reads.size() < 3) e.reads.push_back(std::move(p));
        } else {
            CHECK((!was_here && e.object.is_away()));
        }
        CHECK(inputs_.stats().written == written); // it frees nothing of others
    }
    void change() {
        expected& e = any();
        if (e.change || !e.reads.empty() || e.bytes.empty()) return;
        try {
            e.change.emplace(e.object.pin_to_change());
        } catch (const allot::out_of_memory&) {
            return;
        } catch (const allot::verdict_error&) {
            return;
        } catch (const allot::spill_error&) {
            CHECK(fails_);
            return;
        }
        const std::size_t at = dice_.below(e.bytes.size());
        e.bytes[at] = static_cast<std::uint8_t>(dice_.below(256));
        (*e.change)->data()[at] = std::byte{e.bytes[at]};
    }
    void press() {
        account& by = *accounts_[dice_.below(2)];
        const std::size_t bytes = dice_.between(1, 64_KiB);
        if (by.try_charge(bytes).charged()) by.refund(bytes);
    }
    void halve() {
        expected& e = any();
        if (e.change || !e.reads.empty()) return;
        const std::size_t unit = dice_.between(1, 64);
        std::vector<handle> parts;
        try {
            parts = e.object.halves(unit);
        } catch (const allot::memory_error&) {
            return;
        } catch (const allot::spill_error&) {
            return;
        }
        CHECK(parts.empty() == (e.bytes.size() / 2 < unit));
        if (parts.empty()) return;
        CHECK((parts[0].bytes() % unit == 0 && parts[0].bytes() + parts[1].bytes() == e.bytes.size()));
        auto middle = e.bytes.begin() + static_cast<std::ptrdiff_t>(parts[0].bytes());
        expected first, second;
        first.bytes.assign(e.bytes.begin(), middle);
        second.bytes.assign(middle, e.bytes.end());
        first.object = std::move(parts[0]);
        second.object = std::move(parts[1]);
        if (dice_.one_in(2)) e = std::move(first); // the whole ends
        else all_.push_back(std::move(first));
        all_.push_back(std::move(second));
    }
    void take() {
        const std::size_t n = dice_.below(all_.size());
        expected& e = all_[n];
        if (e.change || !e.reads.empty()) return;
        try {
            const allot::buffer b = std::move(e.object).take(*accounts_[dice_.below(2)]);
            REQUIRE(b.size() == e.bytes.size());
            for (std::size_t i = 0; i != e.bytes.size(); ++i) REQUIRE(b.data()[i] == std::byte{e.bytes[i]});
        } catch (const allot::memory_error&) {
            CHECK(e.object);
            return;
        } catch (const allot::spill_error&) {
            CHECK(e.object);
            return;
        }
        end(n);
    }
    void verify(expected& e) {
        const auto p = e.object.pin();
        REQUIRE(p->size() == e.bytes.size());
        for (std::size_t i = 0; i != e.bytes.size(); ++i) REQUIRE(p->data()[i] == std::byte{e.bytes[i]});
    }
    void check() {
        const allot::store_stats s = inputs_.stats();
        std::size_t in_memory = 0, free_to_leave = 0;
        for (const expected& e : all_) {
            const std::size_t charged = (e.bytes.size() + 63) / 64 * 64;
            const entry_state now = e.object.state();
            const bool pinned = e.change || !e.reads.empty();
            CHECK((now == entry_state::here || now == entry_state::both || now == entry_state::away));
            CHECK((!pinned || now != entry_state::away));
            CHECK((!e.change || now == entry_state::here));
            if (now != entry_state::away) in_memory += charged;
            if (now != entry_state::away && !pinned) free_to_leave += charged;
        }
        CHECK(s.entries == all_.size());
        CHECK((s.in_memory == in_memory && s.in_memory == engine_.used()));
        CHECK(s.free_to_leave == free_to_leave);
        CHECK(engine_.used() <= 64_KiB);
    }

    soak::dice dice_;
    bool fails_ = false;
    allot::oom::arbiter tasks_;
    account engine_{name{"engine"}, limit{64_KiB}, tasks_}, disk_{name{"disk"}};
    account mine_{engine_, name{"mine"}, limit{40_KiB}}, other_{engine_, name{"other"}};
    account* const accounts_[2]{&mine_, &other_};
    allot::oom::task first_{tasks_, "first", 1}, second_{tasks_, "second"};
    allot::heap_memory heap_;
    allot::buffer_memory memory_{heap_};
    support::hooked_home home_{disk_};
    allot::store inputs_{engine_, home_};
    std::vector<expected> all_;
};

} // namespace

TEST_CASE("random calls of a store keep all bytes, and count them", "[spill][model]") {
    const char* const asked = std::getenv("ALLOT_TRIALS");
    const std::uint64_t trials = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 40;
    const support::rescue ends{"random calls of a store", std::chrono::minutes(5)};
    for (std::uint64_t seed = 1; seed <= trials; ++seed) {
        INFO("seed " << seed);
        trial(seed).run(400);
    }
}
