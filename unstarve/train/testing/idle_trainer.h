#pragma once
// For tests of what calls a trainer: a base whose calls do nothing.

#include <memory>
#include <vector>

#include "unstarve/train/trainer.h"

namespace unstarve::testing {

class IdleTrainer : public Trainer {
 public:
  void load(const HostBatch&) override {}
  void reserve_images(std::int64_t, Size, const Rgb&) override {}
  void keep_images(std::int64_t, const HostBatch&) override {}
  std::size_t free_device_bytes() override { return 0; }
  void step(double, bool, const StepPosition&) override {}
  void synchronise() override {}
  double loss() override { return 0; }
  void enable_timing(bool) override {}
  StepTimes times() override { return {}; }
  std::vector<StepSpan> spans() override { return {}; }
  void evaluate() override {}
  Evaluation evaluate_done() override { return {}; }
  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress&) override { return nullptr; }
  TrainProgress restore(const std::filesystem::path&) override { return {}; }
  void restore(const TrainSnapshot&) override {}
  LoadedWeights load_weights(const std::filesystem::path&) override { return {}; }
  void largest_of_ranks(std::span<double>) override {}
  bool reports_lost_rank() override { return true; }
  ExchangeTimes exchange_times() override { return {}; }
  std::size_t peak_memory_bytes() override { return 0; }
  std::int64_t parameters() const override { return 0; }
  double macs() const override { return 0; }
  std::vector<LayerShape> layer_shapes() const override { return {}; }
  std::unique_ptr<LayerRun> run_layer(const LayerShape&, int) override { return nullptr; }
};

}  // namespace unstarve::testing
