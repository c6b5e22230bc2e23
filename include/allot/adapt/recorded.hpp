// A source of bytes whose operations are recorded: wrap the source of any face of adapt/, and replay the recording
// against other sets (docs/replay.md).
//
//     allot::row_manager<allot::use::containers> rows;
//     allot::recording record{"program.allot"};
//     allot::adapt::recorded source{rows, record};
//     allot::adapt::memory_resource memory{source}; // or std_allocator, arrow_pool, ...
//
// It has the calls of its source that faces use: those of a chunk arena or charged_blocks, or those of a row manager
// without sharing of rows. The bytes are those that the caller asked for.
// Invariant: a deallocation is recorded before the source frees the address, an allocation after the source had it.
// Refused requests are not recorded. Cost: two words; an operation is that of the source and of the recording. Threads:
// those of the source.
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/row_type.hpp>
#include <allot/core/text.hpp>
#include <allot/watch/recording.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace adapt {
namespace detail {

// What both kinds of sources have.
template <class Source> class recorded_source {
  public:
    recorded_source(Source& source, recording& to) noexcept : source_(&source), to_(&to) {}
    std::size_t capacity(const void* p) const noexcept { return source_->capacity(p); }
    std::size_t trim() const noexcept { return source_->trim(); }
    Source& source() const noexcept { return *source_; }
    recording& to() const noexcept { return *to_; }
    /// Writes what the source reports of itself.
    void report(text_writer& out) const noexcept
        requires requires(Source& source) { source.report(out); }
    {
        source_->report(out);
    }
    // For buffers.
    account* lender_to(const account& by) const noexcept
        requires requires(Source& source) { source.lender_to(by); }
    {
        return source_->lender_to(by);
    }

  protected:
    void* note(void* p, std::size_t bytes, std::size_t align) const noexcept {
        to_->allocated(p, bytes, align);
        return p;
    }
    Source* source_;
    recording* to_;
};

} // namespace detail

template <class Source> class recorded;

/// Refers to a chunk arena, charged_blocks or the like, and a recording, which outlive it.
template <block_source Source> class recorded<Source> : public detail::recorded_source<Source> {
    using base = detail::recorded_source<Source>;
    using base::source_, base::to_;
    using block = decltype(std::declval<Source&>().allocate(std::size_t{}, std::size_t{}));

  public:
    static constexpr std::size_t unit = Source::unit;
    static constexpr std::size_t max_align = Source::max_align;
    static constexpr bool host_access = [] {
        if constexpr (requires { Source::host_access; }) return Source::host_access;
        else return true;
    }();
    using base::base;

    block allocate(std::size_t bytes, std::size_t align = unit) const {
        return note(source_->allocate(bytes, align), bytes, align);
    }
    block try_allocate(std::size_t bytes, std::size_t align = unit, charge_status* why = nullptr) const noexcept {
        return note(source_->try_allocate(bytes, align, why), bytes, align);
    }
    block try_allocate_zeroed(std::size_t bytes, std::size_t align = unit, charge_status* why = nullptr) const noexcept
        requires requires(Source& source) { source.try_allocate_zeroed(bytes, align, why); }
    {
        return note(source_->try_allocate_zeroed(bytes, align, why), bytes, align);
    }
    template <class Wait>
        requires requires(Source& source, const Wait& wait) { source.allocate_for(std::size_t{}, wait); }
    block allocate_for(std::size_t bytes, const Wait& wait, std::size_t align = unit,
                       charge_status* why = nullptr) const noexcept {
        return note(source_->allocate_for(bytes, wait, align, why), bytes, align);
    }
    // For buffers: from the caches, or past them.
    template <class How>
        requires(!std::is_pointer_v<How> &&
                 requires(Source& source, How how) { source.try_allocate(std::size_t{}, unit, how); })
    block try_allocate(std::size_t bytes, std::size_t align, How how) const noexcept {
        return note(source_->try_allocate(bytes, align, how), bytes, align);
    }
    void deallocate(const void* p) const noexcept {
        to_->deallocating(p);
        source_->deallocate(p);
    }
    void deallocate(const void* p, std::size_t bytes, std::size_t align = unit) const noexcept {
        to_->deallocating(p);
        source_->deallocate(p, bytes, align);
    }
    void deallocate(const block& b) const noexcept
        requires requires(Source& source) { source.deallocate(b); }
    {
        to_->deallocating(b.address);
        source_->deallocate(b);
    }
    block resize(void* p, std::size_t bytes) const noexcept {
        recording::resizing operation{*to_, p};
        const block b = source_->resize(p, bytes);
        operation.done(b.address, bytes);
        return b;
    }
    std::size_t capacity_for(std::size_t bytes, std::size_t align = unit) const noexcept {
        return source_->capacity_for(bytes, align);
    }

  private:
    block note(const block& b, std::size_t bytes, std::size_t align) const noexcept {
        base::note(b.address, bytes, align);
        return b;
    }
};

/// Refers to a row manager, or a local handle of one, and a recording, which outlive it. Rows have one link each.
template <row_source Source>
    requires(!block_source<Source>)
class recorded<Source> : public detail::recorded_source<Source> {
    using base = detail::recorded_source<Source>;
    using base::note, base::source_, base::to_;

  public:
    using base::base;

    void* allocate(std::size_t bytes, const row_type& type = untyped) const {
        return note(source_->allocate(bytes, type), bytes, align_of(type));
    }
    void* try_allocate(std::size_t bytes, const row_type& type = untyped, charge_status* why = nullptr) const noexcept {
        return note(source_->try_allocate(bytes, type, why), bytes, align_of(type));
    }
    void* try_allocate_zeroed(std::size_t bytes, const row_type& type = untyped,
                              charge_status* why = nullptr) const noexcept
        requires requires(Source& source) { source.try_allocate_zeroed(bytes, type, why); }
    {
        return note(source_->try_allocate_zeroed(bytes, type, why), bytes, align_of(type));
    }
    /// Releases the row. `bytes`, if given: those requested.
    template <class... Bytes>
        requires(sizeof...(Bytes) <= 1 && requires(Source& source, void* p, Bytes... n) { source.release(p, n...); })
    void release(const void* row, Bytes... bytes) const noexcept {
        to_->deallocating(row);
        source_->release(row, bytes...);
    }
    void* resize(void* row, std::size_t keep, std::size_t bytes) const
        requires requires(Source& source) { source.resize(row, keep, bytes); }
    {
        recording::resizing operation{*to_, row};
        void* to = nullptr;
        const auto note_it = [&] { operation.done(to, bytes); };
        const at_end<decltype(note_it)> also_where_it_throws{note_it};
        return to = source_->resize(row, keep, bytes);
    }
    void* try_resize(void* row, std::size_t keep, std::size_t bytes, charge_status* why = nullptr) const noexcept
        requires requires(Source& source) { source.try_resize(row, keep, bytes, why); }
    {
        recording::resizing operation{*to_, row};
        void* const to = source_->try_resize(row, keep, bytes, why);
        operation.done(to, bytes);
        return to;
    }
    std::size_t capacity_for(std::size_t bytes, const row_type& type = untyped) const noexcept {
        return source_->capacity_for(bytes, type);
    }

  private:
    template <class Call> struct at_end {
        Call call;
        ~at_end() { call(); }
    };
    static std::size_t align_of(const row_type& type) noexcept { return type.align != 0 ? type.align : 8; }
};

template <class Source> recorded(Source&, recording&) -> recorded<Source>;

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
