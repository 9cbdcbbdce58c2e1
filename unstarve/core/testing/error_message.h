#pragma once
// For tests: the message of a call that must fail.

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve::testing {

// Returns the message of the Error that `call` throws and checks its kind; "no error" if nothing is thrown.
template <class Call>
std::string error_message(Call&& call, ErrorKind kind = ErrorKind::kInput) {
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
