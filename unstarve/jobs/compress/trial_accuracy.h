#pragma once
// Checks trials on the images of a compression: which of them they get right, and how far their outputs are from those
// of another model.
//
// Threads: one. Failure: as run_images(); Error(kInput) for outputs that are not finite numbers.

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/compress/trial.h"
#include "unstarve/jobs/inference/evaluation_images.h"

namespace unstarve {

struct AccuracyImages {
  std::string what;  // "compress m.onnx", for errors
  EvaluationImages calibration;
  std::uint64_t calibrate = 0;  // images of them, chosen at random
  EvaluationImages evaluation;
  std::uint64_t skip = 0;      // of a random order, if evaluation and calibration are the same data
  std::uint64_t evaluate = 0;  // images; 0: all
};

class TrialAccuracy {
 public:
  // Borrows all. `original`: its predictions are the labels of data without labels of the model's classes.
  TrialAccuracy(const AccuracyImages& images, Trial& original, const Progress& progress, const std::stop_token& stop);

  [[nodiscard]] bool has_labels() const { return has_labels_; }
  [[nodiscard]] std::uint64_t evaluated() const { return labels_.size(); }
  // For every evaluated image, whether the largest output is that of its label.
  [[nodiscard]] std::vector<bool> right(Trial& trial);
  [[nodiscard]] const std::vector<bool>& original_right() const { return original_right_; }
  // Outputs for the first calibration images, images x classes.
  [[nodiscard]] std::vector<float> outputs(Trial& trial);
  [[nodiscard]] std::size_t classes() const { return classes_; }

 private:
  [[nodiscard]] std::vector<std::int64_t> predictions(Trial& trial, std::vector<std::int64_t>* labels);

  const AccuracyImages& images_;
  const Progress& progress_;
  const std::stop_token& stop_;
  std::size_t classes_ = 0;
  bool has_labels_ = false;
  std::vector<std::int64_t> labels_;
  std::vector<bool> original_right_;
};

}  // namespace unstarve
