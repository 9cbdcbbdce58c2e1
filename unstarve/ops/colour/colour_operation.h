#pragma once
// The base of operations that change colours and no sizes: with a given probability, they change all of the frame.

#include "unstarve/ops/operation.h"

namespace unstarve {

class ColourOperation : public Operation {
 public:
  // `draws`: change() draws random numbers, so that the output is random even at probability 1.
  ColourOperation(double probability, bool draws) : probability_(probability), draws_(draws) {}

  Size output_size(Size selected) const final { return selected; }
  [[nodiscard]] bool random() const final { return draws_ || probability_ < 1; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const final {
    if (probability_ < 1 && random.uniform() >= probability_) return;
    change(frame, random, scratch);
  }

 private:
  virtual void change(Frame& frame, Random& random, Scratch& scratch) const = 0;

  double probability_;
  bool draws_;
};

}  // namespace unstarve
