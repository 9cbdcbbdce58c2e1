#include "unstarve/core/simd_targets.h"

namespace unstarve {
namespace {

bool detect() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

bool& wide() {
  static bool value = detect();
  return value;
}

}  // namespace

bool wide_vectors_pay() { return wide(); }

void choose_wide_vectors(bool value) { wide() = value; }

}  // namespace unstarve
