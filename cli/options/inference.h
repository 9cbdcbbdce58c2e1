#pragma once
// Shared by the commands that run models: compress, export, infer, models.
//
// Threads: one. Failure: Error.

#include <stop_token>
#include <string>
#include <utility>

#include "../command.h"
#include "../stop_on_signal.h"
#include "../terminal.h"
#include "unstarve/jobs/inference/evaluation_pipeline.h"

namespace unstarve::cli {

// Any form of model that can be imported.
inline Option model_argument() {
  return {"MODEL", "",
          "",      "folder of checkpoints, weights (.safetensors), TorchScript (.pt) or ONNX (.onnx)",
          true,    Completes::kPath};
}
inline Option engine_option(const char* fallback = "auto") {
  return {"--engine",
          "NAME",
          fallback,
          "engine: openvino, onnxruntime, or the faster of these (auto); tensorrt, or libtorch for comparison, only "
          "on request",
          false,
          Completes::kNothing,
          "auto openvino onnxruntime tensorrt libtorch"};
}

// The images of option or argument `name`, with the split of option `split`.
[[nodiscard]] EvaluationData evaluation_data_from(const Arguments& arguments, const std::string& name,
                                                  const std::string& split = "--split");

// Path of this program, which engines run in a process of their own.
[[nodiscard]] std::string program_path();

// Runs `job(progress, stop)` with a progress bar. Throws Interrupted if a signal stopped it.
template <class Job>
auto with_progress_and_signals(Job&& job) {
  ProgressBar bar;
  StopOnSignal signals;
  try {
    return job(bar.callback(), signals.token());
  } catch (const Error& failure) {
    if (failure.kind() == ErrorKind::kCancelled && signals.received() != 0)
      throw Interrupted(failure, signals.received());
    throw;
  }
}

}  // namespace unstarve::cli
