#pragma once
// Names with dots: "layer1.0.weight" is the tensor "weight" of the module "0" of the module "layer1".

#include <string>
#include <string_view>
#include <utility>

#include <torch/nn/module.h>
#include <torch/types.h>

namespace unstarve {

// The module that owns the last part of a name, and that part. Modules on the way are created if they are missing.
[[nodiscard]] std::pair<torch::nn::Module*, std::string> parent_of(torch::nn::Module& root, std::string_view name);

}  // namespace unstarve
