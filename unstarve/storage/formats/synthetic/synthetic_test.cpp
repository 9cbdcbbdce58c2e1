#include "unstarve/storage/formats/synthetic/synthetic.h"

#include <cmath>
#include <cstring>
#include <set>

#include "unstarve/storage/formats/synthetic/synthetic_image.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"

namespace unstarve {
namespace {

SyntheticOptions small(std::uint64_t images, int classes = 10) { return {{1, classes}, images, 16, 0}; }

std::vector<std::uint8_t> drawn(const SyntheticSet& set, std::uint64_t id, Size size) {
  Image image;
  draw_synthetic(set, id, size, image);
  return {image.data(), image.data() + image.bytes()};
}

TEST_CASE("a synthetic dataset passes the conformance suite") {
  testing::DatasetUnderTest test;
  test.make = [](std::uint64_t samples) { return std::make_shared<SyntheticDataset>(small(samples)); };
  testing::check_dataset(test);
}

TEST_CASE("an image depends on seed, id, classes and size only") {
  const auto image = drawn({7, 10}, 5, {40, 32});
  CHECK(drawn({7, 10}, 5, {40, 32}) == image);
  CHECK(drawn({8, 10}, 5, {40, 32}) != image);
  CHECK(drawn({7, 10}, 15, {40, 32}) != image);
  const SyntheticDataset one(small(200), 1);
  const SyntheticDataset three(small(200), 3);
  CHECK(testing::read_all(one) == testing::read_all(three));
}

TEST_CASE("labels cycle through the classes; the test split has other images of the same classes") {
  const auto train = open_dataset("synthetic:classes=7,images=20,size=16,seed=3");
  const auto test = open_dataset("synthetic:classes=7,images=20,size=16,seed=3", "test");
  CHECK(train->classes() == test->classes());
  const auto train_records = testing::read_all(*train);
  const auto test_records = testing::read_all(*test);
  for (std::size_t id = 0; id < 20; ++id) {
    CHECK(train_records[id].label == static_cast<std::int64_t>(id % 7));
    CHECK(test_records[id].label == train_records[id].label);
    CHECK(test_records[id].image != train_records[id].image);
  }
}

TEST_CASE("class names are distinct and sort in label order") {
  for (const int classes : {1, 10, 100, kSyntheticMaxClasses}) {
    std::set<std::string> looks;
    std::string before;
    for (int label = 0; label < classes; ++label) {
      const std::string name = synthetic_class_name(label, classes);
      CHECK(before < name);
      before = name;
      looks.insert(name.substr(4));
    }
    CHECK(looks.size() == static_cast<std::size_t>(classes));
  }
}

TEST_CASE("every shape covers 10 to 75 % of its square and differs from the others") {
  std::vector<std::vector<bool>> masks;
  for (int shape = 0; shape < kShapes; ++shape) {
    std::vector<bool> mask;
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        mask.push_back(shape_distance(shape, static_cast<float>(x) / 20 - 0.975f, static_cast<float>(y) / 20 - 0.975f) <
                       0);
      }
    }
    const auto inside = std::count(mask.begin(), mask.end(), true);
    CHECK(inside > 1600 / 10);
    CHECK(inside < 1600 * 3 / 4);
    masks.push_back(mask);
  }
  for (std::size_t a = 0; a < masks.size(); ++a) {
    for (std::size_t b = a + 1; b < masks.size(); ++b) {
      std::size_t different = 0;
      for (std::size_t i = 0; i < 1600; ++i) different += masks[a][i] != masks[b][i];
      INFO(a << " and " << b);
      CHECK(different > 1600 / 12);
    }
  }
}

TEST_CASE("the mean colour does not reveal the class") {
  // A nearest-mean-colour classifier, fitted on 2,000 images and tested on 1,000 others, is near chance (one in ten).
  const SyntheticDataset train({{1, 10}, 2000, 16, 0});
  const SyntheticDataset test({{1, 10}, 1000, 16, kSyntheticTestBegin / 10 * 10 + 10});
  const auto mean_of = [](const testing::RecordCopy& record) {
    std::array<double, 3> mean{};
    for (std::size_t i = 0; i < record.image.size(); ++i) mean[i % 3] += record.image[i];
    for (double& value : mean) value /= static_cast<double>(record.image.size() / 3);
    return mean;
  };
  std::array<std::array<double, 3>, 10> centres{};
  for (const auto& record : testing::read_all(train)) {
    const auto mean = mean_of(record);
    for (std::size_t c = 0; c < 3; ++c) centres[static_cast<std::size_t>(record.label)][c] += mean[c] / 200;
  }
  int right = 0;
  for (const auto& record : testing::read_all(test)) {
    const auto mean = mean_of(record);
    std::size_t nearest = 0;
    double least = 1e30;
    for (std::size_t label = 0; label < 10; ++label) {
      double distance = 0;
      for (std::size_t c = 0; c < 3; ++c) distance += std::pow(mean[c] - centres[label][c], 2);
      if (distance < least) {
        least = distance;
        nearest = label;
      }
    }
    right += static_cast<std::int64_t>(nearest) == record.label;
  }
  CHECK(right < 200);
}

TEST_CASE("invalid sizes and class counts are rejected") {
  Image image;
  CHECK_THROWS_AS(draw_synthetic({1, 10}, 0, {7, 32}, image), Error);
  CHECK_THROWS_AS(draw_synthetic({1, 0}, 0, {32, 32}, image), Error);
  CHECK_THROWS_AS(draw_synthetic({1, kSyntheticMaxClasses + 1}, 0, {32, 32}, image), Error);
  CHECK_THROWS_AS(SyntheticDataset(small(0)), Error);
}

}  // namespace
}  // namespace unstarve
