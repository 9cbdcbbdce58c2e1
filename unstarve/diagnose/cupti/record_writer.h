#pragma once
// Writes records of CUPTI to the file of kernel_log.h.
//
// Ownership: `log` and `cupti` must live as long. Threads: one at a time. Failure: only std::bad_alloc is thrown.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/cupti/kernel_log.h"

namespace unstarve {

class RecordWriter {
 public:
  RecordWriter(KernelLog& log, const CuptiFunctions& cupti) : log_(log), cupti_(cupti) {}

  // Ignores records of unknown kinds, and those whose times were not collected.
  void write(const CuptiRecord* record);
  // The calling thread is the one that records: its overhead is not written, as it does not delay the program.
  void set_own_thread();

 private:
  // Writes the name when it is used first: libraries with kernels, and so their names, may be unloaded.
  std::uint32_t number_of(const char* name);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  KernelLog& log_;
  const CuptiFunctions& cupti_;
  std::uint32_t own_self_ = 0, own_id_ = 0;  // CUPTI identifies threads by pthread_self() or by gettid()
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> names_;
};

}  // namespace unstarve
