#include "unstarve/core/error.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <set>
#include <string>

using unstarve::Error;
using unstarve::ErrorKind;

TEST_CASE("every kind of error has a unique name") {
  std::set<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind) {
    names.insert(to_string(static_cast<ErrorKind>(kind)));
  }
  CHECK(names.size() == 8);
  CHECK(names.count("unknown") == 0);
}

TEST_CASE("an I/O error contains operation, path and reason") {
  const Error error = unstarve::io_error("open", "/no/such", ENOENT);
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK(std::string(error.what()) == "open /no/such: No such file or directory");
}
