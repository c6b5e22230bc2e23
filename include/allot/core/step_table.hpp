// The steps of a state machine that is a list of {from, by, to}, by state and event: for enums from 0 on.
//
// An event that a state does not name is not legal there. Cost: 2 bytes per state and event, constant. Threads: values.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class State, class Event, std::size_t States, std::size_t Events> class step_table {
  public:
    template <class Steps> constexpr explicit step_table(const Steps& steps) noexcept {
        for (const auto& s : steps) {
            cell& c = cells_[static_cast<std::size_t>(s.from)][static_cast<std::size_t>(s.by)];
            has_two_ = has_two_ || c.legal;
            c = {true, s.to};
        }
    }
    constexpr bool is_legal(State from, Event by) const noexcept { return at(from, by).legal; }
    /// The state after the event; the same state if it is not legal.
    constexpr State after(State from, Event by) const noexcept { return is_legal(from, by) ? at(from, by).to : from; }
    /// Whether a state has two steps for one event.
    constexpr bool is_ambiguous() const noexcept { return has_two_; }

  private:
    struct cell {
        bool legal = false;
        State to{};
    };
    constexpr const cell& at(State from, Event by) const noexcept {
        return cells_[static_cast<std::size_t>(from)][static_cast<std::size_t>(by)];
    }
    std::array<std::array<cell, Events>, States> cells_{};
    bool has_two_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
