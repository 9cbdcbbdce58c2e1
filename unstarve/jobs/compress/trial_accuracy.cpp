#include "unstarve/jobs/compress/trial_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/error.h"
#include "unstarve/jobs/inference/model_fit.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Images whose outputs are compared: the mean over 128 rows differs between methods and layers.
constexpr std::uint64_t kComparedImages = 128;

std::vector<bool> equal(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<bool> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] == b[i];
  return result;
}

}  // namespace

TrialAccuracy::TrialAccuracy(const AccuracyImages& images, Trial& original, const Progress& progress,
                             const std::stop_token& stop)
    : images_(images), progress_(progress), stop_(stop) {
  classes_ = classes_of(images.what, original.process().compiled(), original.settings().batch);
  has_labels_ = labels_fit(images.what, images.evaluation.data.spec, *images.evaluation.dataset, classes_);
  std::vector<std::int64_t> labels;
  const std::vector<std::int64_t> classes = predictions(original, &labels);
  labels_ = has_labels_ ? labels : classes;
  original_right_ = equal(classes, labels_);
}

std::vector<bool> TrialAccuracy::right(Trial& trial) {
  const std::vector<std::int64_t> classes = predictions(trial, nullptr);
  if (classes.size() != labels_.size())
    throw Error(ErrorKind::kInput,
                fmt::format("{}: found {} images that can be read, then {}; expected the same images", images_.what,
                            labels_.size(), classes.size()));
  return equal(classes, labels_);
}

std::vector<std::int64_t> TrialAccuracy::predictions(Trial& trial, std::vector<std::int64_t>* labels) {
  std::vector<std::int64_t> classes;
  const EngineSettings settings = trial.compile_for_throughput();
  ImageRun run{images_.what};
  run.images = images_.evaluate;
  run.skip = images_.skip;
  run.labels = has_labels_;
  run.progress = progress_;
  run.stop = stop_;
  run_images({trial.process(), trial.image_size(), settings}, images_.evaluation, run,
             [&](const FedSamples& samples, std::span<const float> outputs) {
               for (std::size_t i = 0; i < samples.ids.size(); ++i) {
                 const auto row = outputs.subspan(i * classes_, classes_);
                 if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); }))
                   throw Error(ErrorKind::kInput,
                               fmt::format("{}: the output for {} is not a finite number; expected finite numbers",
                                           images_.what, images_.evaluation.dataset->location(samples.ids[i])));
                 classes.push_back(std::ranges::max_element(row) - row.begin());
                 if (labels != nullptr) labels->push_back(samples.labels[i]);
               }
             });
  trial.compile_for_latency();
  return classes;
}

std::vector<float> TrialAccuracy::outputs(Trial& trial) {
  std::vector<float> rows;
  const EngineSettings settings = trial.compile_for_throughput();
  ImageRun run{images_.what};
  run.images = std::min(images_.calibrate, kComparedImages);
  run.stop = stop_;
  run_images({trial.process(), trial.image_size(), settings}, images_.calibration, run,
             [&](const FedSamples&, std::span<const float> outputs) {
               rows.insert(rows.end(), outputs.begin(), outputs.end());
             });
  trial.compile_for_latency();
  return rows;
}

}  // namespace unstarve
