// A program that behaves as one that trains on a GPU, for tests without a GPU: it loads the library of
// $CUDA_INJECTION64_PATH as the driver of CUDA does, and reports its work to the stand-in for CUPTI.
//
//   cuda_program SECONDS [killed | profiler | busy | memory | unified | fallback | matrix]
//
// Each step of about 10 ms has a copy of 4 ms from pageable memory, and three kernels of 1 ms. It prints "trained" and
// exits with 3. killed: it kills itself after the time. profiler: another profiler subscribes after half of the time.
// busy: CUPTI reports that it took a tenth of the time. memory: each step allocates 24 MB and releases it, and
// allocates 1 MB that it keeps, and 4 MB of pinned memory, which it releases. unified: each step also has three faults
// of the GPU that take 1 ms of a kernel, two faults of the CPU, 1 MB of pages that are copied to the device and back,
// 1 ms in which accesses are delayed, and thrashing. fallback: each step of about 10 ms has a kernel of 1 ms, a copy of
// 1 MB to the host, 4 ms without work, a copy of 1 MB to the device, and another kernel. matrix: each step of about
// 10 ms has a matrix product of 5 ms.
#include <dlfcn.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cupti_stand_in.h"

extern "C" int cuptiGetTimestamp(std::uint64_t*);

namespace {

void load_injection() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  const auto initialize =
      library != nullptr ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
  if (initialize == nullptr || initialize() != 1) std::fprintf(stderr, "the injection failed\n");
}

std::uint64_t now() {
  std::uint64_t ns = 0;
  cuptiGetTimestamp(&ns);
  return ns;
}

constexpr std::uint64_t kMs = 1'000'000;

void fallback_step() {
  const std::uint64_t begin = now();
  stand_in_call(kStandInLaunch, begin, begin + 10'000);
  stand_in_kernel("_Z4gemmPKfS0_Pf", 7, begin + 10'000, begin + kMs);
  stand_in_copy_back(1 << 20, begin + kMs, begin + 2 * kMs);
  stand_in_copy(1, 1 << 20, begin + 6 * kMs, begin + 7 * kMs);
  stand_in_call(kStandInLaunch, begin + 7 * kMs, begin + 7 * kMs + 10'000);
  stand_in_kernel("relu", 7, begin + 7 * kMs + 10'000, begin + 9 * kMs);
  usleep(10'000);
}

void matrix_step() {
  const std::uint64_t begin = now();
  stand_in_call(kStandInLaunch, begin, begin + 10'000);
  stand_in_kernel("_Z4gemmPKfS0_Pf", 7, begin + 10'000, begin + 5 * kMs);
  usleep(10'000);
}

void step(std::string_view mode, std::uint64_t number) {
  if (mode == "fallback") return fallback_step();
  if (mode == "matrix") return matrix_step();
  const std::uint64_t begin = now();
  stand_in_call(kStandInGetter, begin, begin + 1000);
  stand_in_call(kStandInCopy, begin, begin + 4 * kMs);
  stand_in_copy(1, 8 << 20, begin, begin + 4 * kMs);
  std::uint64_t time = begin + 4 * kMs;
  for (const char* name : {"_Z4gemmPKfS0_Pf", "relu", "_ZN2at6native3sgdEPf"}) {
    stand_in_call(kStandInLaunch, time, time + 10'000);
    stand_in_kernel(name, 7, time + 10'000, time + kMs);
    time += kMs;
  }
  stand_in_call(kStandInSynchronize, time, time + 10'000);
  if (mode == "memory") {
    stand_in_memory(1, 0x1000, 24'000'000, begin + 1000);
    stand_in_memory(1, 0x2000 + number, 1'000'000, begin + 2000);
    stand_in_memory(2, 0x1000, 0, time);
    stand_in_pinned(1, 0x1000, 4'000'000, begin + 3000);
    stand_in_pinned(2, 0x1000, 0, time);
  }
  if (mode == "unified") {
    stand_in_unified(4, 3, begin + 4 * kMs, begin + 5 * kMs);
    stand_in_unified(1, 1'000'000, begin + 4 * kMs, begin + 5 * kMs);
    stand_in_unified(5, 65'536, begin + 5 * kMs, 0);
    stand_in_unified(6, 0, begin + 5 * kMs, begin + 6 * kMs);
    for (int fault = 0; fault < 2; ++fault) stand_in_unified(3, 0x4711, time, 0);
    stand_in_unified(2, 1'000'000, time, time + kMs);
  }
  if (mode == "busy") stand_in_overhead(begin, begin + kMs);
  usleep(10'000);
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  const std::string_view mode = count > 2 ? arguments[2] : "";
  load_injection();
  const std::uint64_t begin = now();
  const auto length = static_cast<std::uint64_t>(seconds * 1e9);
  for (std::uint64_t number = 0; now() - begin < length; ++number) {
    step(mode, number);
    if (mode == "profiler" && now() - begin > length / 2) stand_in_subscribe();
  }
  if (mode == "killed") kill(getpid(), SIGKILL);
  std::puts("trained");
  return 3;
}
