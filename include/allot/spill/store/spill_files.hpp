// Spill files: files as a home of data that has left memory.
//
//     allot::account disk{allot::name{"disk"}, allot::limit{4_GiB}};
//     allot::spill_files files{disk, "/var/tmp/query"};            // or {"/a/tmp", "/b/tmp"}: several directories
//     allot::store inputs{engine, files};
//
// Each directory has one file without a name, so that nothing is left of it when the process ends, also by a kill. An
// object is written as extents of 1 MiB, each with a checksum that is verified when it is read. The account is charged
// for the blocks of what is kept. A directory that fails is used after the others,
// until end_pause().
// Invariant: blocks on disk do not exceed the account's limit, where the file system can punch holes.
// Cost: to write is a call per 8 MiB, and allocates nothing; reserved are 24 bytes, and about 140 of metadata, per
// extent; staging buffers of one extent each (staging_buffers.hpp). The switch ALLOT_LZ4 adds compression.
// Threads: any, but for construction and destruction; a child of fork may only read what was kept before. Source: Spark's spill files, 2014; Mars' storage backends, 2021.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/values.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/spill_error.hpp>
#include <allot/spill/store/extent_batch.hpp>
#include <allot/spill/store/extent_file.hpp>
#include <allot/spill/store/extent_files.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/extent_reader.hpp>
#include <allot/spill/store/extent_writer.hpp>
#include <allot/spill/store/spill_file_options.hpp>
#include <allot/spill/store/spill_file_stats.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace allot::inline ALLOT_ABI {
inline namespace ALLOT_STORE_ABI {

class spill_files final : public home {
  public:
    /// Takes in any order: spill_file_options, std::nothrow.
    /// Requires: the account, and that of staging buffers, outlive it and every extent_file.
    /// Throws: spill_error if a directory has no file, by the system or the host's memory, or staging memory is refused.
    /// With std::nothrow it keeps nothing instead: see status().
    template <class... Values>
    spill_files(account& by, std::string_view directory, const Values&... values)
        : spill_files(by, std::span<const std::string_view>{&directory, 1}, values...) {}
    template <class... Values>
    spill_files(account& by, std::initializer_list<std::string_view> directories, const Values&... values)
        : spill_files(by, std::span<const std::string_view>{directories.begin(), directories.size()}, values...) {}
    template <class... Values>
    spill_files(account& by, std::span<const std::string_view> directories, const Values&... values)
        : spill_files(value_or<spill_file_options>({}, values...), by, directories) {
        static_assert((one_of<Values, spill_file_options, std::nothrow_t> && ...),
                      "allot: spill files take only spill_file_options and std::nothrow; remove any other argument");
        if constexpr (!given<std::nothrow_t, const Values&...>)
            if (!status_) allot::raise(spill_error{name_, status_});
    }
    ~spill_files() {
        if (of_ != nullptr) of_->release();
    }

    /// How the files were opened.
    const home_status& status() const noexcept { return status_; }
    const char* name() const noexcept { return name_; }
    spill_file_stats stats() const noexcept {
        spill_file_stats s;
        if (of_ == nullptr) return s;
        of_->counters.fill(s), of_->space.fill(s);
        s.uses_uring = of_->uses_uring();
        return s;
    }
    /// A directory that failed is used as the others again.
    void end_pause() noexcept override {
        if (of_ != nullptr) of_->space.forget_failures();
    }
    /// Returns space that is used no more, and would be used again, to the file systems. Returns: how many bytes.
    std::size_t trim() noexcept { return of_ == nullptr ? 0 : of_->space.punch_all(); }
    /// The extents that have bytes of it, in order. Requires: it is written here.
    /// Throws: std::bad_alloc.
    std::vector<extent_file> extents_of(const kept_bytes& kept) const {
        object& o = static_cast<object&>(*record_of(kept));
        spare_for(o);
        std::vector<extent_file> all;
        const std::size_t size = of_->extent_bytes, begin = offset_of(kept), end = begin + kept.bytes();
        all.reserve(of_->extents_of(end) - begin / size);
        for (std::size_t at = begin; at < end; at = (at / size + 1) * size)
            all.push_back(extent_file{*of_, *o.list, at / size, at % size, std::min(size - at % size, end - at)});
        return all;
    }
    /// Whether the lists of free and used space agree. For tests.
    bool valid() const noexcept { return of_ == nullptr || of_->space.valid(); }

  private:
    struct object : record {
        explicit object(std::size_t n) noexcept : record(n) {}
        detail::extent_list* list = nullptr;
        std::atomic<detail::extent_list*> spare{nullptr}; // where extent_files share the list
    };
    template <class V, class... Known> static constexpr bool one_of = (detail::is_a<V, Known> || ...);

    ALLOT_OUTLINE spill_files(const spill_file_options& o, account& by,
                              std::span<const std::string_view> directories) noexcept
        : home(by, true), name_(o.name), of_(new(std::nothrow) detail::extent_files(by, o)) {
        status_ = of_ == nullptr ? detail::extent_files::failure("open", "", ENOMEM)
                                 : of_->open(directories, o.staging_buffers);
    }

    ALLOT_OUTLINE record* reserve(std::size_t bytes) noexcept override {
        object* const o = new (std::nothrow) object(bytes);
        if (o == nullptr || !status_ || (o->list = of_->make_list(bytes)) != nullptr) return o;
        delete o;
        return nullptr;
    }
    ALLOT_OUTLINE home_status write(record& to, byte_source& from) noexcept override {
        if (!status_) return status_; // it keeps nothing
        return detail::extent_writer(*of_, *static_cast<object&>(to).list, from).write();
    }
    ALLOT_OUTLINE void write_together(std::span<written_object> all) noexcept override {
        static_assert(kept_bytes::most_together <= detail::extent_batch::most);
        if (!status_) return home::write_together(all);
        detail::extent_batch batch{*of_};
        written_object* of_list[detail::extent_batch::most];
        std::size_t n = 0;
        const auto alone = [&](written_object& o) {
            byte_source from{o.bytes};
            o.how = write(*o.to, from);
        };
        for (written_object& o : all)
            if (batch.add(*static_cast<object&>(*o.to).list, o.bytes)) of_list[n++] = &o;
            else alone(o);
        batch.write([&](const detail::extent_list& failed) {
            for (std::size_t i = 0; i != n; ++i)
                if (static_cast<object&>(*of_list[i]->to).list == &failed) alone(*of_list[i]);
        });
    }
    ALLOT_OUTLINE home_status read(record& from, std::size_t offset, byte_sink& to) noexcept override {
        return detail::extent_reader(*of_, *static_cast<object&>(from).list, to).read(offset);
    }
    void drop(record& of) noexcept override {
        object& o = static_cast<object&>(of);
        if (o.list->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            of_->give(*o.list);
            o.list->shares.store(1, std::memory_order_relaxed);
        } else {
            o.list = o.spare.exchange(nullptr, std::memory_order_acquire);
        }
    }
    ALLOT_OUTLINE void end(record& of) noexcept override {
        object& o = static_cast<object&>(of);
        if (status_) of_->end_list(o.list), of_->end_list(o.spare.load(std::memory_order_relaxed));
        delete &o;
    }
    // Makes the list that the object has when its own stays with extent_files, so that to write it allocates nothing.
    void spare_for(object& o) const {
        if (o.spare.load(std::memory_order_relaxed) != nullptr) return;
        detail::extent_list *mine = of_->make_list(o.room), *none = nullptr;
        if (mine == nullptr) allot::raise(out_of_memory{});
        if (!o.spare.compare_exchange_strong(none, mine, std::memory_order_acq_rel)) of_->end_list(mine);
    }

    const char* const name_;
    detail::extent_files* const of_;
    home_status status_;
};

} // namespace ALLOT_STORE_ABI
} // namespace allot::inline ALLOT_ABI
