#include "unstarve/torch/networks/nested_modules.h"

#include <memory>

namespace unstarve {

std::pair<torch::nn::Module*, std::string> parent_of(torch::nn::Module& root, std::string_view name) {
  torch::nn::Module* parent = &root;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    const std::string key(name.substr(0, dot));
    const auto children = parent->named_children();
    const auto* const child = children.find(key);
    parent =
        child != nullptr ? child->get() : parent->register_module(key, std::make_shared<torch::nn::Module>(key)).get();
    name.remove_prefix(dot + 1);
  }
  return {parent, std::string(name)};
}

}  // namespace unstarve
