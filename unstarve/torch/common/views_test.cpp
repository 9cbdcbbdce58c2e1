#include "unstarve/torch/common/views.h"

#include <catch2/catch.hpp>

#include <vector>

#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

// A function that is not linear, so that the mean of the logits is not the logits of the mean.
torch::Tensor as_logits(const torch::Tensor& x) {
  return (x * torch::arange(x[0].numel(), torch::kFloat32).view_as(x[0]).sin()).square().flatten(1).narrow(1, 0, 12);
}

torch::Tensor images_for(torch::MemoryFormat format) {
  torch::manual_seed(2);
  return torch::randn({3, 3, 5, 4}).contiguous(format);
}

}  // namespace

TEST_CASE("the logits are the weighted means of the published views") {
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    const torch::Tensor x = images_for(format);
    const auto both = [](const torch::Tensor& view) { return 0.5 * as_logits(view) + 0.5 * as_logits(view.flip({3})); };
    const torch::Tensor padded = torch::reflection_pad2d(x, {1, 1, 1, 1});
    const torch::Tensor first = padded.narrow(2, 0, 5).narrow(3, 0, 4), last = padded.narrow(2, 2, 5).narrow(3, 2, 4);
    const auto logits = [&](TestAugmentation augmentation) { return mean_logits(x, augmentation, format, as_logits); };
    CHECK(torch::equal(logits(TestAugmentation::kNone), as_logits(x)));
    CHECK(torch::allclose(logits(TestAugmentation::kMirror), both(x)));
    CHECK(torch::allclose(logits(TestAugmentation::kMirrorTranslate),
                          0.5 * both(x) + 0.5 * torch::stack({both(first), both(last)}).mean(0)));
    CHECK_FALSE(torch::allclose(both(first), both(last)));
  }
}

TEST_CASE("every view is contiguous in the format of the network") {
  const std::vector<std::pair<TestAugmentation, int>> all{
      {TestAugmentation::kNone, 1}, {TestAugmentation::kMirror, 2}, {TestAugmentation::kMirrorTranslate, 6}};
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    for (const auto& [augmentation, views] : all) {
      int seen = 0;
      (void)mean_logits(images_for(format), augmentation, format, [&](const torch::Tensor& view) {
        CHECK(view.is_contiguous(format));
        ++seen;
        return view.flatten(1);
      });
      CHECK(seen == views);
      CHECK(views_of(augmentation) == views);
    }
  }
}

}  // namespace unstarve
