#include "unstarve/diagnose/cupti/cupti_library.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <utility>

namespace unstarve {
namespace {

std::map<std::pair<std::uint32_t, std::uint32_t>, int> enabled_calls;  // by domain and number

CuptiStatus name_of_call(std::uint32_t domain, std::uint32_t function, const char** name) {
  static const std::map<std::pair<std::uint32_t, std::uint32_t>, const char*> names{
      {{kCuptiDriver, 7}, "cuLaunchKernel"},       {{kCuptiDriver, 8}, "cuCtxGetCurrent"},
      {{kCuptiRuntime, 3}, "cudaGetDevice_v3020"}, {{kCuptiRuntime, 4}, "cudaMemcpyAsync_v3020"},
      {{kCuptiRuntime, 1999}, "cudaFree_v3020"},   {{kCuptiRuntime, 5}, "cudaStreamWaitEvent_v3020"},
  };
  const auto found = names.find({domain, function});
  if (found == names.end()) return kCuptiMaxLimit;
  *name = found->second;
  return kCuptiSuccess;
}

TEST_CASE("only calls that launch, copy, allocate or wait are recorded") {
  CuptiFunctions functions;
  functions.function_name = name_of_call;
  functions.enable_driver = [](std::uint32_t function, std::uint8_t enable) {
    enabled_calls[{kCuptiDriver, function}] += enable != 0 ? 1 : -1;
    return kCuptiSuccess;
  };
  functions.enable_runtime = [](std::uint32_t function, std::uint8_t enable) {
    enabled_calls[{kCuptiRuntime, function}] += enable != 0 ? 1 : -1;
    return kCuptiSuccess;
  };
  CuptiLibrary library;
  library.use(functions);
  library.enable_calls(true);
  CHECK(enabled_calls == std::map<std::pair<std::uint32_t, std::uint32_t>, int>{
                             {{kCuptiDriver, 7}, 1},
                             {{kCuptiRuntime, 4}, 1},
                             {{kCuptiRuntime, 5}, 1},
                             {{kCuptiRuntime, 1999}, 1},
                         });
  library.enable_calls(false);
  for (const auto& [call, enabled] : enabled_calls) CHECK(enabled == 0);

  enabled_calls.clear();
  functions.enable_driver = functions.enable_runtime = nullptr;  // a version without these
  library.use(functions);
  library.enable_calls(true);
  CHECK(enabled_calls.empty());
}

TEST_CASE("a CUPTI that is not there has a reason") {
  setenv("UNSTARVE_CUPTI_LIBRARY", "/missing/libcupti.so", 1);
  CuptiLibrary library;
  CHECK(library.load().find("libcupti.so was not found") == 0);
  setenv("UNSTARVE_CUPTI_LIBRARY", "libc.so.6", 1);  // a library without its functions
  CHECK(library.load() == "version 0 of CUPTI is not supported; expected that of CUDA 12 or 13");
  unsetenv("UNSTARVE_CUPTI_LIBRARY");
  CHECK_FALSE(library.functions().complete());
}

}  // namespace
}  // namespace unstarve
