#include "unstarve/core/profile.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"

using namespace unstarve;
using Catch::Matchers::Contains;

namespace {

Profile example() {
  Profile p;
  p.wall_ns = 5'000'000'000;
  p.samples = 1000;
  p.batches = 4;
  p.loader_threads = 2;
  p.prefetch_batches = 3;
  p.cpu_cores_busy = 1.25;
  p.stages = {{"read", 1000, 10, 1 << 20}, {"decode", 998, 4'000'000'000, INT64_MAX}};
  p.step = {{"wait", 1.5, 1.25, 3.0}};
  p.utilisation = {{0.5, 0.75}, {1.0, 0.5}};
  return p;
}

// to_json(example()) with `from` replaced by `to`.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = to_json(example());
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_refused(const std::string& text, const std::string& why) {
  INFO(text);
  try {
    (void)profile_from_json(text);
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kInput);
    CHECK_THAT(e.what(), Contains(why));
  }
}

}  // namespace

TEST_CASE("a profile survives JSON") {
  const std::string text = to_json(example());
  const Profile back = profile_from_json(text);
  CHECK(to_json(back) == text);
  CHECK(back.stages.size() == 2);
  CHECK(back.stages[1].name == "decode");
  CHECK(back.stages[1].bytes == INT64_MAX);
  CHECK(back.step[0].p95_ms == 3.0);
  CHECK(back.utilisation[1].utilisation == 0.5);
  CHECK(back.cpu_cores_busy == 1.25);
  CHECK(to_json(profile_from_json(to_json(Profile{}))) == to_json(Profile{}));
}

TEST_CASE("a profile of a later writer with more fields is read") {
  CHECK(profile_from_json(altered("{", "{\"colour\":[1,{}],")).samples == 1000);
}

TEST_CASE("what is not a profile is refused with the field and what was found") {
  check_refused("", "not JSON");
  check_refused("{\"version\":1", "not JSON");
  check_refused("[]", "top level is array");
  check_refused("{}", "no field \"version\"");
  check_refused(altered("\"version\":1", "\"version\":2"), "version 2, this program reads version 1");
  check_refused(altered("\"samples\":1000", "\"samples\":10.5"), "top level.samples is 10.5, expected an integer");
  check_refused(altered("\"samples\":1000", "\"samples\":18446744073709551615"), "expected an integer");
  check_refused(altered("\"loader_threads\":2", "\"loader_threads\":3000000000"), "expected a 32-bit integer");
  check_refused(altered("\"cpu_cores_busy\":1.25", "\"cpu_cores_busy\":\"all\""), "expected a number");
  check_refused(altered("\"name\":\"decode\"", "\"name\":7"), "stages[1].name is number, expected a string");
  check_refused(altered("\"busy_ns\":10,", ""), "stages[0] has no field \"busy_ns\"");
  check_refused(altered("\"step\":[", "\"step\":{},\"old\":["), "step is object, expected a list");
  check_refused(altered("\"utilisation\":[", "\"utilisation\":[3,"), "utilisation[0] is number, expected an object");
}
