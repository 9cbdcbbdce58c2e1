#include "unstarve/models/zoo.h"

#include <algorithm>
#include <array>

#include "unstarve/models/mobile_layers.h"
#include "unstarve/models/networks.h"

namespace unstarve {
namespace {

using Factory = std::shared_ptr<Network> (*)(int classes, double width);

// For networks without a width multiplier.
template <NetworkPtr (*make)(int classes)>
NetworkPtr of_width_1(int classes, double /*width*/) {
  return make(classes);
}

NetworkPtr resnet18(int classes) { return make_resnet({.blocks = {2, 2, 2, 2}}, classes); }
NetworkPtr resnet34(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}}, classes); }
NetworkPtr resnet50(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true}, classes); }
NetworkPtr cifar_resnet18(int classes, double width) {
  return make_resnet({.blocks = {2, 2, 2, 2}, .small_images = true, .channels = scaled_channels(64, width)}, classes);
}

// Compile-time error for a name that is not in the catalogue.
consteval ModelEntry entry(std::string_view name, Factory factory) {
  for (const ModelInfo& info : kModelInfos) {
    if (info.name == name) return {info, factory};
  }
  throw "not in models/catalogue.h";
}

constexpr auto kModels = std::to_array<ModelEntry>({
    entry("cifar_net", of_width_1<make_cifar_net>),
    entry("cifar_speed", of_width_1<make_cifar_speed>),
    entry("cifar_resnet18", cifar_resnet18),
    entry("cifar_mobilenet_v2", make_cifar_mobilenet_v2),
    entry("resnet18", of_width_1<resnet18>),
    entry("resnet34", of_width_1<resnet34>),
    entry("resnet50", of_width_1<resnet50>),
    entry("mobilenet_v1", make_mobilenet_v1),
    entry("mobilenet_v2", make_mobilenet_v2),
    entry("mobilenet_v3_large", make_mobilenet_v3_large),
    entry("mobilenet_v3_small", make_mobilenet_v3_small),
    entry("efficientnet_b0", make_efficientnet_b0),
});
static_assert(kModels.size() == kModelInfos.size(), "models/catalogue.h has a network without a factory");

}  // namespace

ModelEntry find_model(std::string_view name) {
  const ModelName parsed = parse_model_name(name);
  ModelEntry found =
      *std::find_if(kModels.begin(), kModels.end(), [&](const ModelEntry& e) { return e.name == parsed.info.name; });
  found.width = parsed.width;
  return found;
}

}  // namespace unstarve
