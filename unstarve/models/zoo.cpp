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

using Factory = std::shared_ptr<Network> (*)(int classes);

NetworkPtr resnet18(int classes) { return make_resnet({.blocks = {2, 2, 2, 2}}, classes); }
NetworkPtr resnet34(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}}, classes); }
NetworkPtr resnet50(int classes) { return make_resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true}, classes); }
NetworkPtr cifar_resnet18(int classes) { return make_resnet({.blocks = {2, 2, 2, 2}, .small_images = true}, classes); }

// Compile-time error for a name that is not in the catalogue.
consteval ModelEntry entry(std::string_view name, Factory make) {
  for (const ModelInfo& info : kModelInfos) {
    if (info.name == name) return {info, make};
  }
  throw "not in models/catalogue.h";
}

constexpr auto kModels = std::to_array<ModelEntry>({
    entry("cifar_net", make_cifar_net),
    entry("cifar_resnet18", cifar_resnet18),
    entry("resnet18", resnet18),
    entry("resnet34", resnet34),
    entry("resnet50", resnet50),
    entry("mobilenet_v2", make_mobilenet_v2),
});
static_assert(kModels.size() == kModelInfos.size(), "models/catalogue.h has a network without a factory");

}  // namespace

std::span<const ModelEntry> model_table() { return kModels; }

const ModelEntry& find_model(std::string_view name) {
  std::string known;
  for (const ModelEntry& entry : kModels) {
    if (entry.name == name) return entry;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  throw Error(ErrorKind::kArgument, fmt::format("unknown model \"{}\"; expected one of {}", name, known));
}

}  // namespace unstarve
