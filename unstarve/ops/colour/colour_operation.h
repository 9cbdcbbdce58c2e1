#pragma once
// Base classes of operations that change pixel values, not sizes: with a given probability they change the whole frame.
//
// Threads: as any Operation, const after construction.

#include <utility>

#include "unstarve/ops/base/operation.h"

namespace unstarve {

class ColourOperation : public Operation {
 public:
  // `draws`: change() draws random numbers, so that the output is random even at probability 1.
  ColourOperation(double probability, bool draws) : probability_(probability), draws_(draws) {}

  Size output_size(Size selected) const final { return selected; }
  [[nodiscard]] bool runs_on_gpu() const final { return true; }
  [[nodiscard]] bool random() const final { return draws_ || probability_ < 1; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const final {
    if (probability_ < 1 && random.uniform() >= probability_) return;
    change(frame, random, scratch);
  }

 private:
  // Uses scratch.recorder() if the scratch has one.
  virtual void change(Frame& frame, Random& random, Scratch& scratch) const = 0;

  double probability_;
  bool draws_;
};

// Changes by an amount that is uniform in a range, or fixed.
class DrawnColour final : public ColourOperation {
 public:
  using Adjust = void (*)(Frame& frame, double amount, Scratch& scratch);

  // `writes`: whether `adjust` writes an image instead of extending the colour chain.
  DrawnColour(Adjust adjust, std::pair<double, double> amount, double probability, bool writes = false)
      : ColourOperation(probability, amount.first < amount.second), adjust_(adjust), amount_(amount), writes_(writes) {}

  [[nodiscard]] bool writes_pixels() const override { return writes_; }

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    adjust_(frame, random.uniform(amount_.first, amount_.second), scratch);
  }

  Adjust adjust_;
  std::pair<double, double> amount_;
  bool writes_;
};

// Changes without an amount.
class PlainColour final : public ColourOperation {
 public:
  using Change = void (*)(Frame& frame, Scratch& scratch);

  PlainColour(Change what, double probability) : ColourOperation(probability, false), change_(what) {}

 private:
  void change(Frame& frame, Random&, Scratch& scratch) const override { change_(frame, scratch); }

  Change change_;
};

// Changes by a fixed integer.
class FixedColour final : public ColourOperation {
 public:
  using Adjust = void (*)(Frame& frame, int amount, Scratch& scratch);

  FixedColour(Adjust adjust, int amount, double probability)
      : ColourOperation(probability, false), adjust_(adjust), amount_(amount) {}

 private:
  void change(Frame& frame, Random&, Scratch& scratch) const override { adjust_(frame, amount_, scratch); }

  Adjust adjust_;
  int amount_;
};

}  // namespace unstarve
