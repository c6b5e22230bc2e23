// recorder_of<Answer>: the recorder of each answer to `watch`.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/watch.hpp>
#include <allot/watch/charge_counters.hpp>
#include <allot/watch/peak_recorder.hpp>
#include <allot/watch/trace_recorder.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Answer> constexpr auto recorder_for() noexcept {
    if constexpr (Answer::events != 0) return std::type_identity<trace_recorder<Answer::events>>{};
    else if constexpr (Answer::at_peak) return std::type_identity<peak_recorder>{};
    else if constexpr (Answer::counts) return std::type_identity<charge_counters>{};
    else return std::type_identity<no_charge_counters>{};
}

template <class Answer> using recorder_of = typename decltype(detail::recorder_for<Answer>())::type;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
