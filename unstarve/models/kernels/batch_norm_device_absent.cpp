#include "unstarve/core/error.h"
#include "unstarve/models/kernels/batch_norm_device.h"

namespace unstarve {
namespace {

[[noreturn]] void fail() { throw Error(ErrorKind::kMissing, "batch norm on a GPU: this build has no CUDA"); }

}  // namespace

bool has_device_norm() noexcept { return false; }

void device_moments(const NormLaunch&, const void*, const NormStatistics&) { fail(); }
void device_normalise(const NormLaunch&, const NormForward&) { fail(); }
void device_sum_gradients(const NormLaunch&, const NormBackward&, const NormSums&) { fail(); }
void device_input_gradient(const NormLaunch&, const NormBackward&) { fail(); }

}  // namespace unstarve
