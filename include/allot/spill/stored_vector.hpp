// How a store keeps a value vector: its values, then the bytes of its validity bits, if it has any.
//
//     allot::stored<allot::value_vector<double>> prices = inputs.put(std::move(column));
//
//   kept   | v0 v1 v2 ... | validity |      a half reads its part of both; what it writes itself is its own alone
//
// A vector comes back as one block of the source that its values are of, with the same size, nulls and first_bit().
// Requires: the blocks of its buffers have no other views, and are of memory that the host may access; their account is
// charged. Checked builds report what is not so. Cost: a vector whose validity lies right behind its values is written
// in place, another one piece by piece. Threads: as stored.hpp says.
#pragma once

#include <allot/account/top_holders.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/validity.hpp>
#include <allot/buffer/value_vector.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/spill/stored.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Two pieces of memory, written one behind the other.
class two_pieces final : public byte_source {
  public:
    two_pieces(std::span<const std::byte> first, std::span<const std::byte> second) noexcept
        : byte_source(first.size() + second.size()), first_(first), second_(second) {}
    bool next(std::span<std::byte> to) noexcept override {
        copy(first_, to);
        copy(second_, to);
        return to.empty();
    }

  private:
    static void copy(std::span<const std::byte>& from, std::span<std::byte>& to) noexcept {
        const std::size_t n = min(from.size(), to.size());
        if (n == 0) return;
        std::memcpy(to.data(), from.data(), n);
        from = from.subspan(n), to = to.subspan(n);
    }
    std::span<const std::byte> first_, second_;
};

} // namespace detail

/// Throws: as storing<buffer> for its buffers. An empty vector never leaves.
template <plain_number V> struct storing<value_vector<V>> {
    using held = value_vector<V>;

    storing(const held& v, account& of_store)
        : by(v.empty() ? of_store : account_of(v)), memory(buffer_memory::of(v.values())), values(v.size()),
          bits(v.validity().size()), first_bit(v.first_bit()), bytes(v.size() * sizeof(V) + bits) {}

    static held hold(held& v) noexcept { return std::move(v); }
    static std::size_t charged(const held& v) noexcept {
        const bool has_two = v.validity() && !detail::vector_parts::are_of_one_block(v.values(), v.validity());
        return v.values().block_bytes() + (has_two ? v.validity().block_bytes() : 0);
    }
    static bool may_leave(const held& v) noexcept {
        return v.empty() || !detail::vector_parts::are_shared(v.values(), v.validity());
    }
    // Empty: the validity does not lie right behind the values.
    static std::span<const std::byte> in_one_piece(const held& v) noexcept {
        const std::span<const std::byte> first = values_of(v), second = v.validity().bytes();
        if (!second.empty() && first.data() + first.size() != second.data()) return {};
        return {first.data(), first.size() + second.size()};
    }
    static home_status write(const held& from, kept_bytes& to) noexcept {
        if (const std::span<const std::byte> all = in_one_piece(from); !all.empty()) {
            byte_source source{all};
            return to.write(source);
        }
        detail::two_pieces source{values_of(from), from.validity().bytes()};
        return to.write(source);
    }
    held make(const kept_bytes& from, const pin_request& by_pin, home_status& why) const noexcept {
        buffer whole = detail::make_buffer(*memory, by_pin, bytes, why);
        if (!why) return {};
        const std::size_t n = bytes - bits;
        if (from.bytes() == bytes) why = read(from, 0, whole.bytes());
        else if (why = read(from, values_at, whole.bytes().first(n)); why && bits != 0)
            why = read(from, bits_at, whole.bytes().subspan(n));
        return {whole.slice(0, n), values, whole.slice(n, bits), first_bit};
    }
    static void move_to(account& to, held& v) {
        if (v.empty() || v.holder() == &to) return;
        transfer_result moved = v.values().try_transfer(to);
        if (!moved.view) detail::raise_refused(to.node(), moved.status);
        transfer_result bits_moved = v.validity().try_transfer(to); // else the first charge returns with its view
        if (v.validity() && !bits_moved.view) detail::raise_refused(to.node(), bits_moved.status);
        v = held{std::move(moved.view), v.size(), std::move(bits_moved.view), v.first_bit()};
    }
    std::size_t count() const noexcept { return values; }
    stored_part<held> part(std::size_t from, std::size_t n, const kept_bytes& whole, home_status&) const noexcept {
        const bool is_own = whole.bytes() == bytes;
        const std::size_t bit = first_bit + from;
        stored_part<held> p{*this, whole.slice(0, whole.bytes())};
        p.how.values = n;
        p.how.values_at = (is_own ? 0 : values_at) + from * sizeof(V);
        p.how.bits_at = (is_own ? bytes - bits : bits_at) + bit / 8;
        p.how.first_bit = bits != 0 ? bit % 8 : 0;
        p.how.bits = bits != 0 ? detail::bytes_of_bits(p.how.first_bit, n) : 0;
        p.how.bytes = n * sizeof(V) + p.how.bits;
        return p;
    }

    account& by;
    std::optional<buffer_memory> memory; // none: it is empty
    std::size_t values, bits, first_bit; // values; bytes of validity, and the bit of value 0
    std::size_t bytes;
    // Where they are in what is kept of the whole, if this is a part of it: what is kept has more bytes then.
    std::size_t values_at = 0, bits_at = 0;

  private:
    static std::span<const std::byte> values_of(const held& v) noexcept {
        return v.values().bytes().first(v.size() * sizeof(V));
    }
    static home_status read(const kept_bytes& from, std::size_t at, std::span<std::byte> into) noexcept {
        byte_sink sink{into};
        return from.read(at, sink);
    }
    static account& account_of(const held& v) {
        account& its = detail::account_to_store(v.values(), detail::vector_parts::are_shared(v.values(), v.validity()));
        if (!v.validity().host_access()) detail::raise_not_storable(misuse::no_host_access, its.name());
        return its;
    }
};
static_assert(spillable<stored<value_vector<int>>>);

} // namespace allot::inline ALLOT_ABI
