// A home in the host's memory that counts its calls, and fails, refuses or damages the n-th one on demand.
#pragma once

#include <allot/account/account.hpp>
#include <allot/spill/home.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

// Bytes pass in pieces of `piece`, as through staging, where they are not in one piece.
struct failing_home final : allot::home {
    using status = allot::home_status;
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    explicit failing_home(allot::account& by, bool keeps = true, std::size_t in_pieces_of = 7)
        : home(by, keeps), piece(in_pieces_of) {}
    ~failing_home() = default;

    std::atomic<std::size_t> fail_write{never}, fail_read{never}, refuse_write{never}; // counted from now on
    std::atomic<bool> is_full{false};
    std::atomic<std::size_t> writes{0}, reads{0}, kept{0}, records{0};
    const std::size_t piece;

  private:
    struct memory final : record {
        using record::record;
        std::vector<std::byte> bytes;
    };
    static memory& of(record& r) noexcept { return static_cast<memory&>(r); }
    static bool due(std::atomic<std::size_t>& n) noexcept { return n != never && n-- == 0; }

    record* reserve(std::size_t n) noexcept override { return ++records, new (std::nothrow) memory{n}; }
    status write(record& to, allot::byte_source& from) noexcept override {
        ++writes;
        if (is_full || due(refuse_write))
            return {.how = status::outcome::refused, .why = {.outcome = allot::charge_outcome::over_limit}};
        std::vector<std::byte>& all = of(to).bytes;
        all.resize(from.bytes);
        if (from.data != nullptr) std::memcpy(all.data(), from.data, from.bytes);
        else
            for (std::size_t at = 0; at != all.size();) {
                const std::size_t n = std::min(piece, all.size() - at);
                if (!from.next({all.data() + at, n}))
                    return all.clear(), status{.how = status::outcome::failed, .call = "copy"};
                at += n;
            }
        if (due(fail_write))
            return all.clear(), status{.how = status::outcome::failed, .error = ENOSPC, .call = "write"};
        kept += all.size();
        return {};
    }
    status read(record& from, std::size_t offset, allot::byte_sink& to) noexcept override {
        ++reads;
        const bool fails = due(fail_read); // halfway
        const std::byte* const all = of(from).bytes.data() + offset;
        const std::size_t bytes = fails ? to.bytes / 2 : to.bytes;
        if (to.data != nullptr) std::memcpy(to.data, all, bytes);
        else
            for (std::size_t at = 0; at != bytes;) {
                const std::size_t n = std::min(piece, bytes - at);
                if (!to.next({all + at, n})) return {.how = status::outcome::failed, .call = "copy"};
                at += n;
            }
        if (fails) return {.how = status::outcome::failed, .error = EIO, .call = "read"};
        return {};
    }
    void drop(record& r) noexcept override { kept -= of(r).bytes.size(), of(r).bytes.clear(); }
    void end(record& r) noexcept override { --records, delete &of(r); }
};
