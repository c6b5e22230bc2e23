// Random traces of quotas and reservations in a tree of four levels, beside charges, limits and ends of accounts, and
// blocks that a pool lends and gets back, held against a model that knows what each account was charged and what is
// promised to it, and computes every claim anew. Requests are queued, too: one that fits is never left in the queue.
// What a pool owes is read, and must be right: no limit is exceeded by a block that comes back, and nothing is owed
// that there is room for. The seed of a trace that fails is told; MODEL_SEED=n runs that one alone.
#include <support/catch.hpp>
#include <support/from_environment.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/task/quota.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

using allot::account;
using allot::account_reservation;
using allot::charge_outcome;
using allot::charge_status;

constexpr int levels = 4, below_each[] = {2, 2, 3}, all = 1 + 2 + 4 + 12, pool = 7; // a leaf
using figures = std::array<std::size_t, all>;

struct node {
    int parent = -1, depth = 0;
    std::size_t own = 0, limit = 0;
    std::size_t floors = 0;                               // of quotas and reservations
    std::size_t to_come = 0, reserved = 0, used_then = 0; // a leaf has one reservation of bytes to come, or floors
    std::size_t owed = 0;                                 // of what is reserved
    bool closing = false;
    std::unique_ptr<account> real;
};
// What a request makes of one account.
struct change {
    int of;
    std::size_t has, wanted;
    bool any() const { return wanted != has || has == 0; }
};
// Who requests: a quota of `at`, or a reservation in `at`.
struct asker {
    int at = 0;
    bool comes = false; // bytes to come
    std::unique_ptr<allot::quota> bank;
    std::unique_ptr<allot::reservation_request<std::function<void(account_reservation)>>> later;
    account_reservation made;
    std::map<int, std::size_t> has;
    std::vector<change> asked;
    bool queued = false;
    unsigned passed = 0; // requests that were granted since it was queued
};

class trace {
  public:
    // `due`: those that wait long are kept, so they hold back others. Exact: no leaf has credit.
    trace(unsigned seed, bool exact, bool due) : random_(seed), exact_(exact), due_(due) {
        for (int n = 0, first = 0, depth = 0; n != all; ++n) {
            nodes_[at_(n)].parent = n == 0 ? -1 : first + (n - first_of(depth)) / below_each[depth - 1];
            nodes_[at_(n)].depth = depth;
            open(n);
            if (n + 1 != all && n + 1 == first_of(depth + 1)) first = first_of(depth), ++depth;
        }
        for (int n = 0; n != all; ++n) {
            if (nodes_[at_(n)].depth + 1 != levels)
                for (int i = 0; i != 2; ++i) add(n).bank = std::make_unique<allot::quota>(*nodes_[at_(n)].real);
            if (n != 0) add(n).comes = is_stream(n);
        }
    }
    bool run(int steps) {
        for (int i = 0; i != steps; ++i)
            if (!step() || !agrees()) return std::printf("step %d\n", i), false;
        for (asker& a : askers_) cancel(a);
        for (asker& a : askers_) {
            if (a.bank) a.bank->release();
            a.made.release();
        }
        for (node& n : nodes_) n.real->refund(std::exchange(n.own, 0));
        return nodes_[0].real->used() == 0 && nodes_[0].real->verify() && good_;
    }

  private:
    static std::size_t at_(int n) { return static_cast<std::size_t>(n); }
    static int first_of(int depth) { return depth == 0 ? 0 : depth == 1 ? 1 : depth == 2 ? 3 : depth == 3 ? 7 : all; }
    static bool is_stream(int n) { return n >= 7 && (n - 7) % 3 == 2; }
    std::size_t below(std::size_t n) { return random_() % n; }
    node& at(int n) { return nodes_[at_(n)]; }
    bool is_leaf(int n) { return at(n).depth + 1 == levels; }

    void open(int n) {
        node& it = at(n);
        it.limit = n == 0 ? 2000 : below(3) == 0 ? 100000 : 300 + below(1200);
        it.closing = false;
        const allot::credit_step step{!exact_ && is_leaf(n) && below(2) == 0 ? std::size_t{64} : 0};
        const allot::limit most{it.limit};
        it.real.reset();
        if (n == 0) it.real = std::make_unique<account>(allot::name{"root"}, most);
        else it.real = std::make_unique<account>(*at(it.parent).real, allot::name{"below"}, most, step);
    }
    asker& add(int n) {
        asker& a = askers_.emplace_back();
        a.at = n;
        a.later = std::make_unique<allot::reservation_request<std::function<void(account_reservation)>>>(
            [this, &a](account_reservation got) {
                const charge_status s = got.status();
                a.made = std::move(got);
                called(a, s);
            });
        return a;
    }

    // ---- the model

    static std::size_t reserved(const node& n) { return std::max(n.floors, n.reserved); }
    figures used() const {
        figures sum{};
        for (std::size_t n = all; n-- != 0;) {
            sum[n] += nodes_[n].own;
            if (n != 0) sum[at_(nodes_[n].parent)] += std::max(sum[n], reserved(nodes_[n]) - nodes_[n].owed);
        }
        return sum;
    }
    figures subtree_charges() const {
        figures charged = used();
        for (std::size_t n = 0; n != charged.size(); ++n)
            charged[n] = std::max(charged[n], reserved(nodes_[n]) - nodes_[n].owed);
        return charged;
    }
    figures owed() const {
        figures debts{};
        for (std::size_t n = 0; n != all; ++n) debts[n] = nodes_[n].owed;
        return debts;
    }
    // Changes what is reserved: of what ends, first what is owed.
    template <class Change> void reserving(Change make) {
        figures before{};
        for (std::size_t n = 0; n != all; ++n) before[n] = reserved(nodes_[n]);
        make();
        for (std::size_t n = 0; n != all; ++n) {
            const std::size_t now = reserved(nodes_[n]), fewer = before[n] - std::min(before[n], now);
            nodes_[n].owed -= std::min(nodes_[n].owed, fewer);
        }
    }
    void read_owed() {
        for (node& n : nodes_) n.owed = n.real->stats().owed;
    }
    bool owes_any() const {
        return std::any_of(nodes_.begin(), nodes_.end(), [](const node& n) { return n.owed != 0; });
    }
    int common(int a, int b) {
        while (a != b) (at(a).depth >= at(b).depth ? a : b) = at(at(a).depth >= at(b).depth ? a : b).parent;
        return a;
    }
    bool is_below(int n, int other) {
        while (n != -1 && n != other) n = at(n).parent;
        return n == other;
    }
    // Whether no level from this one up exceeds its limit by what has changed.
    bool fit_from(int n, const figures& before) {
        const figures now = used();
        for (; n != -1; n = at(n).parent)
            if (now[at_(n)] > before[at_(n)] && now[at_(n)] > at(n).limit) return false;
        return true;
    }
    int above(const asker& a) { return a.bank ? a.at : at(a.at).parent; }
    charge_outcome own_outcome(const asker& a, const std::vector<change>& asked, const figures& now) {
        bool over = false;
        for (const change& c : asked) {
            const node& n = at(c.of);
            if (!c.any()) continue;
            if (n.closing) return charge_outcome::closed;
            const std::size_t before = a.comes ? std::max(now[at_(c.of)], n.reserved) : n.floors - c.has;
            over = over || (c.wanted > c.has && before + c.wanted > n.limit);
        }
        return over ? charge_outcome::over_limit : charge_outcome::fits;
    }
    void apply(asker& a, const std::vector<change>& asked) {
        const figures now = used(), charges = subtree_charges(), was = owed();
        reserving([&] { apply(a, asked, now); });
        std::size_t moves = 0; // what one is owed no more, another one is
        const figures is = owed(), then = subtree_charges();
        for (int n = 0; n != all; ++n) moves += was[at_(n)] - is[at_(n)];
        for (int n = 0; n != all; ++n) {
            const std::size_t more = std::max(then[at_(n)], charges[at_(n)]) - charges[at_(n)];
            const bool asks = std::any_of(asked.begin(), asked.end(), [&](const change& c) { return c.of == n; });
            if (!asks) continue;
            const std::size_t takes = std::min(moves, more);
            moves -= takes, at(n).owed += takes;
        }
    }
    void apply(asker& a, const std::vector<change>& asked, const figures& now) {
        for (const change& c : asked) {
            node& n = at(c.of);
            if (a.comes) {
                n.used_then = now[at_(c.of)];
                n.to_come += c.wanted - c.has;
                n.reserved = std::max(n.used_then, n.reserved) + c.wanted - c.has;
            } else {
                n.floors = n.floors - c.has + c.wanted;
            }
        }
    }
    // The outcome now; where it fits, the model has it from then on.
    charge_outcome try_now(asker& a, const std::vector<change>& asked) {
        const figures before = used();
        if (const charge_outcome own = own_outcome(a, asked, before); own != charge_outcome::fits) return own;
        const auto was = save();
        apply(a, asked);
        if (fit_from(above(a), before)) return charge_outcome::fits;
        load(was);
        return charge_outcome::over_limit;
    }
    bool can_ever(const asker& a) {
        std::size_t sum = 0;
        for (const change& c : a.asked) {
            if (c.any() && (at(c.of).closing || (c.wanted > c.has && c.wanted > at(c.of).limit))) return false;
            sum += c.wanted;
        }
        for (int n = above(a); n != -1; n = at(n).parent)
            if (sum > at(n).limit) return false;
        return true;
    }
    struct promised {
        std::size_t floors, to_come, reserved, used_then, owed;
    };
    std::array<promised, all> save() const {
        std::array<promised, all> was{};
        for (std::size_t n = 0; n != all; ++n)
            was[n] = {nodes_[n].floors, nodes_[n].to_come, nodes_[n].reserved, nodes_[n].used_then, nodes_[n].owed};
        return was;
    }
    void load(const std::array<promised, all>& was) {
        for (std::size_t n = 0; n != all; ++n) {
            node& to = nodes_[n];
            to.floors = was[n].floors, to.to_come = was[n].to_come;
            to.reserved = was[n].reserved, to.used_then = was[n].used_then, to.owed = was[n].owed;
        }
    }
    void settle() {
        const figures now = used();
        reserving([&] {
            for (std::size_t n = 0; n != all; ++n)
                nodes_[n].reserved =
                    nodes_[n].to_come == 0 ? 0 : std::min(nodes_[n].reserved, now[n] + nodes_[n].to_come);
        });
    }
    void granted(asker& a) {
        for (const change& c : a.asked) {
            a.has[c.of] = c.wanted;
            if (c.wanted == 0) a.has.erase(c.of);
        }
        for (asker& o : askers_) o.passed += o.queued;
    }

    // ---- requests

    bool check(bool holds, const char* what) {
        if (!holds) std::printf("%s\n", what);
        return good_ = good_ && holds, holds;
    }
    // A queued one is decided: it fits now, or never.
    void called(asker& a, const charge_status& s) {
        check(std::exchange(a.queued, false), "called, but not queued");
        settle();
        const bool owes = owes_any();
        read_owed(); // by then what is free has paid; a batch that gives up some has ended that, too
        if (s.charged() && (owes || owes_any())) return apply(a, a.asked), read_owed(), granted(a);
        const bool never = !can_ever(a);
        const charge_outcome now = try_now(a, a.asked);
        if (s.charged()) check(now == charge_outcome::fits, "granted, but does not fit"), granted(a);
        else check(now != charge_outcome::fits && never, "refused, but may fit");
    }
    void request(asker& a, bool queues) {
        if (a.queued || (!a.bank && !a.has.empty())) return;
        a.asked.clear();
        std::vector<allot::quota::share> batch;
        if (!a.bank) {
            a.asked.push_back({a.at, 0, 1 + below(400)});
        } else {
            for (const auto& [of, has] : a.has) a.asked.push_back({of, has, has});
            for (int n = 1; n != all; ++n) {
                if (at(n).parent != a.at || is_stream(n) || below(3) == 0) continue;
                const std::size_t bytes = below(3) == 0 ? 0 : below(500);
                batch.push_back({*at(n).real, bytes});
                const auto has = a.has.find(n);
                if (has == a.has.end() && bytes != 0) a.asked.push_back({n, 0, bytes});
                for (change& c : a.asked)
                    if (c.of == n) c.wanted = bytes;
            }
        }
        const auto was = save();
        const bool can = can_ever(a);
        charge_outcome expected = a.asked.empty() ? charge_outcome::fits : try_now(a, a.asked);
        const bool waits = queues && expected == charge_outcome::over_limit && can;
        if (waits) expected = charge_outcome::queued;
        a.queued = waits; // it may be called before the request returns
        if (expected == charge_outcome::fits) granted(a);
        const charge_status s = make(a, batch, queues);
        if (s.outcome == expected) return void(a.passed = 0);
        const bool behind = due_ && expected == charge_outcome::fits &&
                            (s.outcome == charge_outcome::held_back || s.outcome == charge_outcome::queued);
        check(behind, "another outcome");
        load(was);
        a.has.clear();
        for (const change& c : a.asked)
            if (c.has != 0) a.has[c.of] = c.has;
        a.queued = s.outcome == charge_outcome::queued;
    }
    charge_status make(asker& a, const std::vector<allot::quota::share>& batch, bool queues) {
        if (a.bank && queues) return a.bank->request(batch, [this, &a](const charge_status& s) { called(a, s); });
        if (a.bank) return a.bank->request(batch, 0_ms);
        account& in = *at(a.at).real;
        const std::size_t bytes = a.asked[0].wanted;
        account_reservation got;
        if (queues) got = a.comes ? in.reserve_for(bytes, *a.later) : in.reserve_floor_for(bytes, *a.later);
        else got = a.comes ? in.reserve_for(bytes, 0_ms) : in.reserve_floor_for(bytes, 0_ms);
        const charge_status s = got.status();
        if (got) a.made = std::move(got);
        return s;
    }
    void cancel(asker& a) {
        if (!a.queued) return;
        a.queued = false;
        check(a.bank ? a.bank->cancel() : a.later->cancel(), "it was queued");
    }
    // It keeps no more than that of what the account has by it.
    void lessen(asker& a, int of, std::size_t keeps, bool holds) {
        const auto has = a.has.find(of);
        if (a.queued || has == a.has.end()) return;
        keeps = std::min(keeps, has->second);
        node& n = at(of);
        const std::size_t fewer = has->second - keeps;
        const std::size_t now = used()[at_(of)], charged = std::max(now, n.used_then) - n.used_then;
        reserving([&] {
            if (!a.comes) return void(n.floors -= fewer);
            n.reserved -= std::min({n.reserved, fewer, has->second - std::min(has->second, charged)});
            n.to_come -= fewer;
        });
        if (keeps == 0) a.has.erase(has);
        else has->second = keeps;
        settle();
        if (!a.bank) return a.made.shrink_to(keeps);
        holds ? a.bank->hold(*n.real) : a.bank->release(*n.real);
    }
    // Ends a leaf, and opens another one in its place.
    void replace(int n) {
        node& it = at(n);
        it.closing = true;
        bool ended = false;
        ended =
            it.real->close_when_drained([](account&, void* to) noexcept { *static_cast<bool*>(to) = true; }, &ended);
        for (asker& a : askers_)
            for (const change& c : a.asked) check(!a.queued || c.of != n || !c.any(), "waits for a closed account");
        for (asker& a : askers_) {
            if (!a.has.contains(n)) continue;
            cancel(a);
            if (a.bank && below(2) == 0) check(!a.bank->request({{*it.real, 501}}, 0_ms), "closed");
            lessen(a, n, 0, false);
        }
        it.real->refund(std::exchange(it.own, 0));
        check(it.real->has_ended(), "it has drained");
        open(n);
    }

    // A block of the pool.
    bool lend(int n, std::size_t bytes) {
        node& from = at(pool);
        if (bytes == 0 || bytes > from.own) return true;
        const figures before = used();
        std::size_t to_others = 0; // that the pool owes them, and has nothing else for
        for (int m = 0; m != all; ++m)
            if (!is_below(n, m)) to_others += at(m).owed;
        to_others -= std::min(to_others, from.own - bytes);
        const auto was = save();
        from.own -= bytes, at(n).own += bytes;
        settle();
        const bool fits = fit_from(n, before);
        const charge_status s = allot::detail::charge_from(from.real->node(), at(n).real->node(), bytes, {});
        if (!s.charged()) from.own += bytes, at(n).own -= bytes, load(was);
        return check(s.charged() ? fits : !fits || to_others != 0, "another outcome of a block");
    }
    bool give_back(int n) {
        if (at(n).own == 0) return true;
        const std::size_t bytes = 1 + below(at(n).own);
        const int top = common(pool, n);
        const figures before = used();
        at(n).own -= bytes, at(pool).own += bytes;
        settle();
        allot::detail::return_to(at(pool).real->node(), at(n).real->node(), bytes);
        read_owed();
        settle();
        const figures now = used();
        bool keeps = false; // more than it uses: that could be owed
        for (int m = n; m != top; m = at(m).parent) {
            std::size_t sum = at(m).own;
            for (int c = 1; c != all; ++c)
                if (at(c).parent == m) sum += std::max(now[at_(c)], reserved(at(c)) - at(c).owed);
            keeps = keeps || reserved(at(m)) - at(m).owed > sum;
        }
        for (int m = top; m != -1; m = at(m).parent)
            if (!check(now[at_(m)] <= std::max(at(m).limit, before[at_(m)]) || !keeps,
                       "a block that came back counts twice"))
                return false;
        return true;
    }
    // Whether there is room to count a byte more of what is owed.
    bool could_pay(int n) {
        const figures before = used();
        --at(n).owed;
        const bool fits = fit_from(at(n).parent, before);
        ++at(n).owed;
        return fits;
    }

    bool step() {
        const int n = static_cast<int>(below(all));
        node& it = at(n);
        const std::size_t bytes = below(4) == 0 ? below(800) : below(100);
        asker& a = askers_[below(askers_.size())];
        switch (below(16)) {
        case 0:
            it.limit = n == 0 ? 1500 + below(1000) : below(2) == 0 ? 100000 : 100 + below(1500);
            it.real->set_limit(it.limit);
            break;
        case 1:
            if (is_leaf(n) && n != pool && below(4) == 0) replace(n);
            break;
        case 2:
            if (below(8) == 0) it.own += bytes, settle(), it.real->force_charge(bytes);
            break;
        case 3: {
            const int to = static_cast<int>(below(all));
            if (to == n || it.own == 0) break;
            const std::size_t moved = 1 + below(it.own);
            const bool force = below(4) == 0;
            const figures before = used();
            const auto was = save();
            it.own -= moved, at(to).own += moved;
            settle();
            const bool fits = fit_from(to, before);
            if (!fits && !force) it.own += moved, at(to).own -= moved, load(was);
            const charge_status s = force ? account::transfer(*it.real, *at(to).real, moved)
                                          : account::try_transfer(*it.real, *at(to).real, moved);
            if (!check(s.fitted() == fits && s.charged() == (fits || force), "another outcome of a transfer"))
                return false;
            break;
        }
        case 4:
        case 5: {
            const std::size_t back = it.own == 0 ? 0 : 1 + below(it.own);
            it.own -= back;
            settle();
            it.real->refund(back);
            break;
        }
        case 6:
        case 7: {
            const figures before = used();
            it.own += bytes;
            const bool fits = fit_from(n, before);
            if (!fits) it.own -= bytes;
            if (!check(it.real->try_charge(bytes).charged() == fits, "another outcome of a charge")) return false;
            break;
        }
        case 8:
        case 9:
        case 10: request(a, false); break;
        case 11: request(a, true); break;
        case 12:
            if (n != pool && !lend(n, bytes)) return false;
            break;
        case 13:
            if (n != pool && !give_back(n)) return false;
            break;
        default:
            if (below(due_ ? 30 : 3) == 0) cancel(a);
            else if (!a.bank) lessen(a, a.at, below(2) == 0 ? 0 : below(300), false);
            else if (const int of = static_cast<int>(below(all)); a.has.contains(of)) {
                const bool holds = (exact_ || is_leaf(of)) && below(2) == 0;
                lessen(a, of, holds ? at(of).real->used() : 0, holds);
            }
        }
        read_owed();
        settle();
        for (asker& waits : askers_)
            if (!due_ && waits.passed > 14) cancel(waits); // so none is due
        return good_;
    }
    bool agrees() {
        read_owed();
        settle();
        const figures now = used();
        const auto queued = std::count_if(askers_.begin(), askers_.end(), [](const asker& a) { return a.queued; });
        for (int n = 0; n != all; ++n) {
            const auto f = at(n).real->stats();
            if (!check(f.own == at(n).own && f.reservation == reserved(at(n)), "what is reserved")) return false;
            if (!check(f.owed <= reserved(at(n)) && (f.owed == 0 || !exact_ || !could_pay(n)), "what is owed"))
                return false;
            if (!check(exact_ || is_leaf(n) ? f.used == now[at_(n)] : f.used >= now[at_(n)], "what is used"))
                return false;
        }
        for (asker& a : askers_) {
            if (a.bank)
                for (int n = 1; n != all; ++n)
                    if (!a.queued && at(n).parent == a.at &&
                        !check(a.bank->promised(*at(n).real) == (a.has.contains(n) ? a.has[n] : 0), "a promise"))
                        return false;
            if (!a.queued || (due_ && queued > 1)) continue; // it may go behind another one
            const auto was = save();
            const bool fits = try_now(a, a.asked) == charge_outcome::fits;
            load(was);
            if (!check(!fits && can_ever(a), "it waits, though it fits, or never can")) return false;
        }
        return true;
    }

    std::mt19937 random_;
    const bool exact_, due_;
    bool good_ = true;
    std::array<node, all> nodes_; // children behind their parent
    std::deque<asker> askers_;    // callbacks keep their addresses
};

void run(unsigned seeds, int steps) {
    const char* const one = std::getenv("MODEL_SEED");
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        if (one != nullptr && std::strtoul(one, nullptr, 10) != seed) continue;
        INFO("MODEL_SEED=" << seed);
        REQUIRE(trace(seed, seed % 2 != 0, seed % 4 == 0).run(steps));
    }
}

} // namespace

TEST_CASE("quotas and reservations: random traces against the model", "[task][quota][model]") {
    run(support::in_short_run() ? 200 : 400, 500);
}

TEST_CASE("quotas and reservations: a million steps against the model", "[.][long]") { run(1000, 1000); }
