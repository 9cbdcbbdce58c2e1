#pragma once
// For tests: what a call that must fail says.

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve::testing {

// The message of the Error that `call` throws, whose kind is checked; "no error" without one.
template <class Call>
std::string refusal(Call&& call, ErrorKind kind = ErrorKind::kInput) {
  try {
    (void)std::forward<Call>(call)();
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(std::string(to_string(error.kind())) == to_string(kind));
    return error.what();
  }
  return "no error";
}

}  // namespace unstarve::testing
