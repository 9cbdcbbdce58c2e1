#pragma once
// The networks' names and what they are for, known without libtorch: what completion, help and checks need of them.
//
// models/zoo.cpp has one row for each here, its factory; one without the other does not compile.

#include <array>
#include <string_view>

namespace unstarve {

struct ModelInfo {
  std::string_view name;
  int image_size = 0;     // what it was designed for; others work where its strides allow
  std::string_view help;  // one line, with its multiply-adds
};

inline constexpr std::array<ModelInfo, 6> kModelInfos{{
    {"cifar_net", 32, "small network for 32-pixel images, quick on a processor (33 M multiply-adds)"},
    {"cifar_resnet18", 32, "ResNet-18 with a 3x3 stem for 32-pixel images (556 M)"},
    {"resnet18", 224, "ResNet-18, torchvision's layout (1.81 G)"},
    {"resnet34", 224, "ResNet-34, torchvision's layout (3.66 G)"},
    {"resnet50", 224, "ResNet-50 v1.5, torchvision's layout (4.09 G)"},
    {"mobilenet_v2", 224, "MobileNetV2, torchvision's layout (0.30 G)"},
}};

}  // namespace unstarve
