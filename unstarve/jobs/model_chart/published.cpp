#include "unstarve/jobs/model_chart/published.h"

#include <array>

#include "unstarve/core/error.h"
#include "unstarve/models/catalogue.h"

namespace unstarve {
namespace {

struct Row {
  std::string_view network;
  double width;
  int image_size;
  double percent;
  std::string_view source;
};

constexpr std::string_view kTorchvision = "torchvision IMAGENET1K_V1", kSlim = "TensorFlow Slim";

// MobileNetV3 with other widths than 1 is left out: its published figures are of networks whose last layers are not
// scaled, unlike those of torchvision's layout (155 M multiply-adds with 0.75, instead of 140 M).
//
// Of networks with several weights in torchvision the first ones, which all have the simple recipe of training.
constexpr auto kPublished = std::to_array<Row>({
    {"resnet18", 1, 224, 69.758, kTorchvision},
    {"resnet34", 1, 224, 73.314, kTorchvision},
    {"resnet50", 1, 224, 76.130, kTorchvision},
    {"mobilenet_v2", 1, 224, 71.878, kTorchvision},
    {"mobilenet_v3_large", 1, 224, 74.042, kTorchvision},
    {"mobilenet_v3_small", 1, 224, 67.668, kTorchvision},
    {"efficientnet_b0", 1, 224, 77.692, kTorchvision},
    {"mobilenet_v1", 1, 224, 70.9, kSlim},
    {"mobilenet_v1", 1, 192, 70.0, kSlim},
    {"mobilenet_v1", 1, 160, 68.0, kSlim},
    {"mobilenet_v1", 1, 128, 65.2, kSlim},
    {"mobilenet_v1", 0.75, 224, 68.4, kSlim},
    {"mobilenet_v1", 0.75, 192, 67.2, kSlim},
    {"mobilenet_v1", 0.75, 160, 65.3, kSlim},
    {"mobilenet_v1", 0.75, 128, 62.1, kSlim},
    {"mobilenet_v1", 0.5, 224, 63.3, kSlim},
    {"mobilenet_v1", 0.5, 192, 61.7, kSlim},
    {"mobilenet_v1", 0.5, 160, 59.1, kSlim},
    {"mobilenet_v1", 0.5, 128, 56.3, kSlim},
    {"mobilenet_v1", 0.25, 224, 49.8, kSlim},
    {"mobilenet_v1", 0.25, 192, 47.7, kSlim},
    {"mobilenet_v1", 0.25, 160, 45.5, kSlim},
    {"mobilenet_v1", 0.25, 128, 41.5, kSlim},
    {"mobilenet_v2", 1.4, 224, 75.0, kSlim},
    {"mobilenet_v2", 1.3, 224, 74.4, kSlim},
    {"mobilenet_v2", 1, 192, 70.7, kSlim},
    {"mobilenet_v2", 1, 160, 68.8, kSlim},
    {"mobilenet_v2", 1, 128, 65.3, kSlim},
    {"mobilenet_v2", 1, 96, 60.3, kSlim},
    {"mobilenet_v2", 0.75, 224, 69.8, kSlim},
    {"mobilenet_v2", 0.75, 192, 68.7, kSlim},
    {"mobilenet_v2", 0.75, 160, 66.4, kSlim},
    {"mobilenet_v2", 0.75, 128, 63.2, kSlim},
    {"mobilenet_v2", 0.75, 96, 58.8, kSlim},
    {"mobilenet_v2", 0.5, 224, 65.4, kSlim},
    {"mobilenet_v2", 0.5, 192, 63.9, kSlim},
    {"mobilenet_v2", 0.5, 160, 61.0, kSlim},
    {"mobilenet_v2", 0.5, 128, 57.7, kSlim},
    {"mobilenet_v2", 0.5, 96, 51.2, kSlim},
    {"mobilenet_v2", 0.35, 224, 60.3, kSlim},
    {"mobilenet_v2", 0.35, 192, 58.2, kSlim},
    {"mobilenet_v2", 0.35, 160, 55.7, kSlim},
    {"mobilenet_v2", 0.35, 128, 50.8, kSlim},
    {"mobilenet_v2", 0.35, 96, 45.5, kSlim},
});

}  // namespace

std::optional<PublishedAccuracy> published_accuracy(std::string_view network, int image_size) {
  ModelName name;
  try {
    name = parse_model_name(network);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (const Row& row : kPublished)
    if (row.network == name.info.name && row.width == name.width && row.image_size == image_size)
      return PublishedAccuracy{row.percent / 100, row.source};
  return std::nullopt;
}

}  // namespace unstarve
