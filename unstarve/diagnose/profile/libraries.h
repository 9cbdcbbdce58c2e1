#pragma once
// The libraries by which a program trains and loads, as its profile shows them.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct UsedLibraries {
  bool pytorch = false, tensorflow = false, jax = false, unstarve = false;
  [[nodiscard]] int count() const { return pytorch + tensorflow + jax + unstarve; }
};

// By the framework of the trace, the files of the stacks that take 1 % of the recorded time (Keras alone counts as
// TensorFlow), and the names of threads; those of JAX and TensorFlow only if nothing else is known.
[[nodiscard]] UsedLibraries libraries_of(const RunProfile& profile);

}  // namespace unstarve
