#include "unstarve/torch/ranks/exchange.h"

#include <catch2/catch.hpp>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

class UnusedBackend final : public c10d::Backend {
 public:
  using Backend::Backend;
};

}  // namespace

TEST_CASE("values in host memory are reduced on the device if the group has no backend for the CPU") {
  const auto type = c10d::ProcessGroup::BackendType::CUSTOM;
  const torch::Device gpu(torch::kCUDA, 1);
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, 2);
  group->setBackend(torch::kCUDA, type, c10::make_intrusive<UnusedBackend>(0, 2));
  CHECK(device_of_values(*group, gpu) == gpu);
  group->setBackend(torch::kCPU, type, c10::make_intrusive<UnusedBackend>(0, 2));
  CHECK(device_of_values(*group, gpu).is_cpu());
}

}  // namespace unstarve
