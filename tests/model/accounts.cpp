// Random traces of a tree of accounts, held against a model that knows only what each account was charged and what it
// reserves, and computes every claim anew. The seed of a trace that fails is told; MODEL_SEED=n runs that one alone.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

using namespace allot::literals;

namespace {

using allot::account;
using allot::charge_outcome;

struct promise {
    allot::account_reservation real;
    std::size_t used_before;
};

struct node {
    int parent = -1, closed_by = -1;
    std::size_t own = 0, reserved = 0, first_reserved = 0, limit = 0, peak = 0;
    bool steps = false, parent_once = false, closing = false;
    std::unique_ptr<account> real;
    allot::account_reservation floor; // of first_reserved bytes
    std::vector<promise> promises;
    bool live() const { return real != nullptr; }
};

class trace {
  public:
    // Exact: no leaf has steps, so every figure of every account must agree. Else those of leaves, and all answers.
    trace(unsigned seed, bool exact) : random_(seed), exact_(exact) {
        nodes_.reserve(40);
        add(-1);
    }
    bool run(int steps) {
        for (int i = 0; i != steps; ++i)
            if (!step() || !agrees()) return false;
        while (nodes_.size() > 1 && close(static_cast<int>(nodes_.size()) - 1)) {
        }
        at(0).real->refund(at(0).own);
        return at(0).real->used() == 0;
    }

  private:
    std::size_t below(std::size_t n) { return random_() % n; }
    int a_node() {
        for (;;)
            if (const int n = static_cast<int>(below(nodes_.size())); nodes_[static_cast<std::size_t>(n)].live())
                return n;
    }
    node& at(int n) { return nodes_[static_cast<std::size_t>(n)]; }

    // What the model says: with own charges as they are, and so much more at `more_at`.
    std::size_t used(int n, int more_at = -1, std::ptrdiff_t more = 0) {
        std::size_t sum = at(n).own;
        if (n == more_at) sum += static_cast<std::size_t>(more);
        for (int c = 0; c != static_cast<int>(nodes_.size()); ++c)
            if (at(c).live() && at(c).parent == n) sum += std::max(at(c).reserved, used(c, more_at, more));
        return sum;
    }
    bool is_above(int a, int n) {
        for (; n != -1; n = at(n).parent)
            if (n == a) return true;
        return false;
    }
    // The outcome of a charge of `to`, which `from` may have been charged for; levels whose use does not grow are not
    // asked.
    charge_outcome outcome(int to, std::ptrdiff_t more, int from = -1) {
        if (const int by = at(to).closed_by; by != -1) { // it counts already what comes from below it
            const bool counted = from != -1 && !at(to).closing && (at(from).closed_by == by || is_above(by, from));
            if (!counted) return charge_outcome::closed;
        }
        for (int n = to; n != -1; n = at(n).parent) {
            const std::size_t now = used(n), then = used(n, to, more);
            if (then <= now) continue;
            if (then > at(n).limit) return charge_outcome::over_limit;
        }
        return charge_outcome::fits;
    }
    void peaks() {
        for (int n = 0; n != static_cast<int>(nodes_.size()); ++n)
            if (at(n).live()) at(n).peak = std::max(at(n).peak, used(n));
    }

    void add(int parent) {
        node made;
        made.parent = parent;
        made.limit = below(3) == 0 ? 100000 : 200 + below(2000);
        const allot::watermark ahead{below(4) == 0 ? below(1000) : SIZE_MAX}; // it changes no answer
        made.steps = !exact_ && parent != -1 && below(2) == 0;
        if (parent == -1) {
            made.limit = 3000;
            made.real = std::make_unique<account>(allot::name{"root"}, allot::limit{made.limit}, ahead);
            nodes_.push_back(std::move(made));
            return;
        }
        made.reserved = made.first_reserved = below(3) == 0 ? below(400) : 0;
        const allot::limit most{made.limit};
        if (made.steps)
            made.real = std::make_unique<account>(*at(parent).real, allot::name{"leaf"}, most, ahead,
                                                  allot::credit_step{64}, std::nothrow);
        else made.real = std::make_unique<account>(*at(parent).real, allot::name{"inner"}, most, ahead, std::nothrow);
        const bool fits =
            at(parent).closed_by == -1 && made.reserved <= made.limit &&
            (made.reserved == 0 || outcome(parent, static_cast<std::ptrdiff_t>(made.reserved)) == charge_outcome::fits);
        if (made.reserved != 0) made.floor = made.real->reserve_floor_for(made.reserved, 0_ms);
        good_ = good_ && made.real->is_open() == (at(parent).closed_by == -1);
        good_ = good_ && (made.real->is_open() && (made.reserved == 0 || made.floor)) == fits;
        if (!fits) return;
        at(parent).parent_once = true;
        nodes_.push_back(std::move(made));
    }
    bool close(int n) {
        node& gone = at(n);
        if (!gone.live()) return nodes_.pop_back(), true;
        for (node& c : nodes_)
            if (c.live() && c.parent == n) return true;
        gone.real->refund(gone.own);
        gone.promises.clear();
        gone.floor.release();
        gone.real.reset();
        if (n == static_cast<int>(nodes_.size()) - 1) nodes_.pop_back();
        return true;
    }
    // Closes the account when it is drained, and those below to charges.
    void begin_closing(int n) {
        if (at(n).closing) return;
        const int by = at(n).closed_by == -1 ? n : at(n).closed_by;
        for (int c = 0; c != static_cast<int>(nodes_.size()); ++c)
            if (at(c).live() && at(c).closed_by == -1 && is_above(n, c)) at(c).closed_by = by;
        at(n).closing = true;
        at(n).real->close_when_drained([](account&, void*) noexcept {});
        end_drained();
    }
    // The promise ends, or keeps a part of its bytes.
    void lessen_promise(int n, std::size_t which, std::size_t keeps) {
        node& it = at(n);
        promise& p = it.promises[which];
        const std::size_t bytes = p.real.bytes(), now = used(n), charged = std::max(now, p.used_before) - p.used_before;
        it.reserved -= std::min(bytes - keeps, bytes - std::min(bytes, charged));
        if (keeps != 0) p.real.shrink_to(keeps);
        else it.promises.erase(it.promises.begin() + static_cast<std::ptrdiff_t>(which));
        std::size_t left = 0;
        for (const promise& other : it.promises) left += other.real.bytes();
        it.reserved = left == 0 ? it.first_reserved : std::min(it.reserved, std::max(it.first_reserved, now) + left);
    }
    // What was used before, and is refunded, returns to the parent.
    void settle_promises() {
        for (int n = static_cast<int>(nodes_.size()) - 1; n >= 0; --n) settle_promise(n); // children first
    }
    void settle_promise(int n) {
        node& it = at(n);
        if (!it.live() || it.promises.empty()) return;
        std::size_t promised = 0;
        for (const promise& p : it.promises) promised += p.real.bytes();
        it.reserved =
            promised == 0 ? it.first_reserved : std::min(it.reserved, std::max(it.first_reserved, used(n)) + promised);
    }
    void end_drained() {
        for (int n = static_cast<int>(nodes_.size()) - 1; n > 0; --n) { // children first
            node& it = at(n);
            bool drained = it.live() && it.closing && it.own == 0 && it.promises.empty();
            for (const node& c : nodes_) drained = drained && !(c.live() && c.parent == n);
            if (!drained) continue;
            it.floor.release();
            good_ = good_ && it.real->has_ended();
            it.real.reset();
        }
    }
    bool step() {
        const int n = a_node();
        node& it = at(n);
        const std::size_t bytes = below(3) == 0 ? below(1500) : below(100);
        const auto more = static_cast<std::ptrdiff_t>(bytes);
        switch (below(12)) {
        case 0:
            if (nodes_.size() < 40 && below(3) == 0) add(n);
            break;
        case 1:
            if (n != 0 && below(4) == 0) close(n);
            else if (n != 0 && below(8) == 0) begin_closing(n);
            break;
        case 2:
            it.limit = below(2) == 0 ? 100000 : below(3000);
            it.real->set_limit(it.limit);
            break;
        case 3: {
            const int to = a_node();
            if (to == n || it.own == 0) break;
            const std::size_t moved = 1 + below(it.own);
            std::vector<std::size_t> reserved, before;
            for (int a = 0; a != static_cast<int>(nodes_.size()); ++a)
                reserved.push_back(at(a).reserved), before.push_back(at(a).live() ? used(a) : 0);
            charge_outcome expected = outcome(to, 0, n);
            it.own -= moved; // what it no longer keeps is there for the other
            for (int a = n; !is_above(a, to); a = at(a).parent) settle_promise(a);
            at(to).own += moved;
            for (int a = to; a != -1 && expected == charge_outcome::fits; a = at(a).parent)
                if (const std::size_t then = used(a); then > before[static_cast<std::size_t>(a)] && then > at(a).limit)
                    expected = charge_outcome::over_limit;
            const bool force = below(2) == 0;
            const auto s = force ? account::transfer(*it.real, *at(to).real, moved)
                                 : account::try_transfer(*it.real, *at(to).real, moved);
            const charge_outcome reported =
                force && expected == charge_outcome::over_limit ? charge_outcome::forced : expected;
            if (s.outcome != reported) return false;
            if (s.charged()) break;
            it.own += moved, at(to).own -= moved;
            for (std::size_t a = 0; a != nodes_.size(); ++a) nodes_[a].reserved = reserved[a];
            break;
        }
        case 4:
            if (below(4) == 0) {
                const auto s = it.real->force_charge(bytes);
                const charge_outcome expected = bytes != 0 ? outcome(n, more) : charge_outcome::fits;
                if (s.outcome != (expected == charge_outcome::over_limit ? charge_outcome::forced : expected))
                    return false;
                if (s.charged()) it.own += bytes;
            }
            break;
        case 5: { // held, then confirmed or not
            const charge_outcome expected = outcome(n, more);
            const auto s = it.real->try_hold(bytes);
            if (s.outcome != expected) return false;
            if (!s.charged()) break;
            if (below(2) == 0) it.real->cancel(bytes);
            else it.real->confirm(bytes), it.own += bytes;
            break;
        }
        case 6: {
            const std::size_t before = used(n), was = std::max(it.reserved, before);
            bool fits = it.closed_by == -1 && (bytes == 0 || was + bytes <= it.limit); // 0 bytes always fit
            if (fits && bytes != 0 && it.parent != -1)
                fits = outcome(it.parent, static_cast<std::ptrdiff_t>(was + bytes - std::max(it.reserved, before))) ==
                       charge_outcome::fits;
            allot::account_reservation made = it.real->reserve_for(bytes, 0_ms);
            if (static_cast<bool>(made) != fits) return false;
            if (!fits) break;
            it.promises.push_back({std::move(made), before});
            it.reserved = was + bytes;
            break;
        }
        case 7:
            if (!it.promises.empty()) {
                const std::size_t which = below(it.promises.size()), has = it.promises[which].real.bytes();
                lessen_promise(n, which, has == 0 || below(2) == 0 ? 0 : below(has));
            }
            break;
        case 8:
        case 9: {
            const std::size_t back = it.own == 0 ? 0 : 1 + below(it.own);
            it.real->refund(back);
            it.own -= back;
            break;
        }
        default: { // 0 bytes are always charged
            const charge_outcome expected = bytes != 0 ? outcome(n, more) : charge_outcome::fits;
            const auto s = it.real->try_charge(bytes);
            if (s.outcome != expected) return false;
            if (!s.fitted() && s.at == nullptr) return false;
            if (s.outcome == charge_outcome::closed && s.at != at(it.closed_by).real.get()) return false;
            if (s.charged()) it.own += bytes;
        }
        }
        peaks();
        settle_promises();
        end_drained(); // a transfer may end its account, whose reservation it used
        settle_promises();
        return good_;
    }
    bool agrees() {
        if (!at(0).real->verify()) return false;
        for (int n = 0; n != static_cast<int>(nodes_.size()); ++n) {
            if (!at(n).live()) continue;
            const auto f = at(n).real->stats();
            if (f.own != at(n).own || f.reservation != at(n).reserved) return false;
            const bool same = f.used == used(n) && f.peak == at(n).peak;
            if (exact_ ? !same : f.used < used(n) || f.peak < at(n).peak) return false;
            if (!exact_ && !at(n).parent_once && !same) return false; // a leaf's figures are exact with steps, too
        }
        return true;
    }

    std::mt19937 random_;
    const bool exact_;
    bool good_ = true;
    std::vector<node> nodes_;
};

} // namespace

TEST_CASE("accounts: random traces against the model", "[accounts][model]") {
    const char* const one = std::getenv("MODEL_SEED");
    for (unsigned seed = 1; seed <= 400; ++seed) {
        if (one != nullptr && std::strtoul(one, nullptr, 10) != seed) continue;
        INFO("MODEL_SEED=" << seed);
        REQUIRE(trace(seed, true).run(1000));
        REQUIRE(trace(seed, false).run(1000));
    }
}
