// Objects with memory for traces/engines.cpp: row managers, chunk arenas, pools, stores of rows, a simulated device. A
// piece of memory knows what was written to it, and says where that has changed.
#pragma once

#include <soak/random.hpp>

#include <allot/buffer/charged_blocks.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/spill/stored_device.hpp>
#include <allot/spill/stored_rows.hpp>
#include <allot/task/task_step.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// Named, so that reports say the same with each compiler.
namespace sets {

using allot::policies;
using allot::ledger::pool;
using allot::ledger::tree;
using allot::spill::chain;
using waits = allot::oom::state_machine;
using on_gpu = allot::page::on_device<allot::device::simulated>;
struct plain_rows : policies<tree> {};
struct shared_rows : policies<tree, chain, waits, allot::heap::shared> {};
struct spark_rows : policies<tree, chain, waits> {};
struct waiting_rows : policies<tree, chain, waits, allot::guard::quarantine<64>> {};
struct span_rows : policies<tree, allot::size::in_spans, allot::count::none> {};
struct kept_rows : policies<tree, allot::oom::null, allot::retain::never, allot::size::packed, allot::slots::scanning> {
};
struct called_blocks : policies<tree, allot::oom::null, allot::retain::on_call, allot::fit::runs> {};
struct run_blocks : policies<tree, allot::fit::runs, allot::heap::per_thread> {};
struct best_blocks : policies<tree, chain, waits, allot::fit::best> {};
struct buddy_blocks : policies<tree, chain, waits, allot::fit::buddy> {};
struct run_pool : policies<pool, allot::fit::runs> {};
struct best_pool : policies<pool, allot::fit::best> {};
struct buddy_pool : policies<pool, allot::fit::buddy, allot::heap::per_thread> {};
struct gpu_blocks : policies<on_gpu, allot::order::stream, tree> {};
struct gpu_spark : policies<on_gpu, allot::order::stream, tree, chain, waits> {};
struct gpu_pool : policies<on_gpu, allot::order::stream, pool> {};

} // namespace sets

namespace support {

using namespace allot::literals;
using allot::account;
using allot::charge_status;
using allot::limit;
using allot::name;
using soak::dice;
using stream = allot::device::simulated::stream_type;
using gpu_buffer = allot::device_buffer<allot::device::simulated>;
namespace oom = allot::oom;
inline constexpr std::size_t chunk = 256_KiB, piece_of_device = 2_MiB;

// ---- what is said -------------------------------------------------------------------------------------------------

inline std::atomic<std::uint64_t> seed_now{0}, wrong_so_far{0};

inline void wrong(const std::string& what) {
    if (++wrong_so_far < 20)
        std::printf("seed %llu: wrong: %s\n", static_cast<unsigned long long>(seed_now.load()), what.c_str());
    std::fflush(stdout);
}
inline void expect(bool holds, const char* what) {
    if (!holds) wrong(what);
}

// ---- bytes --------------------------------------------------------------------------------------------------------

inline void fill(std::byte* p, std::size_t bytes, std::uint64_t id) {
    std::uint64_t word = soak::mix(id);
    for (std::size_t at = 0; at < bytes; at += 8, word += 0x9e3779b97f4a7c15u)
        std::memcpy(p + at, &word, std::min<std::size_t>(8, bytes - at));
}
// `first`: the number of the first word.
inline bool holds(const std::byte* p, std::size_t bytes, std::uint64_t id, std::uint64_t first = 0) {
    std::uint64_t word = soak::mix(id) + first * 0x9e3779b97f4a7c15u;
    for (std::size_t at = 0; at < bytes; at += 8, word += 0x9e3779b97f4a7c15u)
        if (std::memcmp(p + at, &word, std::min<std::size_t>(8, bytes - at)) != 0) return false;
    return true;
}

// Memory of an object until it is freed.
class piece {
  public:
    piece() = default;
    // `look`: says whether memory that the host cannot touch is as it was written; it may request memory.
    piece(std::function<void()> frees, std::byte* at, std::size_t bytes, std::function<bool()> look = {})
        : frees_(std::move(frees)), look_(std::move(look)), at_(at), bytes_(bytes) {
        if (at_ == nullptr) return;
        id_ = ++ids;
        fill(at_, bytes_, id_);
    }
    piece(piece&& o) noexcept
        : frees_(std::exchange(o.frees_, nullptr)), look_(std::move(o.look_)), at_(o.at_), bytes_(o.bytes_),
          id_(o.id_) {}
    piece& operator=(piece&& o) noexcept {
        piece now(std::move(o));
        std::swap(frees_, now.frees_), std::swap(look_, now.look_), std::swap(at_, now.at_);
        std::swap(bytes_, now.bytes_), std::swap(id_, now.id_);
        return *this;
    }
    ~piece() {
        if (!frees_) return;
        if (at_ != nullptr && !holds(at_, bytes_, id_)) wrong("bytes of an object have changed");
        frees_();
    }
    void look() const {
        if (look_ && !look_()) wrong("bytes of a store or device have changed");
    }
    explicit operator bool() const { return frees_ != nullptr; }

  private:
    static inline std::atomic<std::uint64_t> ids{0};
    std::function<void()> frees_;
    std::function<bool()> look_;
    std::byte* at_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint64_t id_ = 0;
};

// A few pieces that one task has taken, and another thread frees.
class exchange_of_pieces {
  public:
    void swap(piece& with) {
        const std::lock_guard hold(lock_);
        std::swap(with, has_[at_++ % has_.size()]);
    }
    void clear() {
        for (std::size_t i = 0; i != has_.size(); ++i) {
            piece none;
            swap(none);
        }
    }

  private:
    std::mutex lock_;
    std::size_t at_ = 0;
    std::array<piece, 4> has_;
};

// Tasks that wait until it is opened.
class gate {
  public:
    bool has_passed(const allot::task_step& step) {
        const std::lock_guard hold(lock_);
        if (!is_open_) wake_.push_back(step.waker());
        return is_open_;
    }
    void open() {
        const std::lock_guard hold(lock_);
        is_open_ = true;
        for (const auto& w : wake_) w();
        wake_.clear();
    }

  private:
    std::mutex lock_;
    bool is_open_ = false;
    std::vector<allot::task_waker> wake_;
};

// ---- objects with memory --------------------------------------------------------------------------------------------

inline std::size_t some_bytes(dice& d, std::size_t most) { return 1 + d.below(std::size_t{64} << d.below(11)) % most; }

enum class how : std::uint8_t { tries, plain, timed };

struct request {
    account& by; // of the task
    std::size_t bytes;
    how call;
    std::size_t choice; // among the ways of the object
    allot::wait_limit wait{allot::time_span{3}};
    charge_status why{};
};

class object {
  public:
    virtual ~object() = default;
    /// Null where it is refused. Throws: what the object throws; a verdict.
    virtual piece take(request& r) = 0;
    virtual std::size_t draw(dice& d) const = 0;
    /// The most that a request for these bytes has charged.
    virtual std::size_t cost(std::size_t bytes) const = 0;
    virtual void trim() = 0;
    /// Requires: nothing is used. Returns: what is wrong; else empty.
    virtual std::string fault() const = 0;
    virtual bool is_on_device() const { return false; }
    /// Pieces end before the task does: its account is charged for them.
    virtual bool is_of_task() const { return false; }

  protected:
    static std::size_t pages_for(std::size_t bytes, std::size_t page) { return 2 * bytes + 3 * page; }
    static std::byte* at(void* p) { return static_cast<std::byte*>(p); }
    // Where the call threw none.
    static piece none(const account& of, const request& r) {
        of.raise_verdict(r.why);
        return {};
    }
    template <class Rows> static void* row_of(Rows& of, request& r) {
        return r.call == how::tries   ? of.try_allocate(r.bytes, allot::untyped, &r.why)
               : r.call == how::plain ? of.allocate(r.bytes)
                                      : of.allocate_for(r.bytes, r.wait, allot::untyped, &r.why);
    }
    template <class Blocks> static void* block_of(Blocks& of, request& r) {
        return (r.call == how::tries   ? of.try_allocate(r.bytes, 64, &r.why)
                : r.call == how::plain ? of.allocate(r.bytes)
                                       : of.allocate_for(r.bytes, r.wait, 64, &r.why))
            .address;
    }
    static allot::buffer buffer_of(const allot::buffer_memory& of, account& by, request& r) {
        return r.call == how::tries   ? of.try_allocate(by, r.bytes, &r.why)
               : r.call == how::plain ? of.allocate(by, r.bytes)
                                      : of.allocate_for(by, r.bytes, r.wait, &r.why);
    }
};

// Row managers: rows of two sizes, by the manager, by a thread's handle, and by a heap of one size.
template <class Set> class of_rows final : public object {
  public:
    template <class... Values>
    of_rows(account& by, dice& d, const Values&... values)
        : rows_(by, name{"rows"}, allot::page_bytes{16_KiB << d.below(3)}, values...),
          sizes_{8 + d.below(1'000), 8 + d.below(d.one_in(4) ? 150'000 : 20'000)},
          heap_(rows_.heap(allot::as<allot::heap::unique>, sizes_[0])) {}
    piece take(request& r) override {
        void* p = nullptr;
        if (r.choice % 4 == 0) {
            r.bytes = sizes_[0];
            p = r.call == how::tries   ? heap_.try_allocate(&r.why)
                : r.call == how::plain ? heap_.allocate()
                                       : heap_.allocate_for(r.wait, &r.why);
        } else if (r.choice % 4 == 1) {
            auto mine = rows_.local();
            p = row_of(mine, r);
        } else {
            p = row_of(rows_, r);
        }
        if (p == nullptr) return none(rows_.account(), r);
        if constexpr (requires { rows_.link(p); })
            if (r.choice % 4 == 2) rows_.link(p), rows_.release(p);
        return {[this, p] { rows_.release(p); }, at(p), r.bytes};
    }
    std::size_t draw(dice& d) const override { return sizes_[d.below(2)]; }
    std::size_t cost(std::size_t bytes) const override {
        return pages_for(std::max(bytes, rows_.capacity_for(bytes)), rows_.arena().page_bytes());
    }
    void trim() override { rows_.trim(); }
    std::string fault() const override {
        if (rows_.live_rows() != 0) return std::to_string(rows_.live_rows()) + " rows are left";
        return rows_.valid() ? "" : "a row manager is not valid";
    }

  private:
    allot::row_manager<Set> rows_;
    const std::size_t sizes_[2];
    decltype(std::declval<allot::row_manager<Set>&>().heap(allot::as<allot::heap::unique>, std::size_t{})) heap_;
};

// Chunk arenas: blocks, some of which are resized.
template <class Set> class of_blocks final : public object {
  public:
    template <class... Values>
    of_blocks(account& by, dice& d, const Values&... values)
        : blocks_(by, name{"blocks"}, allot::page_bytes{16_KiB << d.below(2)}, allot::chunk_bytes{chunk}, values...),
          most_(64_KiB << d.below(3)) {}
    piece take(request& r) override {
        void* const p = block_of(blocks_, r);
        if (p == nullptr) return none(blocks_.account(), r);
        if (r.choice % 4 == 0)
            if (const allot::block now = blocks_.resize(p, r.bytes / 2 + 1)) r.bytes = now.bytes;
        return {[this, p] { blocks_.deallocate(p); }, at(p), r.bytes};
    }
    std::size_t draw(dice& d) const override { return some_bytes(d, most_); }
    std::size_t cost(std::size_t bytes) const override {
        return pages_for(bytes, blocks_.arena().page_bytes()) + chunk;
    }
    void trim() override { blocks_.trim(); }
    std::string fault() const override {
        if (blocks_.stats().live_blocks != 0) return std::to_string(blocks_.stats().live_blocks) + " blocks are left";
        return blocks_.valid() ? "" : "a chunk arena is not valid";
    }

  private:
    allot::chunk_arena<Set> blocks_;
    std::size_t most_;
};

// Pools: buffers, and charged blocks of the task's account.
class pool : public object {
  public:
    virtual const allot::buffer_memory& memory() const = 0;
    bool is_of_task() const override { return true; }
};
template <class Set> class of_pool final : public pool {
  public:
    of_pool(account& by, dice& d)
        : blocks_(by, name{"pool"}, allot::page_bytes{16_KiB << d.below(2)}, allot::chunk_bytes{chunk}),
          memory_(blocks_), most_(64_KiB << d.below(3)) {}
    piece take(request& r) override {
        if (r.choice % 2 == 0) {
            const allot::charged_blocks of{blocks_, r.by};
            void* const p = block_of(of, r);
            if (p == nullptr) return none(r.by, r);
            return {[of, p] { of.deallocate(p); }, at(p), r.bytes};
        }
        auto b = std::make_shared<allot::buffer>(buffer_of(memory_, r.by, r));
        if (!*b) return none(r.by, r);
        if (r.choice % 4 == 1) *b = std::move(*b).transfer(r.by).view;
        std::byte* const p = b->data();
        return {[b = std::move(b)] { b->release(); }, p, r.bytes};
    }
    std::size_t draw(dice& d) const override { return some_bytes(d, most_); }
    std::size_t cost(std::size_t bytes) const override {
        return pages_for(bytes, blocks_.arena().page_bytes()) + chunk;
    }
    void trim() override { blocks_.trim(); }
    std::string fault() const override {
        if (blocks_.stats().live_blocks != 0)
            return std::to_string(blocks_.stats().live_blocks) + " blocks of a pool are left";
        return blocks_.valid() ? "" : "a pool is not valid";
    }
    const allot::buffer_memory& memory() const override { return memory_; }

  private:
    allot::chunk_arena<Set> blocks_;
    allot::buffer_memory memory_;
    std::size_t most_;
};

// Runs of rows in a store, which may leave and come back while a task has them.
template <class Set> class of_stored_rows final : public object {
  public:
    of_stored_rows(account& by, dice& d, allot::home& far)
        : rows_(by, name{"runs of rows"}, allot::page_bytes{16_KiB << d.below(2)}), runs_(by, far, name{"runs"}),
          row_(8 + d.below(2'000)) {}
    piece take(request& r) override {
        allot::row_array<Set> all{rows_};
        const std::size_t count = 1 + r.choice % 32;
        const bool has_room = r.call == how::tries   ? all.try_reserve(count, &r.why)
                              : r.call == how::plain ? all.reserve(count)
                                                     : all.reserve_for(count, r.wait, &r.why);
        if (!has_room) return none(rows_.account(), r);
        for (r.bytes = row_; all.size() != count;) {
            void* const p = row_of(rows_, r);
            if (p == nullptr) return none(rows_.account(), r);
            fill(at(p), row_, all.size());
            expect(all.try_push_back(p), "an array has no room that was reserved");
        }
        auto run = std::make_shared<allot::stored<allot::row_array<Set>>>(runs_.put(std::move(all)));
        if (r.choice % 3 == 0) static_cast<void>(run->spill());
        return {[run] { *run = {}; }, nullptr, 0,
                [run, bytes = row_] {
                    const auto pin = run->pin();
                    std::uint64_t n = 0;
                    for (void* const p : pin->read())
                        if (!holds(at(p), bytes, n++)) return false;
                    return true;
                }};
    }
    std::size_t draw(dice&) const override { return 32 * row_; }
    std::size_t cost(std::size_t bytes) const override { return pages_for(2 * bytes, 2 * rows_.arena().page_bytes()); }
    void trim() override { rows_.trim(); }
    std::string fault() const override {
        if (rows_.live_rows() != 0) return std::to_string(rows_.live_rows()) + " rows of runs are left";
        return rows_.valid() ? "" : "a row manager of runs is not valid";
    }

  private:
    allot::row_manager<Set> rows_;
    allot::store runs_;
    std::size_t row_;
};

// ---- a device -----------------------------------------------------------------------------------------------------

struct machine {
    machine(std::size_t most, dice& d, oom::arbiter& tasks)
        : sim({.total_bytes = 4 * most,
               .execution = d.one_in(2) ? allot::device::execution::delayed : allot::device::execution::immediate,
               .seed = d.next(),
               .sink = allot::device::hazard_sink::quiet()}),
          api(sim), memory(name{"gpu"}, limit{most}, tasks.device()), pinned(name{"pinned"}),
          through(api, allot::device_id{0}, pinned, 64_KiB) {
        for (auto& s : streams) s = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    }
    ~machine() {
        for (const stream s : streams) static_cast<void>(api.destroy_stream(s));
        expect(sim.hazards() == 0, "the simulated device found a hazard");
    }
    bool holds(const void* p, std::size_t bytes, unsigned char with, stream s) const {
        std::vector<unsigned char> all(bytes);
        return api.copy_async(all.data(), p, bytes, s) && api.synchronize(s) &&
               std::all_of(all.begin(), all.end(), [with](unsigned char c) { return c == with; });
    }
    allot::device::simulator sim;
    allot::device::simulated api;
    account memory, pinned;
    allot::device_staging<allot::device::simulated> through;
    std::array<stream, 4> streams;
};

class of_device : public object {
  public:
    explicit of_device(machine& m) : m_(m) {}
    std::size_t draw(dice& d) const override { return some_bytes(d, 200'000); }
    std::size_t cost(std::size_t bytes) const override { return (bytes / piece_of_device + 2) * piece_of_device; }
    bool is_on_device() const override { return true; }

  protected:
    stream stream_of(const request& r) const { return m_.streams[r.choice / 8 % m_.streams.size()]; }
    piece filled(std::function<void()> frees, void* p, const request& r) const {
        const auto with = static_cast<unsigned char>(r.choice % 251);
        const stream s = stream_of(r);
        expect(bool(m_.api.fill_async(p, with, r.bytes, s)), "the simulated device refuses to fill");
        return {std::move(frees), nullptr, 0, [&m = m_, p, n = r.bytes, with, s] { return m.holds(p, n, with, s); }};
    }
    machine& m_;
};
template <class Set> class of_gpu final : public of_device {
  public:
    explicit of_gpu(machine& m) : of_device(m), gpu_(m.api, m.memory, name{"gpu blocks"}) {}
    piece take(request& r) override {
        const stream s = stream_of(r);
        void* const p = r.call == how::tries   ? gpu_.try_allocate(r.bytes, s, &r.why)
                        : r.call == how::plain ? gpu_.allocate(r.bytes, s)
                                               : gpu_.allocate_for(r.bytes, s, r.wait, 256, &r.why);
        if (p == nullptr) return none(gpu_.account(), r);
        return filled([this, p, s] { gpu_.deallocate(p, s); }, p, r);
    }
    void trim() override { gpu_.trim(); }
    std::string fault() const override {
        if (gpu_.stats().live_blocks != 0) return "device blocks are left";
        return gpu_.valid() ? "" : "a device allocator is not valid";
    }

  private:
    allot::device_allocator<Set> gpu_;
};
// Buffers of device memory, of which some are in a store.
class of_gpu_pool final : public of_device {
  public:
    of_gpu_pool(machine& m, allot::home& far)
        : of_device(m), user_(m.memory, name{"gpu buffers"}), gpu_(m.api, m.memory, name{"gpu pool"}),
          data_(m.memory, far, name{"device data"}) {
        for (const stream s : m.streams) at_.emplace_back(gpu_, s);
    }
    piece take(request& r) override {
        auto& at = at_[r.choice / 8 % at_.size()];
        auto b = std::make_shared<allot::buffer>(buffer_of(allot::buffer_memory{at}, user_, r));
        if (!*b) return none(user_, r);
        std::byte* const p = b->data();
        piece here = filled([b] { b->release(); }, p, r);
        if (r.choice % 2 == 0) return here;
        const auto with = static_cast<unsigned char>(r.choice % 251);
        const auto kept =
            std::make_shared<allot::stored<gpu_buffer>>(data_.put(gpu_buffer{std::move(*b), at, m_.through}));
        if (r.choice % 3 == 0) static_cast<void>(kept->spill());
        return {[kept] { *kept = {}; }, nullptr, 0,
                [&m = m_, kept, with, s = at.stream()] {
                    const auto pin = kept->pin();
                    return m.holds(pin->bytes.data(), pin->bytes.size(), with, s);
                }};
    }
    void trim() override { gpu_.trim(); }
    std::string fault() const override {
        if (gpu_.stats().live_blocks != 0 || data_.stats().entries != 0) return "device buffers are left";
        return gpu_.valid() ? "" : "a device allocator is not valid";
    }

  private:
    account user_;
    allot::device_allocator<sets::gpu_pool> gpu_;
    allot::store data_;
    std::deque<allot::on_stream<allot::device_allocator<sets::gpu_pool>>> at_;
};

} // namespace support
