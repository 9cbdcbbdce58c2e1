#include "unstarve/jobs/training/configuration_faults.h"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace unstarve {
namespace {

[[noreturn]] void fault(ErrorKind kind, const char* text) { throw Error(kind, text); }

TEST_CASE("all faults of a configuration are one error") {
  ConfigurationFaults faults;
  faults.collect([] {});
  CHECK_NOTHROW(faults.throw_if_any());
  faults.collect([] { fault(ErrorKind::kMissing, "first"); });
  try {
    faults.throw_if_any();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);  // a single one as it is
    CHECK(error.what() == std::string("first"));
  }
  faults.collect([] { fault(ErrorKind::kInput, "second"); });
  try {
    faults.throw_if_any();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);  // as the first one
    CHECK(error.what() == std::string("first\nsecond"));
  }
  faults.collect([] { fault(ErrorKind::kArgument, "third"); });
  try {
    faults.throw_if_any();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kArgument);
    CHECK(error.what() == std::string("first\nsecond\nthird"));
  }
}

TEST_CASE("a fault that is found twice is listed once") {
  ConfigurationFaults faults;
  CHECK_FALSE(faults.any());
  CHECK(faults.collect([] {}));
  CHECK_FALSE(faults.collect([] { fault(ErrorKind::kInput, "first\nsecond"); }));
  CHECK(faults.any());
  faults.add({ErrorKind::kInput, "second\nthird"});
  faults.add({ErrorKind::kInput, "first"});
  CHECK_THROWS_WITH(faults.throw_if_any(), "first\nsecond\nthird");
}

TEST_CASE("what is no fault of the configuration is thrown immediately") {
  ConfigurationFaults faults;
  for (const ErrorKind kind : {ErrorKind::kCancelled, ErrorKind::kMemory, ErrorKind::kInternal})
    CHECK_THROWS_AS(faults.collect([&] { fault(kind, "x"); }), Error);
  CHECK_THROWS_AS(faults.collect([] { throw std::runtime_error("x"); }), std::runtime_error);
  CHECK_NOTHROW(faults.throw_if_any());
}

}  // namespace
}  // namespace unstarve
