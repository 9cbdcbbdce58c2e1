#include "unstarve/torch/placement.h"

#include <catch2/catch.hpp>

#include <thread>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {

TEST_CASE("a placement has the device, type, format and threads of the settings") {
  TrainSettings settings;
  settings.operator_threads = 3;
  settings.precision = Precision::kBfloat16;
  settings.channels_last = true;
  const Placement placement = placement_of(settings, {});
  CHECK(placement.device == torch::Device(torch::kCPU));
  CHECK(placement.type == torch::kBFloat16);
  CHECK(placement.format == torch::MemoryFormat::ChannelsLast);
  CHECK(placement.threads == 3);
  settings.operator_threads = 0;
  settings.channels_last = false;
  Ranks ranks;
  CHECK(placement_of(settings, ranks).threads == cores_of_rank(ranks));
  CHECK(placement_of(settings, ranks).format == torch::MemoryFormat::Contiguous);
}

TEST_CASE("the number of threads is that of the calling thread, and placements alternate") {
  TrainSettings settings;
  settings.operator_threads = 2;
  const Placement two = placement_of(settings, {});
  settings.operator_threads = 1;
  const Placement one = placement_of(settings, {});
  const auto used = [](const Placement& placement) {
    placement.use();
    return torch::get_num_threads();
  };
  CHECK(used(two) == 2);
  CHECK(used(one) == 1);
  int of_other_thread = 0;
  std::jthread([&] { of_other_thread = used(two); }).join();
  CHECK(of_other_thread == 2);
  CHECK(torch::get_num_threads() == 1);
  CHECK(used(two) == 2);
}

}  // namespace unstarve
