#pragma once
// Reads a model of any supported form as a graph.
//
//   form                                     recognised by            read by
//   ONNX                                     .onnx                    onnx/read_onnx.h
//   TorchScript (torch.jit.save)             .pt, .pth                libtorch
//   checkpoint of `train`, or a folder of    .safetensors, a folder   libtorch, with the network of the zoo
//   them; torchvision weights
//
// The input is a batch of images, N x 3 x H x W, normalised as in training; the batch size is open unless a file fixes
// it.
//
// Threads: any.
// Failure: Error(kInput) "read '<path>': ..."; Error(kArgument) for options that do not apply; Error(kMissing) without
//          libtorch. A model with NaN or infinite weights is rejected.

#include <cstdint>
#include <filesystem>
#include <string>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

struct ImportOptions {
  std::string model{};          // network of the zoo; "": that in the checkpoint
  std::int64_t image_size = 0;  // height and width; 0: that of the training or file, else of the network
  std::int64_t classes = 0;     // that the model must have; 0: any number
};

[[nodiscard]] Graph import_model(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace unstarve::infer
