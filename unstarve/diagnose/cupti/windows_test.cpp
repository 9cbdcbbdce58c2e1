#include "unstarve/diagnose/cupti/windows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/file.h"
#include "unstarve/diagnose/traces/kernel_log_file.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

// A CUPTI that has a buffer until it is flushed for the second time after the window.
struct FakeCall {
  std::string function;
  double time;
};
std::vector<FakeCall> fake_calls;
CuptiRecorder* fake_recorder = nullptr;
std::uint8_t* fake_buffer = nullptr;
int flushes_after = -1;  // -1: the kinds are enabled
bool another_profiler_after = false;

void note(const char* function) { fake_calls.push_back({function, seconds_now()}); }

CuptiFunctions fake_functions() {
  CuptiFunctions cupti;
  cupti.version = [](std::uint32_t*) { return kCuptiSuccess; };
  cupti.timestamp = [](std::uint64_t* now) {
    *now = static_cast<std::uint64_t>(1e9 * seconds_now());
    return kCuptiSuccess;
  };
  cupti.subscribe = [](void**, void (*)(void*, int, std::uint32_t, const void*), void*) {
    return another_profiler_after && flushes_after >= 0 ? kCuptiMultipleSubscribers : kCuptiSuccess;
  };
  cupti.unsubscribe = [](void*) { return kCuptiSuccess; };
  cupti.register_buffers = [](CuptiGiveBuffer, CuptiTakeBuffer) { return kCuptiSuccess; };
  cupti.enable = [](std::uint32_t) {
    if (fake_buffer == nullptr) fake_buffer = fake_recorder->buffers.give();
    note("enable");
    return kCuptiSuccess;
  };
  cupti.disable = [](std::uint32_t) {
    flushes_after = std::max(flushes_after, 0);
    note("disable");
    return kCuptiSuccess;
  };
  cupti.flush = [](std::uint32_t forced) {
    note(forced != 0 ? "forced flush" : "flush");
    if (flushes_after >= 0 && ++flushes_after == 2) fake_recorder->buffers.take_back(fake_buffer);
    return kCuptiSuccess;
  };
  cupti.next = [](std::uint8_t*, std::size_t, CuptiRecord**) { return kCuptiMaxLimit; };
  return cupti;
}

// The log of one window of 0.3 s.
KernelLogFile window_recorded(bool another_profiler) {
  const testing::TemporaryFolder folder;
  fake_calls.clear();
  fake_buffer = nullptr;
  flushes_after = -1;
  another_profiler_after = another_profiler;
  CuptiRecorder recorder;
  fake_recorder = &recorder;
  REQUIRE(recorder.log.open(folder.path().c_str()));
  recorder.cupti.use(fake_functions());
  recorder.times.on = 0.3;
  recorder.kernels = true;
  CHECK(record_window(recorder));
  CHECK(recorder.given_up == another_profiler);
  CHECK(recorder.kernels != another_profiler);
  recorder.log.flush();
  const std::string bytes = read_text_file(folder.path() / (std::to_string(getpid()) + ".cupti"));
  return parse_kernel_log({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "written");
}

double latest_of(const std::string& function) {
  const auto call = std::find_if(fake_calls.rbegin(), fake_calls.rend(),
                                 [&](const FakeCall& each) { return each.function == function; });
  return call == fake_calls.rend() ? 0 : call->time;
}

TEST_CASE("a window begins after CUPTI was enabled, and ends before it is disabled") {
  const KernelLogFile log = window_recorded(false);
  REQUIRE(log.windows.size() == 1);
  const Interval window = log.windows[0].time;
  CHECK(1e-9 * static_cast<double>(window.begin) >= latest_of("enable") + 0.25);
  CHECK(window.end - window.begin >= 300'000'000);
  CHECK(1e-9 * static_cast<double>(window.end) <= latest_of("disable"));
}

TEST_CASE("records are forced only after kernels had time to end") {
  (void)window_recorded(false);
  REQUIRE(fake_calls.size() > 4);
  const auto end = fake_calls.end();
  CHECK(end[-1].function == "forced flush");
  CHECK(end[-2].function == "flush");
  CHECK(end[-2].time >= end[-3].time + 0.25);
  CHECK(end[-3].function == "flush");
  CHECK(end[-4].function == "disable");
}

TEST_CASE("another profiler that appears after a window gets the records") {
  const KernelLogFile log = window_recorded(true);
  CHECK(latest_of("forced flush") == 0);
  CHECK(log.message.find("another profiler") == 0);
  for (const LoggedWindow& window : log.windows) CHECK_FALSE(window.has_kernels);
}

}  // namespace
}  // namespace unstarve
