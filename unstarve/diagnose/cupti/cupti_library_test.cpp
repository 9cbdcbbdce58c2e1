#include "unstarve/diagnose/cupti/cupti_library.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace unstarve {
namespace {

std::map<std::pair<std::uint32_t, std::uint32_t>, int> disabled_calls;  // by domain and number
std::vector<std::uint32_t> enabled_kinds;

CuptiStatus name_of_call(std::uint32_t domain, std::uint32_t function, const char** name) {
  static const std::map<std::pair<std::uint32_t, std::uint32_t>, const char*> names{
      {{kCuptiDriver, 7}, "cuLaunchKernel"},
      {{kCuptiDriver, 8}, "cuCtxGetCurrent"},
      {{kCuptiRuntime, 3}, "cudaGetDevice_v3020"},
      {{kCuptiRuntime, 4}, "cudaMemcpyAsync_v3020"},
      {{kCuptiRuntime, 1999}, "cudaFree_v3020"},
      {{kCuptiRuntime, 5}, "cudaStreamWaitEvent_v3020"},
      {{kCuptiRuntime, 20}, "cudaMalloc_v3020"},
      {{kCuptiRuntime, 27}, "cudaMallocHost_v3020"},
      {{kCuptiDriver, 9}, "cuMemCreate"},
      {{kCuptiRuntime, 152}, "cudaHostRegister_v4000"},
      {{kCuptiDriver, 10}, "cuMemMap"},
      {{kCuptiRuntime, 153}, "cudaHostUnregister_v4000"},
  };
  const auto found = names.find({domain, function});
  if (found == names.end()) return kCuptiMaxLimit;
  *name = found->second;
  return kCuptiSuccess;
}

TEST_CASE("only calls that launch, copy, allocate or wait are recorded") {
  CuptiFunctions functions;
  functions.function_name = name_of_call;
  functions.enable = [](std::uint32_t kind) {
    enabled_kinds.push_back(kind);
    return kCuptiSuccess;
  };
  functions.disable = [](std::uint32_t kind) {
    std::erase(enabled_kinds, kind);
    return kCuptiSuccess;
  };
  functions.enable_driver = [](std::uint32_t function, std::uint8_t enable) {
    CHECK(enabled_kinds.back() == kCuptiDriverCall);  // enabling the kind later would enable all calls
    disabled_calls[{kCuptiDriver, function}] += enable != 0 ? -1 : 1;
    return kCuptiSuccess;
  };
  functions.enable_runtime = [](std::uint32_t function, std::uint8_t enable) {
    CHECK(enabled_kinds.back() == kCuptiRuntimeCall);
    disabled_calls[{kCuptiRuntime, function}] += enable != 0 ? -1 : 1;
    return kCuptiSuccess;
  };
  CuptiLibrary library;
  library.use(functions);
  library.enable_calls(true);
  CHECK(disabled_calls == std::map<std::pair<std::uint32_t, std::uint32_t>, int>{
                              {{kCuptiDriver, 8}, 1},
                              {{kCuptiRuntime, 3}, 1},
                          });
  CHECK(enabled_kinds == std::vector<std::uint32_t>{kCuptiDriverCall, kCuptiRuntimeCall});
  library.enable_calls(false);
  CHECK(enabled_kinds.empty());

  disabled_calls.clear();
  functions.enable_driver = functions.enable_runtime = nullptr;  // a version without these
  library.use(functions);
  library.enable_calls(true);
  CHECK(disabled_calls.empty());
  CHECK(enabled_kinds.empty());
}

TEST_CASE("a CUPTI that is not there has a reason") {
  setenv("UNSTARVE_CUPTI_LIBRARY", "/missing/libcupti.so", 1);
  CuptiLibrary library;
  CHECK(library.load().find("libcupti.so was not found") == 0);
  setenv("UNSTARVE_CUPTI_LIBRARY", "libc.so.6", 1);  // a library without its functions
  CHECK(library.load() == "version 0 of CUPTI is not supported; expected the version of CUDA 12 or 13");
  unsetenv("UNSTARVE_CUPTI_LIBRARY");
  CHECK_FALSE(library.functions().complete());
}

}  // namespace
}  // namespace unstarve
