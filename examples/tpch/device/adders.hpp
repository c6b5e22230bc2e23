// Query 1 on a device: blocks of one device allocator below one limit, and a few streams for all scan tasks.
//
// A task has a stream and a block of sums. The columns of a chunk are copied into blocks, a kernel adds them up, and
// the blocks are freed on the stream at once: the next chunk of the task reuses them without a wait, another task after
// an event. The host waits once, for the sums.
#pragma once

#include "../../shared/device_error.hpp"
#include "device.hpp"
#include <algorithm>
#include <allot/device/api.hpp>
#include <allot/device_allocator.hpp>
#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tpch {

template <class Api>
struct column_memory : allot::policies<allot::page::on_device<Api>, allot::fit::best, allot::order::stream,
                                       allot::ledger::tree, allot::oom::state_machine> {};

/// Streams that are made once. A task uses the one with the fewest users, its own if there are as many as threads.
/// Threads: any.
template <class Api> class stream_pool {
    struct owned {
        allot::device_allocator<column_memory<Api>>& gpu;
        typename Api::stream_type stream;
        unsigned users = 0;

        explicit owned(allot::device_allocator<column_memory<Api>>& of)
            : gpu(of), stream(shared::must(of.api().create_stream({0}, allot::device::stream_kind::non_blocking))) {}
        owned(const owned&) = delete;
        owned& operator=(const owned&) = delete;
        ~owned() {
            gpu.leave(stream); // so that other streams can wait for its frees
            (void)gpu.api().synchronize(stream);
            (void)gpu.api().destroy_stream(stream);
        }
    };

  public:
    /// Throws: shared::device_error. Requires: the allocator outlives the pool.
    stream_pool(allot::device_allocator<column_memory<Api>>& gpu, std::size_t n) {
        while (all_.size() != n) all_.push_back(std::make_unique<owned>(gpu));
    }
    /// The use of a stream by one task.
    class use {
      public:
        explicit use(stream_pool& of) : of_(of) {
            const std::lock_guard hold(of_.lock_);
            const auto fewer = [](const auto& a, const auto& b) { return a->users < b->users; };
            of_one_ = std::min_element(of_.all_.begin(), of_.all_.end(), fewer)->get();
            ++of_one_->users;
        }
        use(const use&) = delete;
        use& operator=(const use&) = delete;
        ~use() {
            const std::lock_guard hold(of_.lock_);
            --of_one_->users;
        }
        typename Api::stream_type operator*() const { return of_one_->stream; }

      private:
        stream_pool& of_;
        owned* of_one_;
    };

  private:
    std::mutex lock_;
    std::vector<std::unique_ptr<owned>> all_;
};

/// Some bytes of a device that a kernel reads.
struct device_bytes {
    const void* start;
    std::size_t bytes;
};

/// `Machine`: a device and its kernel.
///
///   Machine::api_type, machine.api(), Machine::name, machine.hazards()
///   machine.add_up(stream, lines, reads, sums)   launches the kernel; reads: all bytes that the lines have
template <class Machine> class adders_on final : public device_side {
    using api_type = typename Machine::api_type;
    using stream = typename api_type::stream_type;

  public:
    adders_on(std::size_t memory, engine& in)
        : in_(in), memory_(allot::name{"device memory"}, allot::limit{memory}, in.tasks.device()),
          gpu_{machine_.api(), memory_, allot::name{"tpch"}}, streams_(gpu_, in.threads()) {}

    std::unique_ptr<q1::adder> q1_adder() override { return std::make_unique<task_sums>(*this); }
    device_outcome outcome() override {
        return {Machine::name, memory_.limit(), memory_.peak(), copied_.load(), machine_.hazards()};
    }

  private:
    /// Frees a block at this point of its stream.
    struct freed_on {
        adders_on* of;
        stream on;
        void operator()(void* p) const noexcept { of->gpu_.deallocate(p, on); }
    };
    using block = std::unique_ptr<void, freed_on>;

    block allocate(std::size_t bytes, stream on) {
        return {in_.attempt(memory_, [&] { return gpu_.allocate(bytes, on); }), freed_on{this, on}};
    }
    // The host's memory is read before it returns.
    void copy(void* to, const void* from, std::size_t bytes, stream on) {
        shared::must(machine_.api().copy_async(to, from, bytes, on));
        copied_.fetch_add(bytes, std::memory_order_relaxed);
    }

    class task_sums final : public q1::adder {
      public:
        explicit task_sums(adders_on& of)
            : of_(of), on_(of.streams_), sums_(of.allocate(sizeof(q1::group_sums), *on_)) {
            shared::must(of_.machine_.api().fill_async(sums_.get(), 0, sizeof(q1::group_sums), *on_));
        }
        void add(const chunk& c) override {
            std::array<block, 7> blocks;
            std::array<device_bytes, 7> reads{};
            std::size_t copies = 0;
            const auto copy = [&]<class T>(const T* from) {
                const std::size_t bytes = c.rows() * sizeof(T), i = copies++;
                blocks[i] = of_.allocate(bytes, *on_);
                of_.copy(blocks[i].get(), from, bytes, *on_);
                reads[i] = {blocks[i].get(), bytes};
                return static_cast<const T*>(blocks[i].get());
            };
            const q1::lines there{copy(c.longs(0).data()),
                                  copy(c.longs(1).data()),
                                  copy(c.longs(2).data()),
                                  copy(c.longs(3).data()),
                                  copy(letters_of(c, 4)),
                                  copy(letters_of(c, 5)),
                                  copy(c.ints(6).data()),
                                  c.rows(),
                                  q1::last_day};
            of_.machine_.add_up(*on_, there, reads, static_cast<q1::sums*>(sums_.get()));
        }
        std::unique_ptr<q1::group_sums> take() override {
            auto made = std::make_unique<q1::group_sums>();
            of_.copy(made->data(), sums_.get(), sizeof(q1::group_sums), *on_);
            shared::must(of_.machine_.api().synchronize(*on_));
            return made;
        }

      private:
        /// The first letter of each text; valid until the next call.
        const char* letters_of(const chunk& c, std::size_t column) {
            letters_.resize(c.rows());
            for (std::size_t i = 0; i != c.rows(); ++i) letters_[i] = c.text_bytes(column)[c.offsets(column)[i]];
            return letters_.data();
        }

        adders_on& of_;
        std::vector<char> letters_;
        const typename stream_pool<api_type>::use on_;
        const block sums_;
    };

    engine& in_;
    Machine machine_;
    allot::account memory_;
    allot::device_allocator<column_memory<api_type>> gpu_;
    stream_pool<api_type> streams_;
    std::atomic<std::uint64_t> copied_{0};
};

} // namespace tpch
