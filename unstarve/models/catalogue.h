#pragma once
// Names and descriptions of the networks, for completion, help and checks. Does not need libtorch.
//
// models/zoo.cpp has one row with a factory for each row here; otherwise it does not compile.

#include <array>
#include <string_view>

namespace unstarve {

struct ModelInfo {
  std::string_view name;
  int image_size = 0;     // designed for this size; others work if the strides allow
  std::string_view help;  // one line, with its multiply-adds
};

inline constexpr std::array<ModelInfo, 6> kModelInfos{{
    {"cifar_net", 32, "small network for 32-pixel images, fast on a CPU (33 M multiply-adds)"},
    {"cifar_resnet18", 32, "ResNet-18 with a 3x3 stem for 32-pixel images (556 M)"},
    {"resnet18", 224, "ResNet-18, torchvision's layout (1.81 G)"},
    {"resnet34", 224, "ResNet-34, torchvision's layout (3.66 G)"},
    {"resnet50", 224, "ResNet-50 v1.5, torchvision's layout (4.09 G)"},
    {"mobilenet_v2", 224, "MobileNetV2, torchvision's layout (0.30 G)"},
}};

}  // namespace unstarve
