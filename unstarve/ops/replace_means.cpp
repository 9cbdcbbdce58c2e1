#include "unstarve/ops/replace_means.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/familiar_names.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/policy/one_of_choices.h"

namespace unstarve {

void replace_means(std::vector<OpSpec>& operations, const Normalisation& normalisation) {
  std::vector<double> mean;
  for (const float part : normalisation.mean) mean.push_back(std::clamp(std::nearbyint(255.0 * part), 0.0, 255.0));
  for (OpSpec& operation : operations) {
    if (operation.name == "one_of") {
      const auto text = operation.params.find("choices");
      if (text == operation.params.end() || text->second.word.empty()) continue;  // make_operation() reports it
      std::vector<OneOfChoice> choices = parse_choices(text->second.word);
      for (OneOfChoice& choice : choices) {
        std::vector<OpSpec> one{with_own_names(choice.operation)};
        replace_means(one, normalisation);
        choice.operation = one.front();
      }
      text->second.word = to_text(choices);
      continue;
    }
    for (const ParameterInfo& parameter : parameters_of(operation.name)) {
      const auto* const integers = std::get_if<ParameterInfo::Integers>(&parameter.kind);
      if (integers == nullptr || integers->words.empty() || integers->words.front() != kMeanWord) continue;
      const auto found = operation.params.find(parameter.name);
      const bool absent = found == operation.params.end();
      if (absent ? integers->fallback.empty() : found->second.word == kMeanWord)
        operation.params[parameter.name] = mean;
    }
  }
}

}  // namespace unstarve
