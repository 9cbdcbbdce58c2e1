#pragma once
// Names and descriptions of the networks, for completion, help and checks. Does not need libtorch.
//
// models/zoo.cpp has one row with a factory for each row here; otherwise it does not compile.

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "unstarve/core/error.h"

namespace unstarve {

struct ModelInfo {
  std::string_view name;
  int image_size = 0;     // designed for this size; others work if the strides allow
  std::string_view help;  // one line, with its multiply-adds
  bool widths = false;    // the name may have a width multiplier as suffix
};

inline constexpr std::array<ModelInfo, 12> kModelInfos{{
    {"cifar_net", 32, "small network for 32-pixel images, fast on a CPU (33 M multiply-adds)"},
    {"cifar_speed", 32, "fast to high accuracy: whitening layer and six convolutions for 32-pixel images (118 M)"},
    {"cifar_resnet18", 32, "ResNet-18 with a 3x3 stem for 32-pixel images (556 M)", true},
    {"cifar_mobilenet_v2", 32, "MobileNetV2 with smaller strides for 32-pixel images (88 M)", true},
    {"resnet18", 224, "ResNet-18, torchvision's layout (1.81 G)"},
    {"resnet34", 224, "ResNet-34, torchvision's layout (3.66 G)"},
    {"resnet50", 224, "ResNet-50 v1.5, torchvision's layout (4.09 G)"},
    {"mobilenet_v1", 224, "MobileNet (0.57 G)", true},
    {"mobilenet_v2", 224, "MobileNetV2, torchvision's layout (0.30 G)", true},
    {"mobilenet_v3_large", 224, "MobileNetV3-Large, torchvision's layout (0.22 G)", true},
    {"mobilenet_v3_small", 224, "MobileNetV3-Small, torchvision's layout (0.06 G)", true},
    {"efficientnet_b0", 224, "EfficientNet-B0, torchvision's layout (0.39 G)", true},
}};

// A row of the catalogue and the multiplier of its channels, in (0, 2].
struct ModelName {
  ModelInfo info;
  double width = 1;
};

// "mobilenet_v2" or, with the width multiplier 0.5, "mobilenet_v2_0.5". Throws Error(kArgument) with the known names.
[[nodiscard]] inline ModelName parse_model_name(std::string_view name) {
  std::string known;
  for (const ModelInfo& info : kModelInfos) {
    if (name == info.name) return {info};
    known += (known.empty() ? "" : ", ") + std::string(info.name);
    if (!info.widths || !name.starts_with(info.name)) continue;
    const std::string_view suffix = name.substr(info.name.size());
    if (suffix.size() < 2 || suffix[0] != '_' || suffix[1] < '0' || suffix[1] > '9') continue;
    double width = 0;
    const char* const end = suffix.data() + suffix.size();
    const auto [stop, status] = std::from_chars(suffix.data() + 1, end, width, std::chars_format::fixed);
    if (status == std::errc() && stop == end && width > 0 && width <= 2) return {info, width};
  }
  throw Error(ErrorKind::kArgument,
              "unknown model \"" + std::string(name) + "\"; expected one of " + known +
                  "; the names of cifar_resnet18, MobileNets and EfficientNet may end with a width "
                  "multiplier up to 2, for example mobilenet_v2_0.5");
}

}  // namespace unstarve
