#include "unstarve/jobs/model_chart/pareto.h"

#include <catch2/catch.hpp>

#include <vector>

#include "unstarve/jobs/model_chart/published.h"

namespace unstarve {

TEST_CASE("a network is on the front if no other is as fast and as accurate") {
  // The second is slower and less accurate than the first; the fourth as fast as the third, but less accurate.
  const std::vector<CostAndAccuracy> networks{{2, 0.6}, {3, 0.5}, {4, 0.7}, {4, 0.69}, {1, 0.3}, {5, 0.7}};
  CHECK(pareto_front(networks) == std::vector<bool>{true, false, true, false, true, false});
}

TEST_CASE("equal networks are on the front together, and one alone is on it") {
  CHECK(pareto_front(std::vector<CostAndAccuracy>{{1, 0.5}, {1, 0.5}}) == std::vector<bool>{true, true});
  CHECK(pareto_front(std::vector<CostAndAccuracy>{{1, 0}}) == std::vector<bool>{true});
  CHECK(pareto_front({}).empty());
}

TEST_CASE("published accuracies are of a width and an image size") {
  CHECK(published_accuracy("resnet50", 224)->top1 == Approx(0.7613));
  CHECK(published_accuracy("mobilenet_v2_0.50", 96)->top1 == Approx(0.512));
  CHECK(published_accuracy("mobilenet_v2_0.5", 96)->source == "TensorFlow Slim");
  CHECK_FALSE(published_accuracy("resnet50", 160));
  CHECK_FALSE(published_accuracy("mobilenet_v2_0.6", 224));
  CHECK_FALSE(published_accuracy("mobilenet_v3_large_0.75", 224));  // of another layout
  CHECK_FALSE(published_accuracy("my network", 224));
}

}  // namespace unstarve
