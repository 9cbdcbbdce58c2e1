// For builds without CUDA.
#include "unstarve/core/error.h"
#include "unstarve/device/backends.h"

namespace unstarve {
namespace {

constexpr const char* kReason = "this build has no CUDA (configure with -DUNSTARVE_CUDA=ON where nvcc is installed)";

}  // namespace

std::unique_ptr<Device> open_cuda(int index) {
  throw Error(ErrorKind::kMissing,
              "open device cuda:" + std::to_string(index) + ": " + kReason + ". Use the device cpu.");
}

void report_cuda(DeviceReport& report) {
  report.cuda_in_build = false;
  report.reason = kReason;
}

}  // namespace unstarve
