#include "unstarve/models/zoo.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/models/cifar_net.h"
#include "unstarve/models/mobilenet.h"
#include "unstarve/models/resnet.h"

namespace unstarve {
namespace {

NetworkPtr resnet18(int classes) { return make_resnet({.blocks = {2, 2, 2, 2}}, classes); }
NetworkPtr resnet34(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}}, classes); }
NetworkPtr resnet50(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true}, classes); }
NetworkPtr cifar_resnet18(int classes) { return make_resnet({.blocks = {2, 2, 2, 2}, .small_images = true}, classes); }

constexpr std::array<ModelEntry, 6> kModels{{
    {"cifar_net", 32, "small network for 32-pixel images, quick on a processor (33 M multiply-adds)", make_cifar_net},
    {"cifar_resnet18", 32, "ResNet-18 with a 3x3 stem for 32-pixel images (556 M)", cifar_resnet18},
    {"resnet18", 224, "ResNet-18, torchvision's layout (1.81 G)", resnet18},
    {"resnet34", 224, "ResNet-34, torchvision's layout (3.66 G)", resnet34},
    {"resnet50", 224, "ResNet-50 v1.5, torchvision's layout (4.09 G)", resnet50},
    {"mobilenet_v2", 224, "MobileNetV2, torchvision's layout (0.30 G)", make_mobilenet_v2},
}};

}  // namespace

std::span<const ModelEntry> model_table() { return kModels; }

const ModelEntry& find_model(std::string_view name) {
  std::string known;
  for (const ModelEntry& entry : kModels) {
    if (entry.name == name) return entry;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  throw Error(ErrorKind::kArgument, fmt::format("there is no model \"{}\"; known are {}", name, known));
}

}  // namespace unstarve
