// A callable by reference: for code that is compiled once, and calls what its callers give it.
//
// It is two words, and does not own the callable, which outlives it. Cost: an indirect call.
// Source: P0792, function_ref; in C++26.
#pragma once

#include <allot/config.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Signature> class function_ref;
template <class Result, class... Args> class function_ref<Result(Args...)> {
  public:
    template <class Callable>
        requires std::is_invocable_v<const Callable&, Args...>
    function_ref(const Callable& callable) noexcept
        : of_(&callable), call_([](const void* of, Args... args) noexcept -> Result {
              return static_cast<Result>((*static_cast<const Callable*>(of))(static_cast<Args>(args)...));
          }) {}
    Result operator()(Args... args) const noexcept { return call_(of_, static_cast<Args>(args)...); }

  private:
    const void* of_;
    Result (*call_)(const void*, Args...) noexcept;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
