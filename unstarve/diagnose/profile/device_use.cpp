#include "unstarve/diagnose/profile/device_use.h"

namespace unstarve {

bool is_disturbed(const TraceUse& trace) noexcept {
  return trace.format == "CUPTI" && trace.overhead_s >= 0.03 * trace.analysed_s && trace.overhead_s > 0;
}

const char* to_string(StepActivity part) noexcept {
  switch (part) {
    case StepActivity::kKernel: return "kernel";
    case StepActivity::kCopy: return "copy";
    case StepActivity::kMemset: return "memset";
    case StepActivity::kCommunication: return "communication";
    case StepActivity::kRuntime: return "runtime";
    case StepActivity::kLoader: return "loader";
    case StepActivity::kOperator: return "operator";
    case StepActivity::kOther: break;
  }
  return "other";
}

const char* to_string(CopyDirection direction) noexcept {
  switch (direction) {
    case CopyDirection::kToDevice: return "to device";
    case CopyDirection::kToHost: return "to host";
    case CopyDirection::kOnDevice: return "on device";
    case CopyDirection::kUnknown: break;
  }
  return "unknown";
}

const char* to_string(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::kPageable: return "pageable";
    case MemoryKind::kPinned: return "pinned";
    case MemoryKind::kDevice: return "device";
    case MemoryKind::kManaged: return "managed";
    case MemoryKind::kUnknown: break;
  }
  return "unknown";
}

const char* to_string(Framework framework) noexcept {
  switch (framework) {
    case Framework::kPyTorch: return "PyTorch";
    case Framework::kTensorFlow: return "TensorFlow";
    case Framework::kJax: return "JAX";
    case Framework::kUnknown: break;
  }
  return "unknown";
}

}  // namespace unstarve
