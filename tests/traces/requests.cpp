// Requests for memory that meet each other, by seed, on a virtual clock: what each gets, whom the library calls for it,
// in which order, and with which text it is refused. Programs of two commits say the same, or the difference has a
// reason.
//
//     requests                                          a smoke, for every run of the tests
//     requests --seeds 2000 --against tests/traces/requests.txt      which seeds went another way than when it was kept
//     requests --seeds 1 --first 17 --log 17.txt                     all that happened there
//
// A seed draws a tree of accounts, objects with memory below it, reclaimers of several costs, and two to four roles,
// which take and return memory, wait, cancel, transfer, promise, close, change limits, and make system calls fail.
//
// The oracle: a request that a limit refuses did not fit there: what the test itself holds, in whole pages, with the
// request, and without what willing reclaimers at and below the level could free, is more than the limit of a level
// that it needs. It says nothing of requests
//   - that are held back, cancelled, closed, queued, rolled back or split, or made inside a call of a reclaimer;
//   - refused by the system, a device or an address space; or while a system call is made to fail;
//   - with a deadline, that only reclaimers could serve: their time may end within calls, of others, too;
//   - that found no room at a moment since they were made, or woken: what others freed meanwhile, they may have missed.
// What another role asks for, whose request is in the middle of a call of a reclaimer, counts as held.
// Pages that a live row or block may keep: those that its bytes can touch. Blocks of a pool: the same, at the levels
// that the account and the pool share. While a device allocator has a live block: all that its account uses besides,
// since a block keeps its piece, and only the allocator knows how large that is. A promise counts beside what its
// account uses. Books of objects are within what nobody is charged for.
//
// Buffers of a device's pool, which the library does not let sleep, do not wait here (source::waits); nor do, in what
// is compared with the kept log, the global rows of channels, which did not sleep then. Where another wait does not
// sleep, the stage lets time pass, and that is wrong.
#include <support/stage.hpp>

#include <allot/buffers.hpp>
#include <allot/channel/channels.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <allot/task/quota.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::name;
using soak::dice;
namespace fault = allot::detail::sys::fault;
namespace oom = allot::oom;

// Named, so that texts say the same with each compiler.
namespace sets {

struct plain_rows : allot::policies<allot::ledger::tree> {};
struct chain_rows : allot::policies<allot::ledger::tree, allot::spill::chain, oom::state_machine> {};
struct run_blocks : allot::policies<allot::ledger::tree, allot::fit::runs> {};
struct chain_blocks : allot::policies<allot::ledger::tree, allot::spill::chain, allot::fit::best> {};
struct pool_blocks : allot::policies<allot::ledger::pool, allot::fit::runs> {};
struct counted_blocks : allot::policies<allot::fit::runs> {};
using on_device = allot::page::on_device<allot::device::simulated>;
struct device_memory : allot::policies<on_device, allot::order::stream, allot::ledger::tree, allot::spill::chain> {};
struct device_pool : allot::policies<on_device, allot::order::stream, allot::ledger::pool> {};
struct channel_set : allot::policies<allot::spill::chain> {};

} // namespace sets

namespace {

using namespace sets;

bool as_kept = false; // it is compared with the log of an older library
constexpr std::size_t page = 64_KiB, device_piece = 2_MiB;
constexpr std::size_t in_pages(std::size_t bytes) {
    return bytes + 128 <= page / 2 ? page : (bytes + 128 + page - 1) / page * page + page;
}
constexpr std::size_t in_pieces(std::size_t bytes) { return (bytes / device_piece + 2) * device_piece; }

// ---- what the log says --------------------------------------------------------------------------------------------

enum class kind : std::uint8_t { granted, refused, verdict, called, woken, other };
constexpr std::size_t kinds = 6;

struct journal {
    std::string text;
    std::array<std::uint64_t, kinds> events{};
    std::uint64_t all = 0, results = 0; // hashes: of each line; of grants, refusals and verdicts

    void add(kind k, const std::string& line) {
        if (++events[static_cast<std::size_t>(k)] == 100'000)
            std::fprintf(stderr, "it does not end:\n%s", text.substr(text.size() - 2'000).c_str()), std::_Exit(1);
        for (const char c : line) all = soak::mix(all ^ static_cast<unsigned char>(c));
        if (k <= kind::verdict)
            for (const char c : line) results = soak::mix(results ^ static_cast<unsigned char>(c));
        text.append(line).push_back('\n');
    }
};

// ---- what the test knows of the tree --------------------------------------------------------------------------------

// An account, and all that is held there and below.
struct level {
    account* of;
    level* above;
    std::size_t limit;
    std::size_t base = limit; // that it had first
    std::size_t live = 0;
    bool is_closed = false, is_product = false, is_device = false;
    bool is_open() const { return !is_closed && (above == nullptr || above->is_open()); }
    bool is_below(const level& other) const { return this == &other || (above != nullptr && above->is_below(other)); }
    level& common(level& other) { return other.is_below(*this) ? *this : above->common(other); }
};
// Bytes that something holds at a level and those above; fewer than none: what two of them would count twice.
struct use {
    level* at;
    std::ptrdiff_t bytes;
};
using uses = std::vector<use>;
uses one_use(level& at, std::size_t bytes) { return {{&at, static_cast<std::ptrdiff_t>(bytes)}}; }
std::ptrdiff_t sum_at(const uses& all, const level& at) {
    std::ptrdiff_t sum = 0;
    for (const use& u : all)
        if (u.at->is_below(at)) sum += u.bytes;
    return sum;
}

// Memory that is held until it is freed.
class piece_of_memory {
  public:
    piece_of_memory(std::size_t size, uses of, std::function<void()> frees, level* charged = nullptr)
        : bytes(size), charged_to(charged), holds_(std::move(of)), frees_(std::move(frees)) {
        add(1);
    }
    piece_of_memory(piece_of_memory&& o) noexcept
        : bytes(o.bytes), charged_to(o.charged_to), holds_(std::move(o.holds_)),
          frees_(std::exchange(o.frees_, nullptr)) {}
    piece_of_memory& operator=(piece_of_memory&& o) noexcept {
        if (frees_) free();
        bytes = o.bytes, charged_to = o.charged_to, holds_ = std::move(o.holds_);
        frees_ = std::exchange(o.frees_, nullptr);
        return *this;
    }
    ~piece_of_memory() {
        if (frees_) free();
    }
    std::size_t bytes;
    level* charged_to; // of a plain charge
    // It is the charge of another account from now on.
    void move_to(level& to) {
        add(-1);
        charged_to = &to, holds_ = one_use(to, bytes);
        frees_ = [&a = *to.of, n = bytes] { a.refund(n); };
        add(1);
    }

  private:
    void free() {
        std::exchange(frees_, nullptr)();
        add(-1);
    }
    void add(int sign) {
        for (const use& u : holds_)
            for (level* n = u.at; n != nullptr; n = n->above)
                n->live = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(n->live) + sign * u.bytes);
    }
    uses holds_;
    std::function<void()> frees_;
};

enum class how : std::uint8_t { tries, plain, timed, patient };

// Something that has memory: an account, or a product below one.
struct source {
    explicit source(std::string called, bool calls = true) : text(std::move(called)), calls_reclaimers(calls) {}
    virtual ~source() = default;
    virtual uses needs(level& by, std::size_t bytes) = 0;
    // Null, and why; or it throws.
    virtual std::function<void()> take(level& by, std::size_t bytes, how, const allot::wait_limit&, charge_status&) = 0;
    virtual void trim() {}
    std::string text;
    bool calls_reclaimers, waits = true;
};

struct charges final : source {
    charges() : source("charge") {}
    uses needs(level& by, std::size_t bytes) override { return one_use(by, bytes); }
    std::function<void()> take(level& by, std::size_t bytes, how h, const allot::wait_limit& w,
                               charge_status& why) override {
        account& a = *by.of;
        why = h == how::tries ? a.try_charge(bytes) : h == how::plain ? a.charge(bytes) : a.charge_for(bytes, w);
        return why ? std::function<void()>{[&a, bytes] { a.refund(bytes); }} : nullptr;
    }
};

// Rows and blocks: pages of the object's own account.
template <class Manager> struct of_pages final : source {
    template <class... Values>
    of_pages(std::string called, bool calls, level& l, const Values&... values)
        : source(std::move(called), calls), at(l), object(*l.above->of, name{text.c_str()}, values...) {
        at.of = &object.account();
    }
    uses needs(level&, std::size_t bytes) override {
        return one_use(at, in_pages(std::max(bytes, object.capacity_for(bytes))));
    }
    std::function<void()> take(level&, std::size_t bytes, how h, const allot::wait_limit& w,
                               charge_status& why) override {
        if constexpr (requires { object.release(nullptr); }) {
            void* const p = h == how::tries   ? object.try_allocate(bytes, allot::untyped, &why)
                            : h == how::plain ? object.allocate(bytes)
                                              : object.allocate_for(bytes, w, allot::untyped, &why);
            return p != nullptr ? std::function<void()>{[this, p] { object.release(p); }} : nullptr;
        } else {
            void* const p = (h == how::tries   ? object.try_allocate(bytes, 64, &why)
                             : h == how::plain ? object.allocate(bytes)
                                               : object.allocate_for(bytes, w, 64, &why))
                                .address;
            return p != nullptr ? std::function<void()>{[this, p] { object.deallocate(p); }} : nullptr;
        }
    }
    void trim() override { object.trim(); }
    level& at;
    Manager object;
};

// Buffers: a block of a source, which an account is charged for. `pool`: the level of its pages; null: in no tree.
struct buffers final : source {
    buffers(std::string called, allot::buffer_memory of, level* pages, std::size_t unit)
        : source(std::move(called)), memory(of), pool(pages), unit_of_pool(unit) {}
    uses needs(level& by, std::size_t bytes) override {
        const std::size_t block = memory.capacity_for(bytes);
        uses all = one_use(by, block);
        if (pool == nullptr) return all;
        const std::size_t pages = unit_of_pool == page ? in_pages(block) : in_pieces(block);
        all.push_back({pool, static_cast<std::ptrdiff_t>(pages)});
        if (by.is_below(*pool->above)) all.push_back({pool->above, -static_cast<std::ptrdiff_t>(block)});
        return all;
    }
    std::function<void()> take(level& by, std::size_t bytes, how h, const allot::wait_limit& w,
                               charge_status& why) override {
        auto b = std::make_shared<allot::buffer>(h == how::tries   ? memory.try_allocate(*by.of, bytes, &why)
                                                 : h == how::plain ? memory.allocate(*by.of, bytes)
                                                                   : memory.allocate_for(*by.of, bytes, w, &why));
        return *b ? std::function<void()>{[b] { *b = {}; }} : nullptr;
    }
    void trim() override {
        if (trims) trims();
    }
    allot::buffer_memory memory;
    level* pool;
    std::size_t unit_of_pool;
    std::function<void()> trims;
};

using channels = allot::channels<channel_set>;
using stream = allot::device::simulated::stream_type;
constexpr allot::leak_sink unheard{[](void*, std::string_view) noexcept {}};

// Blocks of a device that one stream uses.
struct on_gpu final : source {
    on_gpu(std::string called, level& l, const allot::device::simulated& api, stream of)
        : source(std::move(called)), at(l), gpu(api, *l.above->of, name{text.c_str()}, unheard), on(of) {
        at.of = &gpu.account();
    }
    uses needs(level&, std::size_t bytes) override { return one_use(at, in_pieces(bytes)); }
    std::function<void()> take(level&, std::size_t bytes, how h, const allot::wait_limit& w,
                               charge_status& why) override {
        void* const p = h == how::tries   ? gpu.try_allocate(bytes, on, &why)
                        : h == how::plain ? gpu.allocate(bytes, on)
                                          : gpu.allocate_for(bytes, on, w, 256, &why);
        return p != nullptr ? std::function<void()>{[this, p] { gpu.deallocate(p, on); }} : nullptr;
    }
    void trim() override { gpu.trim(); }
    level& at;
    allot::device_allocator<device_memory> gpu;
    stream on;
};

// Rows of one channel, or the global ones, whose pages all channels pay for.
struct rows_of_channels final : source {
    // `parts`: the levels that pay equal parts; `rest`: that of the manager.
    rows_of_channels(std::string called, std::shared_ptr<channels> all, std::size_t which, std::vector<level*> parts,
                     level& rest)
        : source(std::move(called)), of(std::move(all)), index(which), pay(std::move(parts)), own(rest) {}
    uses needs(level&, std::size_t bytes) override {
        const std::size_t pages = in_pages(bytes);
        const std::size_t each = pay.empty() ? 0 : pages / 4096 * (4096 / pay.size());
        uses all = one_use(own, pages - each * pay.size());
        for (level* const l : pay) all.push_back({l, static_cast<std::ptrdiff_t>(each)});
        return all;
    }
    template <class Rows>
    std::function<void()> take_from(Rows& rows, std::size_t bytes, how h, const allot::wait_limit& w,
                                    charge_status& why) {
        void* const p = h == how::tries   ? rows.try_allocate(bytes, allot::untyped, &why)
                        : h == how::plain ? rows.allocate(bytes)
                                          : rows.allocate_for(bytes, w, allot::untyped, &why);
        return p != nullptr ? std::function<void()>{[&rows, p] { rows.release(p); }} : nullptr;
    }
    std::function<void()> take(level&, std::size_t bytes, how h, const allot::wait_limit& w,
                               charge_status& why) override {
        return pay.empty() ? take_from(of->channel(index), bytes, h, w, why)
                           : take_from(of->global(), bytes, h, w, why);
    }
    void trim() override { pay.empty() ? of->channel(index).trim() : of->global().trim(); }
    std::shared_ptr<channels> of;
    std::size_t index;
    std::vector<level*> pay;
    level& own;
};

// ---- a scenario ---------------------------------------------------------------------------------------------------

class scenario;

// Holds memory, and gives it up in its own way.
class giver final : public allot::reclaimer {
  public:
    enum class way : std::uint8_t { missing, all, when_critical, a_third, later, claims };
    static constexpr std::array<const char*, 6> words{"what is missing", "all",      "all when critical",
                                                      "a third of it",   "it later", "nothing, but says so"};
    giver(scenario& of, level& l, const char* text, std::uint32_t cost, way w, bool ahead)
        : reclaimer(text, cost), at(l), gives(w), in_(of), is_asked_ahead_(ahead) {}
    bool helps(const allot::shortage& s) const noexcept override { return is_asked_ahead_ || !s.ahead; }
    bool reclaim(const allot::shortage& s) noexcept override;
    void end_write(bool fails);
    // What it frees of charges where it must free all that it can.
    std::size_t would_free() const {
        std::size_t sum = 0;
        for (const piece_of_memory& p : holds) sum += p.charged_to != nullptr ? p.bytes : 0;
        return calls_now == 0 && gives <= way::when_critical && at.is_open() ? sum : 0;
    }
    level& at;
    const way gives;
    std::vector<piece_of_memory> holds, writes;
    int calls_now = 0;

  private:
    scenario& in_;
    const bool is_asked_ahead_;
};

// A request that a role makes now.
struct open_request {
    std::string what;
    uses needs;
    bool calls; // reclaimers
    bool is_asleep = false, had_room = false;
    allot::cancellation stop{};
};

class scenario {
  public:
    explicit scenario(std::uint64_t seed)
        : seed_(seed), stage_(seed,
                              [this] {
                                  std::printf("seed %llu: nobody wakes a role\n%s",
                                              static_cast<unsigned long long>(seed_), log.text.c_str());
                                  return false;
                              },
                              {}) {
        dice d(seed);
        draw_accounts(d);
        draw_objects(d);
        const std::size_t roles = 2 + d.below(3);
        for (std::size_t i = 0; i != roles; ++i) {
            roles_.push_back(std::make_unique<role>(d.next()));
            roles_[i]->home = &any_level(d);
            roles_[i]->is_task = arbiter_ && !d.one_in(4);
            stage_.add([this, i] { live(i); });
        }
        stage_.add([this] { write_back(); });
        stage_.watch_clock([this] {
            for (const auto& r : roles_)
                if (r->open != nullptr && !r->open->is_asleep)
                    wrong_ += "does not sleep: " + r->open->what +
                              (roles_[stage_.role_now()].get() == r.get() ? "\n" : ", beside\n");
        });
        stage_.watch_sleep([this](std::size_t me, support::stage::rest r) {
            open_request* const mine = me < roles_.size() ? roles_[me]->open : nullptr;
            if (mine == nullptr) return;
            mine->is_asleep = r == support::stage::rest::begins;
            if (!mine->is_asleep) mine->had_room = has_room(*mine); // it is made again
            if (r == support::stage::rest::ends_signalled) line(kind::woken, "is woken");
        });
    }
    scenario(const scenario&) = delete;
    // Returns: what is wrong, by the oracle.
    std::string play() {
        in_play_ = true;
        stage_.play();
        in_play_ = false;
        for (auto& g : givers_) g->at.of->remove(*g), g->holds.clear();
        quota_.reset();
        promised_.clear(), promises_.clear();
        for (const level& l : levels_)
            if (l.live != 0) wrong_ += "the test lost count\n";
        while (!sources_.empty()) sources_.pop_back();
        while (!kept_.empty()) kept_.pop_back();
        if (api_) static_cast<void>(api_->destroy_stream(stream_));
        for (; !accounts_.empty(); accounts_.pop_back()) // those below have ended, and their credit with them
            if (const account& a = *accounts_.back(); !a.verify() || a.used() != 0)
                wrong_ += std::string(a.name()) + " has bytes at the end\n";
        return std::move(wrong_);
    }
    void line(kind k, const std::string& what) {
        const std::size_t me = stage_.role_now();
        log.add(k, (!in_play_ ? "" : me == roles_.size() ? "w  " : "r" + std::to_string(me + 1) + " ") + what);
    }
    support::stage& on() { return stage_; }
    bool flips(std::size_t n) { return stage_.role_now() < roles_.size() && now().random.one_in(n); }
    // Others go on, within a call of a reclaimer.
    void note_room() {
        if (open_request* const mine = stage_.role_now() < roles_.size() ? now().open : nullptr; mine != nullptr)
            mine->had_room = mine->had_room && has_room(*mine);
    }
    void begin_write() { ++writes_, stage_.wake(&writes_); }
    journal log;

  private:
    struct role {
        explicit role(std::uint64_t seed) : random(seed) {}
        dice random;
        std::vector<piece_of_memory> holds;
        std::vector<piece_of_memory>* into = &holds;
        open_request* open = nullptr;
        level* home = nullptr;
        bool is_task = false;
    };
    using receiver = std::function<void(allot::account_reservation)>;
    struct promise { // without a thread
        std::optional<allot::reservation_request<receiver>> later;
        std::vector<piece_of_memory> has;
        level* of = nullptr;
        std::size_t bytes = 0;
    };
    // ---- what there is --------------------------------------------------------------------------------------------

    const char* text(std::string s) { return texts_.emplace_back(std::move(s)).c_str(); }
    role& now() { return *roles_[stage_.role_now()]; }
    level& any_level(dice& d) {
        for (;;)
            if (level& l = levels_[d.below(levels_.size())]; !l.is_product) return l;
    }
    level& add_account(dice& d, level* above, const std::string& called, std::size_t most) {
        levels_.push_back({nullptr, above, most, most});
        const allot::watermark mark{d.one_in(5) && most != SIZE_MAX ? most / 2 : SIZE_MAX};
        const allot::credit_step step{above != nullptr && d.one_in(3) ? 64_KiB << d.below(3) : 0};
        const name who{text(called)};
        const allot::limit l{most};
        if (above != nullptr) accounts_.push_back(std::make_unique<account>(*above->of, who, l, mark, step, unheard));
        else if (arbiter_) accounts_.push_back(std::make_unique<account>(who, l, mark, unheard, *arbiter_));
        else accounts_.push_back(std::make_unique<account>(who, l, mark, unheard));
        levels_.back().of = accounts_.back().get();
        line(kind::other, called + ": limit " + (most == SIZE_MAX ? "none" : of_bytes(most)));
        return levels_.back();
    }
    level& add_product(level& above, std::size_t most = SIZE_MAX) {
        levels_.push_back({nullptr, &above, most, most, 0, false, true});
        return levels_.back();
    }
    void draw_accounts(dice& d) {
        if (d.one_in(3)) arbiter_.emplace(oom::rules{}, oom::log_sink{}, allot::time_span{10 + d.below(50)});
        const std::size_t most = 4_MiB << d.below(4);
        const auto some_limit = [&] { return d.one_in(2) ? SIZE_MAX : most / 4 + d.below(most); };
        level& engine = add_account(d, nullptr, "engine", most);
        for (std::size_t i = 0, n = 2 + d.below(3); i != n; ++i) {
            const std::string called = "query " + std::to_string(i + 1);
            level& query = add_account(d, &engine, called, some_limit());
            for (std::size_t j = 0, m = d.below(3); j != m; ++j)
                add_account(d, &query, called + (j == 0 ? " scan" : " join"), some_limit());
        }
    }
    template <class Source, class... Values> Source& add_source(Values&&... values) {
        sources_.push_back(std::make_unique<Source>(std::forward<Values>(values)...));
        line(kind::other, "has " + sources_.back()->text);
        return static_cast<Source&>(*sources_.back());
    }
    template <class Set> using rows_of = of_pages<allot::row_manager<Set>>;
    template <class Set> using blocks_of = of_pages<allot::chunk_arena<Set>>;
    level& below_any(dice& d) { return add_product(any_level(d)); }
    void draw_objects(dice& d) {
        const allot::page_bytes pages{page};
        if (d.one_in(2)) add_source<rows_of<plain_rows>>("rows", false, below_any(d), pages);
        if (d.one_in(2)) add_source<rows_of<chain_rows>>("chain rows", true, below_any(d), pages);
        if (d.one_in(4)) {
            const std::size_t most = engine().limit / 3;
            add_source<rows_of<chain_rows>>("small rows", true, add_product(any_level(d), most), pages,
                                            allot::limit{most});
        }
        if (d.one_in(4)) add_source<blocks_of<run_blocks>>("blocks", false, below_any(d), pages);
        if (d.one_in(4)) add_source<blocks_of<chain_blocks>>("chain blocks", true, below_any(d), pages);
        if (d.one_in(2)) {
            level& l = below_any(d);
            auto pool = std::make_shared<allot::chunk_arena<pool_blocks>>(*l.above->of, pages, name{"pool"});
            l.of = &pool->account();
            add_source<buffers>("pool buffers", allot::buffer_memory{*pool}, &l, page).trims = [pool] { pool->trim(); };
        }
        if (d.one_in(5)) {
            auto counted = std::make_shared<allot::chunk_arena<counted_blocks>>(allot::limit{engine().limit}, pages);
            kept_.push_back(counted);
            add_source<buffers>("counted buffers", allot::buffer_memory{*counted}, nullptr, page);
        }
        if (d.one_in(3)) add_source<buffers>("heap buffers", allot::buffer_memory{heap_}, nullptr, page);
        if (d.one_in(3)) draw_device(d);
        if (d.one_in(5)) draw_channels(d);
        const std::size_t givers = d.below(5);
        for (std::size_t i = 0; i != givers; ++i) {
            level& l = any_level(d);
            const auto cost = static_cast<std::uint32_t>(1 + d.below(3));
            const std::size_t ways =
                d.one_in(3) ? giver::words.size() : giver::words.size() - 1; // the last one is loud
            const auto way = static_cast<giver::way>(d.below(ways));
            givers_.push_back(
                std::make_unique<giver>(*this, l, text("giver " + std::to_string(i + 1)), cost, way, d.one_in(3)));
            l.of->add(*givers_.back());
            line(kind::other, givers_.back()->name() + (" of " + std::string(l.of->name())) + ", cost " +
                                  std::to_string(cost) + ", gives " + giver::words[static_cast<std::size_t>(way)]);
        }
        promises_.resize(4);
        if (d.one_in(3)) quota_ = std::make_unique<allot::quota>(*engine().of);
    }
    level& engine() { return levels_.front(); }
    void draw_device(dice& d) {
        sim_.emplace(allot::device::simulator_options{.total_bytes = 1_GiB, .poison = false});
        api_.emplace(*sim_);
        stream_ = *api_->create_stream({0}, allot::device::stream_kind::non_blocking);
        level &l = below_any(d), &of_pool = below_any(d);
        l.is_device = of_pool.is_device = true;
        add_source<on_gpu>("device memory", l, *api_, stream_);
        auto pool = std::make_shared<allot::device_allocator<device_pool>>(*api_, *of_pool.above->of,
                                                                           name{"device pool"}, unheard);
        auto at = std::make_shared<allot::on_stream<allot::device_allocator<device_pool>>>(*pool, stream_);
        kept_.push_back(pool), kept_.push_back(at);
        of_pool.of = &pool->account();
        auto& made = add_source<buffers>("device buffers", allot::buffer_memory{*at}, &of_pool, device_piece);
        made.trims = [pool] { pool->trim(); };
        made.waits = false;
    }
    void draw_channels(dice& d) {
        const std::size_t n = 2 + d.below(3);
        level& above = any_level(d);
        auto all = std::make_shared<channels>(*above.of, n, allot::channel_options{.limit = 2_MiB, .page_bytes = page});
        std::vector<level*> pay;
        for (std::size_t i = 0; i != n; ++i) {
            pay.push_back(&add_product(above, 2_MiB));
            pay.back()->of = &all->memory(i);
            level& rows = add_product(*pay.back());
            rows.of = &all->channel(i).account();
            add_source<rows_of_channels>("rows of channel " + std::to_string(i), all, i, std::vector<level*>{}, rows);
        }
        level& rest = add_product(above);
        rest.of = &all->global().account();
        add_source<rows_of_channels>("global rows", all, n, pay, rest).waits = !as_kept;
    }

    // ---- requests -------------------------------------------------------------------------------------------------

    static std::string of_bytes(std::size_t n) { return std::to_string(n) + " bytes"; }
    static std::string text_of(const charge_status& s) {
        char all[512];
        allot::text_writer out{all};
        write(out, s);
        return std::string(out.view());
    }
    std::size_t some_bytes(dice& d) {
        const std::size_t most = levels_.front().limit;
        if (d.one_in(40)) return most / 2 + d.below(most);
        return 1 + d.below(most / (d.one_in(6) ? 2 : d.one_in(3) ? 200 : 12));
    }
    // What `make` returns; an error of the library becomes a status. A verdict passes.
    template <class Make> charge_status ask(const std::string& what, const uses& needs, bool calls, Make make) {
        role& r = now();
        open_request mine{what, needs, calls};
        mine.had_room = has_room(mine);
        charge_status why;
        std::string said; // before the error ends, which the status' name is of
        r.open = &mine;
        try {
            why = make(mine.stop);
            if (allot::is_verdict(why.outcome)) engine().of->raise_verdict(why);
        } catch (const allot::verdict_error& e) {
            r.open = nullptr;
            line(kind::verdict, what + ": " + text_of(e.why()));
            throw;
        } catch (const allot::out_of_memory& e) {
            why = e.why(), said = e.what();
        }
        r.open = nullptr;
        if (said.empty()) said = text_of(why);
        if (!why) judge(what + ": " + said, mine, why);
        const bool is_queued = why.outcome == charge_outcome::queued;
        line(why ? kind::granted : is_queued ? kind::other : kind::refused, what + ": " + said);
        return why;
    }
    // Whether the levels have room for it, by what the test knows.
    bool has_room(const open_request& asked) {
        for (level& l : levels_) {
            const auto is_here = [&](const use& u) { return u.at->is_below(l); };
            if (std::none_of(asked.needs.begin(), asked.needs.end(), is_here)) continue;
            if (!l.is_open()) return false;
            std::size_t held = l.live + static_cast<std::size_t>(std::max<std::ptrdiff_t>(sum_at(asked.needs, l), 0));
            for (const level& d : levels_) // how large its pieces are, a device alone knows
                if (d.is_device && d.live != 0 && d.is_below(l)) held += d.of->used();
            for (const auto& r : roles_) // in the middle of theirs
                if (r->open != nullptr && r->open != &asked && !r->open->is_asleep && sum_at(r->open->needs, l) > 0)
                    held += static_cast<std::size_t>(sum_at(r->open->needs, l));
            for (const auto& g : givers_)
                if (asked.calls && g->at.is_below(l)) held -= std::min(held, g->would_free());
            if (held > l.limit) return false;
        }
        return true;
    }
    void judge(const std::string& what, const open_request& asked, const charge_status& why) {
        if (why.outcome != charge_outcome::over_limit || fails_now_ || !asked.had_room || !has_room(asked) ||
            (why.by != allot::refuser::account && why.by != allot::refuser::limit))
            return;
        static char all[16 * 1024];
        allot::text_writer out{all};
        allot::write_accounts(out, *engine().of);
        wrong_ += what + "\n" + std::string(out.view());
        for (const level& l : levels_)
            if (l.live != 0) wrong_ += std::string("  ") + l.of->name() + " holds " + of_bytes(l.live) + "\n";
        for (const auto& r : roles_)
            if (r->open != nullptr) wrong_ += (r->open->is_asleep ? "asleep: " : "busy: ") + r->open->what + "\n";
    }
    void request(source& from, level& by, std::size_t bytes) {
        role& r = now();
        const auto h = static_cast<how>(r.random.below(from.waits ? 4 : r.is_task ? 1 : 2)); // a task always waits
        static constexpr std::array<const char*, 4> words{"tries ", "", "waits for ", "waits patiently for "};
        const allot::time_span most{r.random.one_in(4) ? 0 : 1 + r.random.below(40)};
        const uses needs = from.needs(by, bytes);
        const bool fails = h == how::tries && r.random.one_in(30);
        if (fails) fails_now_ = true, fault::fail_nth(1, r.random.one_in(2) ? 1 : 1'000);
        std::function<void()> frees;
        const std::string what = from.text + " in " + (by.of->name()) + ": " + words[static_cast<std::size_t>(h)] +
                                 of_bytes(bytes) + (fails ? ", calls of the system fail" : "");
        const auto ends = [&] {
            if (fails) fails_now_ = false, fault::fail_nth(0);
        };
        ask(what, needs, from.calls_reclaimers && h <= how::plain, [&](allot::cancellation& stop) {
            charge_status why;
            allot::wait_limit w{most, stop};
            if (h == how::patient) w = allot::patient(w);
            frees = from.take(by, bytes, h, w, why);
            return why;
        });
        ends();
        if (frees) r.into->emplace_back(bytes, needs, std::move(frees), &from == &charges_ ? &by : nullptr);
    }
    void release_one() {
        role& r = now();
        if (r.holds.empty()) return;
        const std::size_t i = r.random.below(r.holds.size());
        piece_of_memory gone = std::move(r.holds[i]);
        if (i + 1 != r.holds.size()) r.holds[i] = std::move(r.holds.back());
        r.holds.pop_back();
        line(kind::other, "frees " + of_bytes(gone.bytes));
    }
    void transfer(level& to) {
        for (piece_of_memory& p : now().holds) {
            if (p.charged_to == nullptr || p.charged_to == &to) continue;
            level& from = *p.charged_to;
            uses needs = one_use(to, p.bytes);
            needs.push_back({&from.common(to), -static_cast<std::ptrdiff_t>(p.bytes)});
            if (ask(std::string("transfers to ") + to.of->name() + " from " + from.of->name() + " " + of_bytes(p.bytes),
                    needs, true, [&](auto&) { return account::try_transfer(*from.of, *to.of, p.bytes); }))
                p.move_to(to);
            return;
        }
    }
    void reserve(level& at, std::size_t bytes) {
        role& r = now();
        const bool is_floor = r.random.one_in(2);
        const uses needs = one_use(at, bytes);
        auto sure = std::make_shared<allot::account_reservation>();
        if (ask(std::string("reserves in ") + at.of->name() + (is_floor ? " a floor of " : " ") + of_bytes(bytes),
                needs, false, [&](allot::cancellation& stop) {
                    const allot::wait_limit w{allot::time_span{r.random.below(10)}, stop};
                    *sure = is_floor ? at.of->reserve_floor_for(bytes, w) : at.of->reserve_for(bytes, w);
                    return sure->status();
                }))
            r.into->emplace_back(bytes, needs, [sure] { sure->release(); });
    }
    // A reservation that waits without a thread: begun, cancelled, or ended.
    void reserve_later(level& at, std::size_t bytes) {
        promise& mine = promises_[stage_.role_now()];
        if (mine.later && mine.later->is_queued() && mine.later->cancel()) return line(kind::other, "cancels it");
        if (!mine.has.empty()) return mine.has.clear(), line(kind::other, "ends its reservation");
        mine.of = &at, mine.bytes = bytes;
        const auto receive = [this, &mine](allot::account_reservation got) {
            const std::string what =
                std::string("a reservation of ") + mine.of->of->name() + " of " + of_bytes(mine.bytes) + " ";
            line(got ? kind::granted : kind::refused, what + (got ? "is granted" : "ends: " + text_of(got.status())));
            if (!got) return;
            auto sure = std::make_shared<allot::account_reservation>(std::move(got));
            mine.has.emplace_back(mine.bytes, one_use(*mine.of, mine.bytes), [sure] { sure->release(); });
        };
        mine.later.emplace(receive);
        allot::account_reservation sure;
        if (ask(std::string("queues a reservation in ") + at.of->name() + " of " + of_bytes(bytes), one_use(at, bytes),
                false, [&](auto&) { return sure = at.of->reserve_for(bytes, *mine.later), sure.status(); }))
            receive(std::move(sure));
    }
    void note_promises() {
        promised_.clear();
        for (level& l : levels_)
            if (const std::size_t bytes = l.of != nullptr ? quota_->promised(*l.of) : 0; bytes != 0)
                promised_.emplace_back(bytes, one_use(l, bytes), [] {});
    }
    void batch() {
        dice& d = now().random;
        if (batch_waits_ || d.one_in(5)) {
            if (quota_->cancel()) batch_waits_ = false, line(kind::other, "cancels the batch");
            return;
        }
        std::vector<allot::quota::share> shares;
        uses needs;
        std::string what = "a batch:";
        for (level& l : levels_) {
            if (l.above != &engine() || l.is_product || d.one_in(3)) continue;
            const std::size_t bytes = d.one_in(3) ? 0 : some_bytes(d);
            shares.push_back({*l.of, bytes});
            needs.push_back({&l, static_cast<std::ptrdiff_t>(bytes)});
            what += std::string(" ") + l.of->name() + " " + of_bytes(bytes);
        }
        const bool waits = d.one_in(2);
        const charge_status is = ask(what, needs, false, [&](allot::cancellation& stop) {
            if (waits) return quota_->request(shares, {allot::time_span{d.below(10)}, stop});
            return quota_->request(shares, [this](const charge_status& s) {
                batch_waits_ = false;
                note_promises();
                line(s ? kind::granted : kind::refused, "the batch that waited: " + text_of(s));
            });
        });
        if (is.outcome == charge_outcome::queued) batch_waits_ = true;
        else note_promises();
    }

    // ---- roles ----------------------------------------------------------------------------------------------------

    void set_limit(level& l) {
        if (l.base == SIZE_MAX) return;
        const std::size_t most = l.base / 100 * (now().random.one_in(2) ? 100 : 30 + now().random.below(100));
        if (most < l.limit) l.limit = most; // a request that is refused meanwhile is judged by the lower one
        line(kind::other, std::string("sets the limit of ") + l.of->name() + " to " + of_bytes(most));
        l.of->set_limit(most);
        l.limit = most;
    }
    void close_one(level& l) {
        if (l.above == nullptr || !l.is_open()) return;
        for (const level& other : levels_)
            if (other.above == &l) return;
        l.is_closed = true;
        line(kind::other, std::string("closes ") + l.of->name());
        l.of->close_when_drained([](account&, void*) noexcept {});
    }
    void cancel_one() {
        for (auto& r : roles_)
            if (r->open != nullptr && r.get() != &now())
                return line(kind::other, "cancels what another waits for"), r->open->stop.cancel();
    }
    // A cache takes more, where there is room.
    void refill() {
        if (givers_.empty()) return;
        giver& g = *givers_[now().random.below(givers_.size())];
        const std::size_t bytes = some_bytes(now().random);
        const uses needs = one_use(g.at, bytes);
        if (!ask(std::string(g.name()) + " takes " + of_bytes(bytes), needs, true,
                 [&](auto&) { return g.at.of->try_charge(bytes); }))
            return;
        g.holds.emplace_back(bytes, needs, [&a = *g.at.of, bytes] { a.refund(bytes); }, &g.at);
        g.at.of->notify_unused();
    }
    void step() {
        role& r = now();
        dice& d = r.random;
        stage_.point();
        level& at = d.one_in(2) ? *r.home : any_level(d);
        const std::size_t what = d.below(100), bytes = some_bytes(d);
        if (what < 20) request(charges_, at, bytes);
        else if (what < 55)
            request(sources_.empty() || d.one_in(8) ? charges_ : *sources_[d.below(sources_.size())], at, bytes);
        else if (what < 72) release_one();
        else if (what < 76) transfer(at);
        else if (what < 80) reserve(at, bytes);
        else if (what < 83) reserve_later(at, bytes);
        else if (what < 86) set_limit(d.one_in(2) ? levels_.front() : any_level(d));
        else if (what < 87) close_one(at);
        else if (what < 90) cancel_one();
        else if (what < 92 && !sources_.empty()) sources_[d.below(sources_.size())]->trim();
        else if (what < 95 && quota_ && stage_.role_now() == 0) batch();
        else refill();
    }
    void live(std::size_t me) {
        role& r = *roles_[me];
        std::optional<oom::task> task;
        std::optional<oom::task_thread> here;
        if (r.is_task)
            here.emplace(task.emplace(*arbiter_, text("task " + std::to_string(me + 1)),
                                      static_cast<std::int64_t>(r.random.below(3)), r.home->of));
        for (std::size_t left = 20 + r.random.below(21); left != 0;) {
            const std::size_t part = r.is_task ? std::min(left, 1 + r.random.below(4)) : 1;
            left -= part;
            try {
                oom::with_retry_no_split([&] { // without a task it runs
                    std::vector<piece_of_memory> taken;
                    r.into = &taken;
                    for (std::size_t i = 0; i != part; ++i) step();
                    for (piece_of_memory& p : taken) r.holds.push_back(std::move(p));
                });
            } catch (const allot::memory_error& e) {
                line(kind::verdict, std::string("gives up: ") + e.what());
                r.holds.clear();
            }
            r.into = &r.holds;
        }
        if (me == 0 && quota_) quota_->cancel(), quota_->release(), promised_.clear(), batch_waits_ = false;
        if (promises_[me].later) promises_[me].later->cancel();
        promises_[me].has.clear();
        while (!r.holds.empty()) r.holds.pop_back(), stage_.point();
        here.reset(), task.reset();
        line(kind::other, "ends");
        ++over_, stage_.wake(&writes_);
    }
    // Ends what reclaimers have begun.
    void write_back() {
        dice d(seed_ + 1);
        for (;;) {
            stage_.wait_until(&writes_, [this] { return writes_ != 0 || over_ == roles_.size(); });
            for (auto n = d.below(4); n != 0; --n) stage_.point();
            writes_ = 0;
            for (auto& g : givers_)
                if (!g->writes.empty()) g->end_write(d.one_in(4));
            if (over_ == roles_.size()) return;
        }
    }

    const std::uint64_t seed_;
    support::stage stage_;
    bool in_play_ = false, fails_now_ = false, batch_waits_ = false;
    std::deque<std::string> texts_;
    std::optional<oom::arbiter> arbiter_;
    std::optional<allot::device::simulator> sim_;
    std::optional<allot::device::simulated> api_;
    stream stream_{};
    std::deque<level> levels_; // the root first
    std::vector<std::unique_ptr<account>> accounts_;
    std::vector<std::shared_ptr<void>> kept_; // ends before them
    charges charges_;
    allot::heap_memory heap_;
    std::vector<std::unique_ptr<source>> sources_;
    std::vector<std::unique_ptr<giver>> givers_;
    std::vector<std::unique_ptr<role>> roles_;
    std::deque<promise> promises_;        // of each role
    std::unique_ptr<allot::quota> quota_; // of the first role
    std::vector<piece_of_memory> promised_;
    std::size_t writes_ = 0, over_ = 0;
    std::string wrong_;
};

bool giver::reclaim(const allot::shortage& s) noexcept {
    in_.note_room();
    ++calls_now;
    const std::size_t missing = s.missing();
    std::string what = std::string(name()) + ", cost " + std::to_string(cost()) + (s.critical ? ", critical" : "") +
                       (s.ahead ? ", ahead" : "") + ": " + std::to_string(missing) + " bytes are missing";
    in_.line(kind::called, what);
    if (in_.flips(2)) in_.on().point();
    std::vector<piece_of_memory> gone;
    std::size_t freed = 0;
    const std::size_t goal = gives == way::all || s.critical ? SIZE_MAX : gives == way::a_third ? missing / 3 : missing;
    if (gives != way::claims && (gives != way::when_critical || s.critical))
        while (!holds.empty() && freed < goal) {
            freed += holds.back().bytes;
            gone.push_back(std::move(holds.back()));
            holds.pop_back();
        }
    if (gives == way::later && freed != 0) {
        for (piece_of_memory& p : gone) writes.push_back(std::move(p));
        comes(freed);
        in_.begin_write();
        freed = 0;
    }
    gone.clear();
    --calls_now;
    in_.note_room();
    return freed != 0 || gives == way::claims;
}
void giver::end_write(bool fails) {
    std::vector<piece_of_memory> done = std::move(writes);
    writes.clear();
    std::size_t bytes = 0;
    for (const piece_of_memory& p : done) bytes += p.bytes;
    in_.line(kind::other,
             std::string(name()) + (fails ? " could not free " : " has freed ") + std::to_string(bytes) + " bytes");
    if (fails)
        for (piece_of_memory& p : done) holds.push_back(std::move(p));
    done.clear();
    fails ? failed(bytes) : arrived(bytes);
}

// ---- the command line ---------------------------------------------------------------------------------------------

struct played {
    journal log;
    std::string wrong;
};
played play(std::uint64_t seed) {
    support::stage::dismiss();
    scenario s(seed);
    std::string wrong = s.play();
    return {std::move(s.log), std::move(wrong)};
}
std::string kept(std::uint64_t seed, const journal& log) {
    char all[160];
    int n = std::snprintf(all, sizeof all, "%llu", static_cast<unsigned long long>(seed));
    for (const std::uint64_t events : log.events)
        n += std::snprintf(all + n, sizeof all - static_cast<std::size_t>(n), " %llu",
                           static_cast<unsigned long long>(events));
    std::snprintf(all + n, sizeof all - static_cast<std::size_t>(n), " %016llx %08llx",
                  static_cast<unsigned long long>(log.all), static_cast<unsigned long long>(log.results & 0xFFFFFFFF));
    return all;
}

} // namespace

int main(int n, char** words) {
    std::uint64_t seeds = 150, first = 1;
    const char *log = nullptr, *keep = nullptr, *against = nullptr;
    for (int i = 1; i + 1 < n; i += 2) {
        const std::string word = words[i];
        if (word == "--seeds") seeds = std::strtoull(words[i + 1], nullptr, 10);
        else if (word == "--first") first = std::strtoull(words[i + 1], nullptr, 10);
        else if (word == "--log") log = words[i + 1];
        else if (word == "--keep") keep = words[i + 1];
        else if (word == "--against") against = words[i + 1];
        else return std::printf("unknown: %s\n", words[i]), 2;
    }
    as_kept = against != nullptr;
    std::ofstream log_to(log != nullptr ? log : "/dev/null"), keep_to(keep != nullptr ? keep : "/dev/null");
    keep_to
        << "# requests --first " << first << " --seeds " << seeds
        << " --keep FILE; seed, events that were granted, refused, verdicts, calls of reclaimers, wakes, others, hash "
           "of all, hash of the first three\n";
    std::map<std::uint64_t, std::string> before;
    if (against != nullptr) {
        std::ifstream from(against);
        for (std::string line; std::getline(from, line);)
            if (line[0] != '#') before[std::strtoull(line.c_str(), nullptr, 10)] = line;
    }
    static_cast<void>(play(first)); // what a process remembers is there then
    std::array<std::uint64_t, kinds> events{};
    std::uint64_t wrong = 0, other = 0, differ = 0;
    std::vector<std::uint64_t> all;
    for (std::uint64_t seed = first; seed != first + seeds; ++seed) all.push_back(seed);
    if (n == 1) all.insert(all.end(), {253, 821, 1544, 3897, 5239, 7426}); // those that found a fault once
    for (const std::uint64_t seed : all) {
        const played is = play(seed);
        const auto number = static_cast<unsigned long long>(seed);
        if (!is.wrong.empty()) ++wrong, std::printf("seed %llu: wrong:\n%s", number, is.wrong.c_str());
        if (seed % 8 == 0 && play(seed).log.all != is.log.all)
            ++other, std::printf("seed %llu: a second play differs\n", number);
        for (std::size_t k = 0; k != kinds; ++k) events[k] += is.log.events[k];
        const std::string line = kept(seed, is.log);
        log_to << "seed " << seed << "\n" << is.log.text;
        keep_to << line << "\n";
        if (against != nullptr && before[seed] != line)
            ++differ, std::printf("seed %llu: now %s\n  before %s\n", number, line.c_str(), before[seed].c_str());
    }
    static constexpr std::array<const char*, kinds> texts{"granted", "refused", "verdicts", "calls of reclaimers",
                                                          "wakes",   "others"};
    for (std::size_t k = 0; k != kinds; ++k)
        std::printf("%s %llu, ", texts[k], static_cast<unsigned long long>(events[k]));
    std::printf("in %llu seeds: %llu wrong, %llu not the same twice, %llu not as before\n",
                static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(other), static_cast<unsigned long long>(differ));
    return wrong + other + differ != 0;
}
