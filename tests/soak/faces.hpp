// The faces of one set's manager, heaps and handles.
#pragma once

#include <soak/face.hpp>
#include <soak/row_kinds.hpp>
#include <soak/trouble.hpp>

#include <support/json.hpp>
#include <support/sets_home.hpp>

#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>
#include <allot/report/trace.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace soak {
namespace detail {

// A refusal by the set's own words, as null; `from` is a manager, a heap or a handle.
template <bool Raises, class Allocate> void* or_null(Allocate allocate) {
    if constexpr (Raises) {
        try {
            void* const row = allocate();
            expect(row != nullptr, "oom::raise gave null");
            return row;
        } catch (const allot::out_of_memory& error) {
            expect(std::string_view(error.report()).find("refused") != std::string_view::npos,
                   "a refusal tells nothing");
            return nullptr;
        }
    } else return allocate();
}

// Of a manager: takes bytes and a type. Of a heap: neither.
template <bool Raises, class Local> class hand_of final : public hand {
  public:
    template <class From> explicit hand_of(From& from) : local_(from.local()) {}

    void* allocate(std::size_t bytes, const allot::row_type& type, bool may_throw) override {
        if constexpr (requires { local_.allocate(bytes, type); }) {
            if (!may_throw) return local_.try_allocate(bytes, type);
            return or_null<Raises>([&] { return local_.allocate(bytes, type); });
        } else {
            if (!may_throw) return local_.try_allocate();
            return or_null<Raises>([&] { return local_.allocate(); });
        }
    }
    void release(const void* row) override { local_.release(row); }
    void release(const void* row, std::size_t bytes) override {
        if constexpr (requires { local_.release(row, bytes); }) local_.release(row, bytes);
        else local_.release(row);
    }
    void link(const void* row) override {
        if constexpr (requires { local_.link(row); }) local_.link(row);
    }
    void flush() override {
        if constexpr (requires { local_.flush(); }) local_.flush();
    }

  private:
    Local local_;
};

template <bool Raises, class Heap> class heap_of final : public heap_face {
  public:
    explicit heap_of(Heap heap) : heap_(std::move(heap)) {}

    void* allocate(bool may_throw) override {
        if (!may_throw) return heap_.try_allocate();
        return or_null<Raises>([&] { return heap_.allocate(); });
    }
    void release(const void* row) override { heap_.release(row); }
    void link(const void* row) override {
        if constexpr (requires { heap_.link(row); }) heap_.link(row);
    }
    std::unique_ptr<hand> local() override { return std::make_unique<hand_of<Raises, decltype(heap_.local())>>(heap_); }
    bool one_thread() const override { return Heap::blocked; }
    bool can_release_all() const override { return Heap::unique; }
    std::size_t release_all() override {
        if constexpr (Heap::unique) return heap_.release_all();
        else return 0;
    }
    std::size_t live_rows() const override { return heap_.live_rows(); }

  private:
    Heap heap_;
};

// What row_ptrs hold: tells when one of it is destroyed twice, or not at all.
struct object {
    static inline std::atomic<long> alive{0};
    std::uint64_t value, mark;
    explicit object(std::uint64_t v) : value(v), mark(mix(v)) { alive.fetch_add(1, std::memory_order_relaxed); }
    ~object() {
        expect(mark == mix(value), "an object was destroyed twice, or written over", this);
        mark = 0;
        alive.fetch_sub(1, std::memory_order_relaxed);
    }
};

} // namespace detail

template <class Set> class face_of final : public manager_face {
    using manager = allot::row_manager<Set>;
    using page = sets::answer<Set, allot::category::page>;
    static constexpr bool raises = sets::raises<manager>;
    static constexpr bool host_rows = sets::host_rows<manager>;
    static constexpr std::align_val_t over_align{4096};

  public:
    explicit face_of(leak_count& leaks)
        : home_(allot::leak_sink{&count_leaks, &leaks}, allot::damage_sink{&damaged, nullptr}, allot::name{"soaked"}) {
        if constexpr (!host_rows)
            over_.reset(static_cast<unsigned char*>(::operator new(rows().arena().stats().reserved, over_align)));
    }

    features about() const override {
        features f;
        f.counted = sets::links<manager>;
        f.charges = sets::charges<manager>;
        f.by_thread = sets::answer<Set, allot::category::heap>::by_thread;
        f.wipes = sets::answer<Set, allot::category::guard>::wipes;
        f.host_rows = host_rows;
        if constexpr (!host_rows) f.apart = over_.get() - reinterpret_cast<unsigned char*>(rows().arena().begin());
        f.gives_back = !requires { page::lent; } && std::string_view(rows().arena().page_kind()) != "hugetlb";
        if constexpr (!requires { typename page::arena_type; })
            f.gives_back = f.gives_back && sets::answer<Set, allot::category::retain>::when_called;
        return f;
    }
    void* allocate(std::size_t bytes, const allot::row_type& type, bool may_throw) override {
        if (!may_throw) return rows().try_allocate(bytes, type);
        return detail::or_null<raises>([&] { return rows().allocate(bytes, type); });
    }
    void release(const void* row) override { rows().release(row); }
    void release(const void* row, std::size_t bytes) override { rows().release(row, bytes); }
    void link(const void* row) override {
        if constexpr (sets::links<manager>) rows().link(row);
    }
    std::size_t capacity(const void* row) override { return rows().capacity(row); }
    std::unique_ptr<hand> local() override {
        return std::make_unique<detail::hand_of<raises, allot::local_rows<Set>>>(rows());
    }
    std::unique_ptr<heap_face> heap(unsigned kind, std::size_t bytes, const allot::row_type& type) override {
        try {
            switch (kind) {
            case 0: return face(rows().heap(bytes, type));
            case 1: return face(rows().heap(allot::as<allot::heap::unique>, bytes, type));
            case 2: return face(rows().heap(allot::as<allot::heap::unique, allot::size::packed>, bytes, type));
            case 3: return face(rows().heap(allot::as<allot::heap::shared_by<2>>, bytes, type));
            case 4: return face(rows().heap(allot::as<allot::slots::bitmap, allot::refill::blocked<8>>, bytes, type));
            default:
                if constexpr (host_rows)
                    return face(rows().heap(allot::as<allot::slots::delay_release, allot::size::exact>, bytes, type));
                else return face(rows().heap(allot::as<allot::size::exact>, bytes, type));
            }
        } catch (const allot::out_of_memory&) {
            return nullptr;
        }
    }
    bool objects(std::uint64_t value) override {
        if constexpr (sets::links<manager> && host_rows) {
            try {
                auto one = rows().template make<detail::object>(value);
                if (!one) return false;
                auto two = one;
                auto three = std::move(one);
                expect(!one && two == three && rows().is_shared(two.get()), "row_ptrs that were copied and moved");
                two.reset();
                expect(three->value == value && !rows().is_shared(three.get()), "a row_ptr alone");
            } catch (const allot::out_of_memory&) {
                return false;
            }
        }
        return true;
    }

    std::size_t release_empty_pages() override { return rows().release_empty_pages(); }
    std::size_t trim() override { return rows().trim(); }
    void set_limit(std::size_t bytes) override {
        if constexpr (sets::charges<manager>) rows().set_limit(bytes);
    }
    std::size_t charged() const override {
        if constexpr (sets::charges<manager>) return rows().used();
        else return rows().arena().stats().taken;
    }
    std::size_t limit() const override {
        if constexpr (sets::charges<manager>) return rows().limit();
        else return rows().arena().limit();
    }
    void report(unsigned kind, std::vector<char>& buffer) override {
        allot::text_writer out{buffer.data(), buffer.size()};
        switch (kind) {
        case 0: rows().report(out); break;
        case 1: allot::write_report(out, rows()); break;
        case 2: allot::write_report_json(out, rows()); break;
        case 3: allot::write_page_usage(out, rows()); break;
        case 4: allot::write_page_usage_json(out, rows()); break;
        default:
            if constexpr (requires { rows().trace_events(); }) allot::write_trace_json(out, rows());
        }
        const bool json = kind == 2 || kind >= 4;
        if (!json || out.is_truncated() || out.size() == 0) return;
        try {
            static_cast<void>(support::json::parse(out.view()));
        } catch (const std::exception& error) {
            std::fprintf(stderr, "soak: %s\n%s\n", error.what(), out.c_str());
            fail("a report is no JSON");
        }
    }
    sums add_up() const override {
        sums s;
        s.live_rows = rows().live_rows();
        rows().usage([&](const allot::heap_usage& u) { s.by_usage += u.live_rows; });
        rows().visit_pages([&](const allot::page_use& use) { s.by_pages += use.pages * rows().arena().page_bytes(); });
        s.taken = rows().arena().stats().taken;
        s.valid = rows().valid() && rows().arena().valid();
        s.stats = rows().stats();
        s.types = rows().usage_by_type();
        return s;
    }

  private:
    template <class Heap> static std::unique_ptr<heap_face> face(Heap heap) {
        return std::make_unique<detail::heap_of<raises, Heap>>(std::move(heap));
    }
    static void count_leaks(void* to, std::string_view text) noexcept {
        constexpr std::string_view before = " ended with ";
        const std::size_t at = text.find(before);
        if (at != std::string_view::npos)
            static_cast<leak_count*>(to)->rows += std::strtoul(text.data() + at + before.size(), nullptr, 10);
    }
    static void damaged(void*, const allot::misuse_report& report) noexcept {
        fail(allot::text_of(report.kind).data(), report.address);
    }
    manager& rows() noexcept { return home_.rows; }
    const manager& rows() const noexcept { return home_.rows; }

    struct free_over {
        void operator()(unsigned char* p) const noexcept { ::operator delete(p, over_align); }
    };
    sets::home<Set> home_;
    std::unique_ptr<unsigned char[], free_over> over_; // laid over a device's range
};

} // namespace soak
