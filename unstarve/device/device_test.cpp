#include "unstarve/device/device.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/device/conformance.h"

using namespace unstarve;

TEST_CASE("the host is a device", "[device]") {
  const auto device = open_device("cpu");
  CHECK(device->name() == "cpu");
  CHECK(device->is_host());
  CHECK(device->make_stream()->native() == nullptr);
  conformance::check_device(*device);
}

TEST_CASE("a CUDA device conforms, or the reason why there is none is reported", "[device]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, the CUDA device is not checked: " << report.reason);
    REQUIRE_FALSE(report.reason.empty());
    try {
      (void)open_device("cuda");
      FAIL("opened a device that the report does not know");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kMissing);
      CHECK(std::string(error.what()).starts_with("open device cuda:0: "));
    }
    return;
  }
  const auto device = open_device("cuda:0");
  CHECK(device->name() == "cuda:0 " + report.gpus[0].name);
  CHECK_FALSE(device->is_host());
  CHECK(device->make_stream()->native() != nullptr);
  conformance::check_device(*device);
}

TEST_CASE("an absent device is kMissing, an invalid name kArgument", "[device]") {
  const auto kind_of = [](const char* name) {
    try {
      (void)open_device(name);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kInternal;
  };
  CHECK(kind_of("cuda:4096") == ErrorKind::kMissing);
  for (const char* name : {"", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda0"}) {
    CAPTURE(name);
    CHECK(kind_of(name) == ErrorKind::kArgument);
    CHECK_FALSE(is_device_name(name));
  }
  for (const char* name : {"cpu", "cuda", "cuda:0", "cuda:4096"}) CHECK(is_device_name(name));
}

TEST_CASE("cuda is cuda:0, and any other name equals only itself", "[device]") {
  const std::vector<std::string> names{"", "cpu", "cuda", "cuda:1", "cuda:x", "emulated:a"};
  for (const std::string& a : names)
    for (const std::string& b : names) CHECK(same_device(a, b) == (a == b));
  CHECK(same_device("cuda", "cuda:0"));
  CHECK(same_device("cuda:0", "cuda"));
}

TEST_CASE("the report is consistent", "[device]") {
  const DeviceReport report = report_devices();
  CHECK(report.cuda_in_build == !report.cuda_runtime.empty());
  if (report.reason.empty()) CHECK_FALSE(report.gpus.empty());
}
