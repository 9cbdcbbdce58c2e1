#pragma once
// For tests of SIMD kernels: a loop over the machine's instruction sets. Include from test files only.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/simd_targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace unstarve::testing {

// Runs `body(name)` for each instruction set that this machine has and the kernels are compiled for, including plain
// loops, and for the best one again with the other vector width. The choice is global: no other thread may run kernels
// during the call.
template <class Body>
void on_every_target(const Body& body) {
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  bool plain = false;
  for (const std::int64_t target : targets) plain = plain || target == HWY_SCALAR || target == HWY_EMU128;
  if (!plain) targets.push_back(HWY_STATIC_TARGET);
  for (const std::int64_t target : targets) {
    hwy::GetChosenTarget().Update(target);
    body(std::string(hwy::TargetName(target)));
  }
  hwy::GetChosenTarget().DeInit();
  const bool wide = wide_vectors_pay();
  choose_wide_vectors(!wide);
  body(wide ? "the best one in vectors of 256 bits" : "the best one in vectors of 512 bits");
  choose_wide_vectors(wide);
}

}  // namespace unstarve::testing
