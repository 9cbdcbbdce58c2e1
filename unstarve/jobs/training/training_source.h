#pragma once
// The source of the training batches: a loader, or the images of a small dataset that stay on the device
// (train/resident_source.h).
//
// Ownership: owns the loader; borrows the trainer. Threads: one at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/training/resume_position.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/train/history.h"
#include "unstarve/train/loader_source.h"
#include "unstarve/train/resident_source.h"

namespace unstarve {

class TrainingSource {
 public:
  explicit TrainingSource(std::unique_ptr<Loader> loader);
  // `seconds`: in which the images were decoded and copied.
  TrainingSource(std::unique_ptr<ResidentSource> resident, double seconds);

  [[nodiscard]] BatchSource& batches() const;
  [[nodiscard]] RankProgress progress() const;
  // Threads of the loader; 0: none.
  [[nodiscard]] int threads() const { return resident_ ? 0 : loaded_->loader().threads(); }
  // At most `most` samples. Images on the device never have a bad sample.
  [[nodiscard]] std::vector<BadSample> bad_samples(std::size_t most) const;
  [[nodiscard]] std::optional<ResidentImages> images() const;  // nothing: a loader makes the batches

 private:
  std::unique_ptr<LoaderSource> loaded_;
  std::unique_ptr<ResidentSource> resident_;
  double seconds_ = 0;
};

// Makes the loader of a spec and its data.
using MakeLoader =
    std::function<std::unique_ptr<Loader>(const PipelineSpec&, const std::shared_ptr<const Dataset>&, Loader::Options)>;

struct SourceNeeds {
  Residence resident = Residence::kAuto;  // TrainSettings::resident
  const Ranks& ranks;
  const ResumePosition& position;
  const std::shared_ptr<const Dataset>& dataset;
  Consumer consumer = Consumer::kHost;
  const MakeLoader& make_loader;
  const std::function<void(const std::string&)>& announce;  // receives a line about images on the device; may be empty
};

// Images stay on the device if they need at most half of the free memory and why_not_resident() has no reason;
// check_run() requires the latter for Residence::kOn. kOn throws Error(kMemory) or an error of the data; with kAuto, a
// loader makes the batches, and a notice has the reason.
[[nodiscard]] TrainingSource training_source(Trainer& trainer, const SourceNeeds& needs, std::stop_token stop);

}  // namespace unstarve
