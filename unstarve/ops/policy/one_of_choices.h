#pragma once
// The parameter `choices` of one_of: operations as text, with parameters as explain shows them.
//
//   color_jitter brightness=0.4 hue=0; 2 gaussian_blur sigma=0.1,2 probability=1; grayscale probability=1
//
// A number before a name is the weight of the operation; the default is 1. Values are numbers separated by commas, or a
// word.
//
// Threads: pure. Failure: Error(kArgument).

#include <string>
#include <vector>

#include "unstarve/ops/base/op_value.h"

namespace unstarve {

struct OneOfChoice {
  double weight = 1;
  OpSpec operation;
};

[[nodiscard]] std::vector<OneOfChoice> parse_choices(const std::string& text);
// parse_choices() of the result gives `choices` again.
[[nodiscard]] std::string to_text(const std::vector<OneOfChoice>& choices);

}  // namespace unstarve
