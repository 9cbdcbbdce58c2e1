// One of several operations, drawn for each sample by their weights: OneOf of Albumentations, RandomChoice of
// torchvision.

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/familiar_names.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/policy/one_of_choices.h"

namespace unstarve {
namespace {

class OneOf final : public Operation {
 public:
  explicit OneOf(const std::vector<OneOfChoice>& choices) {
    double sum = 0;
    for (const OneOfChoice& choice : choices) sum += choice.weight;
    double before = 0;
    for (const OneOfChoice& choice : choices) {
      operations_.push_back(made(choice.operation));
      check_size(choice.operation.name, *operations_.back());
      before += choice.weight;
      ends_.push_back(before / sum);
    }
  }

  [[nodiscard]] Size output_size(Size selected) const override { return selected; }
  [[nodiscard]] bool random() const override {
    return operations_.size() > 1 || any([](const Operation& one) { return one.random(); });
  }
  [[nodiscard]] bool resamples() const override {
    return any([](const Operation& one) { return one.resamples(); });
  }
  [[nodiscard]] bool writes_pixels() const override {
    return any([](const Operation& one) { return one.writes_pixels(); });
  }
  [[nodiscard]] std::uint64_t scratch_bytes(Size input) const override {
    std::uint64_t most = 0;
    for (const auto& one : operations_) most = std::max(most, one->scratch_bytes(input));
    return most;
  }
  [[nodiscard]] bool runs_on_gpu() const override {
    return !any([](const Operation& one) { return !one.runs_on_gpu(); });
  }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    const double drawn = operations_.size() > 1 ? random.uniform() : 0;
    const auto found = std::upper_bound(ends_.begin(), ends_.end() - 1, drawn);
    const Operation& chosen = *operations_[static_cast<std::size_t>(found - ends_.begin())];
    frame.crop(chosen.select(frame.size(), random));
    chosen.apply(frame, random, scratch);
  }

 private:
  template <class Test>
  [[nodiscard]] bool any(const Test& test) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const auto& one) { return test(*one); });
  }
  static std::unique_ptr<Operation> made(const OpSpec& spec) {
    try {
      return make_operation(with_own_names(spec));
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("operation one_of: found '{}{}' in choices; expected an operation with valid "
                              "parameters: {}",
                              spec.name, to_text(spec.params), error.what()));
    }
  }
  static void check_size(const std::string& name, const Operation& operation) {
    const auto keeps = [&](Size size) { return operation.output_size(size) == size; };
    // Two sizes: a resize to the short side of one of them keeps that one.
    if (!operation.fixed_output() && keeps({97, 61}) && keeps({89, 53})) return;
    throw argument_error(
        "operation one_of: found {}, which changes the size of the image; expected operations that keep it. Add {} "
        "before or after one_of.",
        name, name);
  }

  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<double> ends_;  // of the interval of each in [0, 1)
};

}  // namespace

std::unique_ptr<Operation> make_one_of(const OpParams& params) {
  const Parameters p("one_of", params, {"choices"});
  const std::string choices = p.text("choices", "invert probability=1; horizontal_flip probability=1");
  if (choices.empty()) return nullptr;  // the parameters are being described
  return std::make_unique<OneOf>(parse_choices(choices));
}

}  // namespace unstarve
