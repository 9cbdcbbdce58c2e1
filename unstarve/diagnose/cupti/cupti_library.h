#pragma once
// The CUPTI of this process: where it is, its functions, and the functions of CUDA whose calls are recorded.
//
// Ownership: the library is never unloaded.
// Threads:   load() first; then the thread that records. The functions are CUPTI's own, for any thread.
// Failure:   load() returns the reason. Only std::bad_alloc is thrown.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/diagnose/cupti/cupti_api.h"

namespace unstarve {

class CuptiLibrary {
 public:
  // Loads the library that $UNSTARVE_CUPTI_LIBRARY names, or that of the program's CUDA. "": it is loaded.
  [[nodiscard]] std::string load();
  // Without load(), every function is null.
  [[nodiscard]] const CuptiFunctions& functions() const { return functions_; }
  // Uses these functions, and chooses the calls to record: those that launch, copy, allocate or wait. Others, such as
  // cudaGetDevice(), are too many. load() calls it.
  void use(const CuptiFunctions& functions);
  // Begins or ends the recording of the chosen calls.
  void enable_calls(bool enable) const;

 private:
  CuptiFunctions functions_;
  std::vector<std::uint32_t> other_calls_[3];  // which are not recorded, by domain
};

}  // namespace unstarve
