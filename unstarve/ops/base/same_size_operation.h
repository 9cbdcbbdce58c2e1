#pragma once
// Operations that keep the size of the image: with a given probability they change the whole frame. All run on GPUs.
//
// Threads: as any Operation, const after construction.

#include <memory>
#include <utility>

#include "unstarve/ops/base/operation.h"

namespace unstarve {

struct ChangeTraits {
  double probability = 1;      // of the change; below 1 a random number is drawn before it
  bool draws = false;          // the change draws random numbers: the output is random even at probability 1
  bool writes_pixels = false;  // as Operation::writes_pixels()
};

class SameSizeOperation : public Operation {
 public:
  explicit SameSizeOperation(const ChangeTraits& traits) : traits_(traits) {}

  Size output_size(Size selected) const final { return selected; }
  [[nodiscard]] bool runs_on_gpu() const final { return true; }
  [[nodiscard]] bool random() const final {
    return traits_.probability > 0 && (traits_.draws || traits_.probability < 1);
  }
  [[nodiscard]] bool writes_pixels() const final { return traits_.writes_pixels; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const final {
    if (traits_.probability < 1 && random.uniform() >= traits_.probability) return;
    change(frame, random, scratch);
  }

 private:
  // Uses scratch.recorder() where there is one.
  virtual void change(Frame& frame, Random& random, Scratch& scratch) const = 0;

  ChangeTraits traits_;
};

// An operation whose change is function(frame, random, scratch), by the rules of SameSizeOperation::change().
template <class Function>
[[nodiscard]] std::unique_ptr<Operation> change_operation(const ChangeTraits& traits, const Function& function) {
  class FunctionOperation final : public SameSizeOperation {
   public:
    FunctionOperation(const ChangeTraits& of, const Function& what) : SameSizeOperation(of), what_(what) {}

   private:
    void change(Frame& frame, Random& random, Scratch& scratch) const override { what_(frame, random, scratch); }

    Function what_;
  };
  return std::make_unique<FunctionOperation>(traits, function);
}

// Changes by an amount that is uniform in `range`, or fixed.
[[nodiscard]] inline std::unique_ptr<Operation> drawn_change(void (*adjust)(Frame& frame, double amount, Scratch&),
                                                             std::pair<double, double> range, ChangeTraits traits) {
  traits.draws = range.first < range.second;
  return change_operation(traits, [adjust, range](Frame& frame, Random& random, Scratch& scratch) {
    adjust(frame, random.uniform(range.first, range.second), scratch);
  });
}

}  // namespace unstarve
