#include "unstarve/pipeline/delivery/batch_arrays.h"

#include <catch2/catch.hpp>
#include <string>

namespace unstarve {
namespace {

constexpr std::size_t kArraySamples = 5, kArrayBytes = 3;

// Sample i has label i, id 10 + i, pixels of the letter 'a' + i, and the good ones of `good`.
BatchArrays filled_arrays(const std::vector<std::uint8_t>& good, bool with_sizes) {
  const auto device = open_device("cpu");
  SlotLayout layout;
  layout.samples = kArraySamples;
  layout.sample_bytes = kArrayBytes;
  layout.classes = 2;
  layout.padded = layout.files = with_sizes;
  BatchArrays arrays = make_arrays(layout, *device);
  arrays.good = good;
  for (std::size_t i = 0; i < kArraySamples; ++i) {
    arrays.labels[i] = static_cast<std::int64_t>(i);
    arrays.ids[i] = 10 + i;
    for (std::size_t byte = 0; byte < kArrayBytes; ++byte)
      arrays.memory->data()[i * kArrayBytes + byte] = static_cast<std::uint8_t>('a' + i);
    for (std::size_t c = 0; c < 2; ++c) arrays.targets[2 * i + c] = static_cast<float>(10 * i + c);
    if (with_sizes) {
      arrays.sizes[i] = {static_cast<int>(i), 1};
      arrays.files[i] = {static_cast<int>(i), 1, 1};
    }
  }
  return arrays;
}

std::string text_of(const BatchArrays& arrays, std::size_t samples) {
  return {reinterpret_cast<const char*>(arrays.memory->data()), samples * kArrayBytes};
}

TEST_CASE("batch arrays: only what the layout requires is allocated") {
  const BatchArrays plain = filled_arrays({1, 1, 1, 1, 1}, false), sized = filled_arrays({1, 1, 1, 1, 1}, true);
  CHECK(plain.sizes.empty());
  CHECK(plain.files.empty());
  CHECK(plain.numbers.empty());
  CHECK(plain.classes() == 2);
  CHECK(sized.sizes.size() == kArraySamples);
  CHECK(sized.files.size() == kArraySamples);
  CHECK(BatchArrays().classes() == 0);
}

TEST_CASE("batch arrays: compact keeps the good samples in order") {
  for (const bool with_sizes : {false, true}) {
    BatchArrays arrays = filled_arrays({0, 1, 0, 1, 1}, with_sizes);
    REQUIRE(arrays.compact(kArraySamples, kArrayBytes) == 3);
    CHECK(text_of(arrays, 3) == "bbbdddeee");
    CHECK(std::vector(arrays.ids.begin(), arrays.ids.begin() + 3) == std::vector<std::uint64_t>{11, 13, 14});
    CHECK(arrays.labels[0] == 1);
    if (with_sizes) {
      CHECK(arrays.sizes[2][0] == 4);
      CHECK(arrays.files[1][0] == 3);
    }
  }
  BatchArrays whole = filled_arrays({1, 1, 1, 1, 1}, false), none = filled_arrays({0, 0, 0, 0, 1}, false);
  CHECK(whole.compact(kArraySamples, kArrayBytes) == kArraySamples);
  CHECK(text_of(whole, kArraySamples) == "aaabbbcccdddeee");
  CHECK(none.compact(4, kArrayBytes) == 0);  // the last sample does not belong to the batch
}

TEST_CASE("batch arrays: repeat continues from the first sample, and with its copies") {
  for (const bool with_sizes : {false, true}) {
    BatchArrays arrays = filled_arrays({1, 1, 1, 1, 1}, with_sizes);
    arrays.repeat(2, kArraySamples, kArrayBytes);
    CHECK(text_of(arrays, kArraySamples) == "aaabbbaaabbbaaa");
    CHECK(arrays.ids == std::vector<std::uint64_t>{10, 11, 10, 11, 10});
    CHECK(arrays.labels == std::vector<std::int64_t>{0, 1, 0, 1, 0});
    CHECK(arrays.targets[6] == 10.0F);
    if (with_sizes) {
      CHECK(arrays.sizes[3][0] == 1);
      CHECK(arrays.files[4][0] == 0);
    }
  }
}

}  // namespace
}  // namespace unstarve
