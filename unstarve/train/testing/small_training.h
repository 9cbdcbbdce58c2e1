#pragma once
// Small batches that can be learned, and a trainer for them, for tests.
//
// Threads: one.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "unstarve/core/random.h"
#include "unstarve/train/schedule.h"
#include "unstarve/train/trainer.h"

namespace unstarve::testing {

inline constexpr int kSide = 32;
inline constexpr int kSamples = 16;
inline constexpr int kClassCount = 4;

// Noise around a brightness that depends on the class.
struct Samples {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;

  explicit Samples(std::uint32_t index, int samples = kSamples) {
    Random random(7, index, 0, 0);
    for (int n = 0; n < samples; ++n) {
      const auto label = static_cast<std::int64_t>(random.below(kClassCount));
      labels.push_back(label);
      for (int i = 0; i < kSide * kSide * 3; ++i) {
        pixels.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(40 * label) + random.below(60)));
      }
    }
  }
  [[nodiscard]] HostBatch batch(Layout layout = Layout::kNhwc) const {
    return {pixels.data(), labels, {kSide, kSide}, {ElementType::kUint8, layout, kCifar10Normalisation}, false};
  }
};

inline TrainSettings small_settings() {
  TrainSettings settings;
  settings.model = "cifar_net";
  settings.classes = kClassCount;
  settings.image_size = kSide;
  settings.learning_rate = 0.02;
  settings.schedule.warmup = 0;
  settings.operator_threads = 2;
  return settings;
}

// Losses of `steps` steps on batches from `first` on, with the schedule of `rule` for `total` steps.
inline std::vector<double> losses(Trainer& trainer, int steps, std::uint32_t first = 0, int total = 1000,
                                  const TrainSettings& rule = small_settings()) {
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    const Samples samples(first + static_cast<std::uint32_t>(i));
    trainer.load(samples.batch());
    trainer.step(scheduled_rate(rule, i, total));
    result.push_back(trainer.loss());
  }
  return result;
}

inline std::vector<double> losses(const TrainSettings& settings, int steps) {
  const auto trainer = make_trainer(settings);
  return losses(*trainer, steps, 0, 1000, settings);
}

inline Evaluation evaluate(Trainer& trainer, const HostBatch& batch) {
  trainer.load(batch);
  trainer.evaluate();
  return trainer.evaluate_done();
}

// A file that is removed at the end of the test.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() / ("unstarve-trainer-test-" + std::to_string(::getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace unstarve::testing
