#pragma once
// A value or an Error: the return type of operations whose failure is an expected outcome (a corrupt record, say).
//
// Ownership: holds its value or its Error by value. Threads: as any value. Cost: nothing is allocated on success.

#include <type_traits>
#include <utility>
#include <variant>

#include "unstarve/core/error.h"

namespace unstarve {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // Precondition: !ok().
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  // The value; throws the Error when there is none.
  [[nodiscard]] T& value() & {
    if (!ok()) throw error();
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    if (!ok()) throw error();
    return std::get<0>(state_);
  }
  [[nodiscard]] T value() && {
    if (!ok()) throw error();
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace unstarve
