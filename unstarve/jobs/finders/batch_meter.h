#pragma once
// Measures one batch size: the rate of loader and trainer together, of the trainer alone, and the peak memory. Also
// compares two sizes, or a layer with two numbers of channels, in interleaved blocks.
//
// A measurement takes `seconds`, or kStepsOfMeasurement steps if they take longer: a warm-up, then steps with the
// loader, then steps on a resident batch after the loader has filled its slots. Steps are grouped into blocks, whose
// rates give the confidence interval.
//
// Ownership: shares the dataset; network and loader of a size exist only while it is measured.
// Threads:   one caller. Failure: as Rig; Error(kMemory) if a size does not fit.

#include <memory>

#include "unstarve/jobs/finders/batch_curve.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class BatchMeter {
 public:
  BatchMeter(Settings settings, std::shared_ptr<const Dataset> dataset, Target target, double seconds);

  [[nodiscard]] BatchPoint measure(int batch);
  // The rate of the trainer alone with `batch` samples, relative to that with `other` samples. Both networks exist at
  // the same time.
  [[nodiscard]] RatioInterval compare(int batch, int other);
  // The multiply-adds per second of `layer` alone with `batch` samples, relative to those of `other`.
  [[nodiscard]] RatioInterval compare_layers(const LayerShape& layer, const LayerShape& other, int batch);
  // Of the measured network; empty before the first measurement.
  [[nodiscard]] const std::vector<LayerShape>& layers() const { return layers_; }
  // The settings with another batch size; the learning rate is not the one to train with.
  [[nodiscard]] Settings settings_of(int batch) const;

 private:
  Settings settings_;
  std::shared_ptr<const Dataset> dataset_;
  Target target_;
  double seconds_;
  int largest_ = 0;  // batch measured so far
  std::vector<LayerShape> layers_;
};

}  // namespace unstarve
