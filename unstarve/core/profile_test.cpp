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
  p.stages[1].cpu_ns = 3'000'000'000;
  p.stages[1].squares_us2 = 2.5e9;
  p.stages[1].awake_ns = 2'000;
  p.read_ahead = 16;
  p.batch_samples = 250;
  p.batch_bytes = 3 << 20;
  p.run_delay_ns = 77;
  p.consumer = {4, 1'000'000, 2.5e5, 900, 1, 5'000'000'000};
  p.tuning = {{0.05, 2, 2, 0, "two cores, and the samples take nothing but CPU"}};
  return p;
}

// to_json(example()) with `from` replaced by `to`.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = to_json(example());
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_rejected(const std::string& text, const std::string& why) {
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

TEST_CASE("a profile round-trips through JSON") {
  const std::string text = to_json(example());
  const Profile back = profile_from_json(text);
  CHECK(to_json(back) == text);
  CHECK(back.stages.size() == 2);
  CHECK(back.stages[1].name == "decode");
  CHECK(back.stages[1].bytes == INT64_MAX);
  CHECK(back.stages[1].awake_ns == 2'000);
  CHECK(back.step[0].p95_ms == 3.0);
  CHECK(back.utilisation[1].utilisation == 0.5);
  CHECK(back.cpu_cores_busy == 1.25);
  CHECK(to_json(profile_from_json(to_json(Profile{}))) == to_json(Profile{}));
}

TEST_CASE("unknown fields of a later writer are ignored") {
  CHECK(profile_from_json(altered("{", "{\"colour\":[1,{}],")).samples == 1000);
}

TEST_CASE("invalid profiles are rejected with the field and the value found") {
  check_rejected("", "not JSON");
  check_rejected("{\"version\":1", "not JSON");
  check_rejected("[]", "top level is array");
  check_rejected("{}", "no field \"version\"");
  check_rejected(altered("\"version\":3", "\"version\":4"), "version 4; expected 1 to 3");
  check_rejected(altered("\"version\":3", "\"version\":0"), "version 0; expected 1 to 3");
  check_rejected(altered("\"cpu_ns\":0,", ""), "stages[0] has no field \"cpu_ns\"");
  check_rejected(altered("\"consumer\":{", "\"consumer\":7,\"old\":{"), "consumer is number; expected an object");
  check_rejected(altered("\"paused_ns\"", "\"paused\""), "consumer has no field \"paused_ns\"");
  check_rejected(altered("\"samples\":1000", "\"samples\":10.5"), "top level.samples is 10.5; expected an integer");
  check_rejected(altered("\"samples\":1000", "\"samples\":18446744073709551615"), "expected an integer");
  check_rejected(altered("\"loader_threads\":2", "\"loader_threads\":3000000000"), "expected a 32-bit integer");
  check_rejected(altered("\"cpu_cores_busy\":1.25", "\"cpu_cores_busy\":\"all\""), "expected a number");
  check_rejected(altered("\"name\":\"decode\"", "\"name\":7"), "stages[1].name is number; expected a string");
  check_rejected(altered("\"busy_ns\":10,", ""), "stages[0] has no field \"busy_ns\"");
  check_rejected(altered("\"step\":[", "\"step\":{},\"old\":["), "step is object; expected a list");
  check_rejected(altered("\"utilisation\":[", "\"utilisation\":[3,"), "utilisation[0] is number; expected an object");
}

TEST_CASE("a profile of version 1 is read with missing fields as zero") {
  const Profile old = profile_from_json(
      R"({"version":1,"wall_ns":5,"samples":3,"batches":1,"loader_threads":2,"prefetch_batches":2,"cpu_cores_busy":1.5,
          "stages":[{"name":"read","samples":3,"busy_ns":10,"bytes":20}],"step":[],"utilisation":[]})");
  CHECK(old.version == kProfileVersion);
  CHECK(old.stages[0].busy_ns == 10);
  CHECK(old.stages[0].cpu_ns == 0);
  CHECK(old.consumer.batches == 0);
}

TEST_CASE("a profile of version 2 is read with missing fields as zero") {
  std::string text = altered("\"version\":3", "\"version\":2");
  for (const char* const awake : {",\"awake_ns\":0", ",\"awake_ns\":2000"}) {
    REQUIRE(text.find(awake) != std::string::npos);
    text.erase(text.find(awake), std::string(awake).size());
  }
  const Profile old = profile_from_json(text);
  CHECK(old.stages[1].cpu_ns == 3'000'000'000);
  CHECK(old.stages[1].awake_ns == 0);
  check_rejected(altered(",\"awake_ns\":2000", ""), "stages[1] has no field \"awake_ns\"");
}

TEST_CASE("between() subtracts counters and keeps the later settings") {
  const Profile earlier = example();
  Profile later = example();
  later.wall_ns += 100;
  later.samples += 10;
  later.batches += 2;
  later.run_delay_ns += 5;
  later.loader_threads = 7;
  later.stages[1].busy_ns += 60;
  later.stages[1].cpu_ns += 40;
  later.stages[1].squares_us2 += 8;
  later.stages[1].awake_ns += 9;
  later.consumer.batches += 2;
  later.consumer.busy_ns += 30;
  later.consumer.wait_ns += 70;
  later.stages.push_back({"late", 5, 6, 7});
  const Profile part = between(earlier, later);
  CHECK(part.wall_ns == 100);
  CHECK(part.samples == 10);
  CHECK(part.batches == 2);
  CHECK(part.run_delay_ns == 5);
  CHECK(part.loader_threads == 7);
  CHECK(part.stages[0].busy_ns == 0);
  CHECK(part.stages[1].busy_ns == 60);
  CHECK(part.stages[1].cpu_ns == 40);
  CHECK(part.stages[1].squares_us2 == 8);
  CHECK(part.stages[1].awake_ns == 9);
  CHECK(part.stages[2].busy_ns == 6);
  CHECK(part.consumer.batches == 2);
  CHECK(part.consumer.busy_ns == 30);
  CHECK(part.consumer.wait_ns == 70);
  CHECK(part.consumer.pauses == 0);
}
