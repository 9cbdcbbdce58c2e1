#pragma once
// Accuracies of networks of the zoo on ImageNet that their authors published.
//
// docs/guide/choose-a-network.md has the sources with their addresses.
// Threads: pure.

#include <optional>
#include <string_view>

namespace unstarve {

struct PublishedAccuracy {
  double top1 = 0;          // a share of the validation images, from 0 to 1
  std::string_view source;  // "torchvision IMAGENET1K_V1", "TensorFlow Slim"
};

// Of the network with this name of the zoo, evaluated with images of this size; nothing: none is known, or the name is
// not of the zoo.
[[nodiscard]] std::optional<PublishedAccuracy> published_accuracy(std::string_view network, int image_size);

}  // namespace unstarve
