#include "unstarve/diagnose/traces/activity_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace unstarve {
namespace {

using Words = std::span<const std::string_view>;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool contains_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool begins_with_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.starts_with(word); });
}

constexpr std::array<std::string_view, 9> kCollectives{"nccldevkernel",      "ncclkernel", "all-reduce",
                                                       "all-gather",         "all-to-all", "reduce-scatter",
                                                       "collective-permute", "msccl",      "cross_device_reduce"};
constexpr std::array<std::string_view, 17> kMatrix{"gemm",
                                                   "gemv",
                                                   "conv",
                                                   "fprop",
                                                   "dgrad",
                                                   "wgrad",
                                                   "winograd",
                                                   "nvjet",
                                                   "xmma",
                                                   "fmha",
                                                   "matmul",
                                                   "cijk_",
                                                   "flash_fwd_kernel",
                                                   "flash_bwd_dq",
                                                   "scudnn",
                                                   "flash_attn",
                                                   "cudnn_generated_fort_native_sdpa"};
// Of kMatrix, those that are named so for another reason.
constexpr std::array<std::string_view, 7> kNotMatrix{"elementwise", "converttensor", "convert_",  "copy_",
                                                     "im2col",      "col2im",        "nchwtonhwc"};
// XLA generates matrix products by Triton, on tensor cores or not: their names do not show it.
constexpr std::array<std::string_view, 2> kUnknownMatrix{"gemm_fusion_", "triton_gemm"};
// Instructions and tile shapes of tensor cores: Volta 884, Turing 1688 and 8816, Ampere 16816, Hopper and later gmma.
constexpr std::array<std::string_view, 21> kTensorCores{
    "tensorop",      "tensor16x8", "tensor8x8",
    "884gemm",       "1688gemm",   "16816",
    "s1688",         "h1688",      "i8816",
    "hmma",          "imma",       "gmma",
    "warpgroupsize", "nvjet",      "tensor_op",
    "884cudnn",      "1688cudnn",  "flash_fwd_kernel",
    "flash_bwd_dq",  "flash_attn", "cudnn_generated_fort_native_sdpa"};

constexpr std::array<std::string_view, 8> kLaunches{
    "launchkernel", "launchcooperativekernel", "graphlaunch", "launchhostfunc", "modulelaunch",
    "extlaunch",    "launchbykernel",          "launchdevice"};
constexpr std::array<std::string_view, 8> kAllocations{"malloc",    "hostalloc", "memalloc",     "memfree",
                                                       "memcreate", "memmap",    "hostregister", "hostunregister"};

// Ranges. Lower case.
constexpr std::array<std::string_view, 9> kLoaderRanges{"enumerate(dataloader)",
                                                        "iteratorgetnext",
                                                        "dataloader_next",
                                                        "dataloader.__next__",
                                                        "data_loading",
                                                        "[pl][profile][_trainingepochloop].train_dataloader_next",
                                                        "load_batch",
                                                        "fetch_batch",
                                                        "get_batch"};
constexpr std::array<std::string_view, 9> kCheckpointRanges{
    "save_checkpoint", "checkpoint_save",        "torch.save",     "save_model", "model_save",
    "checkpoint.save", "checkpointmanager.save", "savecheckpoint", "savev2"};
constexpr std::array<std::string_view, 8> kLoggingRanges{"add_scalar", "add_image",     "log_metrics",   "wandb",
                                                         "mlflow",     "summarywriter", "write_summary", "logging"};
// Ranges without their number. "ProfilerStep" is recognised by the reader of Kineto.
constexpr std::array<std::string_view, 18> kStepRanges{"profilerstep",
                                                       "step",
                                                       "train_step",
                                                       "training_step",
                                                       "train step",
                                                       "training step",
                                                       "iteration",
                                                       "iter",
                                                       "batch",
                                                       "train_batch",
                                                       "training_batch",
                                                       "train",
                                                       "global_step",
                                                       "run_training_batch",
                                                       "[pl][profile]run_training_batch",
                                                       "train_iteration",
                                                       "one_step_on_iterator",     // Keras 3: model.fit()
                                                       "multi_step_on_iterator"};  // the same, with several steps

}  // namespace

KernelTraits kernel_traits(std::string_view name) {
  const std::string text = lower(name);
  KernelTraits traits;
  traits.collective = contains_any(text, kCollectives);
  const bool product = !traits.collective && contains_any(text, kMatrix) && !contains_any(text, kNotMatrix);
  traits.unclear = product && begins_with_any(text, kUnknownMatrix);
  traits.matrix = product && !traits.unclear;
  traits.tensor_core = traits.matrix && contains_any(text, kTensorCores);
  return traits;
}

TraceActivity runtime_activity(std::string_view name) {
  const std::string text = lower(name);
  if (contains_any(text, kLaunches)) return TraceActivity::kLaunch;
  if (text.find("synchronize") != std::string::npos) return TraceActivity::kSynchronisation;
  if (text.find("memcpy") != std::string::npos) {
    return text.find("async") != std::string::npos ? TraceActivity::kCopyCall : TraceActivity::kSynchronisation;
  }
  const bool frees = text.starts_with("cudafree") || text.starts_with("hipfree");
  // The asynchronous ones take memory from a pool and do not wait for the device.
  if ((frees || contains_any(text, kAllocations)) && text.find("async") == std::string::npos)
    return TraceActivity::kAllocation;
  return TraceActivity::kRuntimeCall;
}

std::string range_stem(std::string_view name) {
  std::string stem = lower(name);
  const auto is_end = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) ||
           std::string_view(" #_-/:=()[]").find(c) != std::string_view::npos;
  };
  while (!stem.empty() && is_end(stem.back())) stem.pop_back();
  return stem;
}

std::optional<TraceActivity> range_activity(std::string_view name) {
  const std::string text = lower(name);
  if (begins_with_any(text, kLoaderRanges)) return TraceActivity::kLoader;
  if (text.find("checkpointfunction") == std::string::npos && contains_any(text, kCheckpointRanges))
    return TraceActivity::kCheckpoint;
  if (begins_with_any(text, kLoggingRanges)) return TraceActivity::kLogging;
  if (text.starts_with("aten::")) return TraceActivity::kOperator;  // of PyTorch's emit_nvtx()
  const std::string stem = range_stem(name);
  if (std::ranges::find(kStepRanges, stem) != kStepRanges.end()) return TraceActivity::kPossibleStep;
  return std::nullopt;
}

std::optional<TraceActivity> python_activity(std::string_view name) {
  // Kineto writes "path/file.py(line): function".
  const std::size_t colon = name.rfind("): ");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view function = name.substr(colon + 3);
  const auto in = [&](std::string_view file) { return name.substr(0, colon).find(file) != std::string_view::npos; };
  if (in("utils/data/dataloader.py") && function == "__next__") return TraceActivity::kLoader;
  if (in("torch/serialization.py") && function == "save") return TraceActivity::kCheckpoint;
  if (in("torch/distributed/checkpoint/") && (function == "save" || function == "save_state_dict"))
    return TraceActivity::kCheckpoint;
  if (in("tensorboard/writer.py") || in("wandb/sdk/wandb_run.py")) return TraceActivity::kLogging;
  return std::nullopt;
}

MemoryKind memory_kind(std::string_view word) {
  const std::string text = lower(word);
  if (text.starts_with("pageable")) return MemoryKind::kPageable;
  if (text.starts_with("pinned")) return MemoryKind::kPinned;
  if (text.starts_with("device")) return MemoryKind::kDevice;
  if (text.starts_with("managed") || text.starts_with("unified")) return MemoryKind::kManaged;
  return MemoryKind::kUnknown;
}

CopyName copy_name(std::string_view name) {
  const std::string text = lower(name);
  CopyName copy;
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("htod") || has("h2d") || has("hosttodevice")) copy.direction = CopyDirection::kToDevice;
  if (has("dtoh") || has("d2h") || has("devicetohost")) copy.direction = CopyDirection::kToHost;
  if (has("dtod") || has("d2d") || has("ptop") || has("p2p") || has("devicetodevice"))
    copy.direction = CopyDirection::kOnDevice;
  const std::size_t open = text.find('('), arrow = text.find(" -> ");
  if (open == std::string::npos || arrow == std::string::npos || arrow < open) return copy;
  const MemoryKind from = memory_kind(std::string_view(text).substr(open + 1, arrow - open - 1));
  const MemoryKind to = memory_kind(std::string_view(text).substr(arrow + 4));
  copy.host_memory = copy.direction == CopyDirection::kToHost ? to : from;
  return copy;
}

}  // namespace unstarve
