#pragma once
// Opens a trace, whichever profiler wrote it, and reduces it to a RunProfile. The format is recognised by the content.
//
//   content                              format
//   JSON with "traceEvents"              torch.profiler (kineto.h), also compressed by gzip or Zstandard
//   XSpace                               TensorFlow and JAX (xspace.h)
//   SQLite                               export of Nsight Systems (nsight.h)
//   JSON with "profile"                  unstarve watch --out, or --json
//
// Threads: one.
// Failure: Error(kIo) if the file cannot be read; Error(kInput) for an unknown format, damage or truncation.

#include <string>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

[[nodiscard]] RunProfile read_trace(const std::string& path);

}  // namespace unstarve
