// Training steps of our trainer with the settings of the Python peer: channels-last, fused optimiser, the precision of
// the job, one thread per core. "device": "cuda" trains on a GPU; "graph": "on" records its steps as graphs. With
// "host_time", steps are counted instead of samples, and only the time until step() returns, with an idle device at its
// begin.
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/train/checkpoints.h"
#include "unstarve/train/trainer.h"

namespace unstarve::bench {
namespace {

constexpr double kLearningRate = 0.01;
constexpr int kFirstStepsOfGpu = 5;  // kernels are chosen, and the step is recorded
constexpr int kQueuedSteps = 16;     // then a GPU is waited for, so that a block has the time of its steps

TrainSettings settings_of(const Job& job) {
  TrainSettings settings;
  settings.model = job.at("model");
  settings.classes = job.at("classes");
  settings.image_size = job.at("image_size");
  const auto words = words_of<Precision>();
  const auto word = std::ranges::find(words, job.at("precision").get<std::string>());
  if (word == words.end()) throw Error(ErrorKind::kArgument, "precision: found " + job.at("precision").dump());
  settings.precision = static_cast<Precision>(word - words.begin());
  settings.channels_last = true;
  settings.optimiser.form = UpdateForm::kFused;
  settings.operator_threads = job.at("cores");
  settings.device = job.value("device", "cpu");
  const std::string graph = job.value("graph", "auto");
  settings.graph = graph == "on" ? GraphUse::kOn : graph == "off" ? GraphUse::kOff : GraphUse::kAuto;
  settings.seed = job.at("seed");
  return settings;
}

class TrainSide final : public Side {
 public:
  explicit TrainSide(const Job& job) : samples_(job.at("batch")), trainer_(make_trainer(settings_of(job))) {
    const int size = job.at("image_size");
    const std::uint32_t classes = job.at("classes");
    Random random(job.at("seed"), 0, 0, 0);
    pixels_.resize(static_cast<std::size_t>(samples_) * kChannels * static_cast<std::size_t>(size * size));
    for (float& pixel : pixels_) pixel = static_cast<float>(random.uniform(-2, 2));
    labels_.resize(static_cast<std::size_t>(samples_));
    for (std::int64_t& label : labels_) label = random.below(classes);
    HostBatch batch;
    batch.pixels = reinterpret_cast<const std::uint8_t*>(pixels_.data());
    batch.labels = labels_;
    batch.size = {size, size};
    batch.format.layout = Layout::kNhwc;
    trainer_->load(batch);
    host_time_ = job.value("host_time", false);
    const int first_steps = job.contains("device") ? kFirstStepsOfGpu : 1;
    for (int i = 0; i < first_steps; ++i) trainer_->step(kLearningRate);
    trainer_->synchronise();
    cpu_seconds_ = process_cpu_seconds();
    checkpoint_s_ = job.value("checkpoint_seconds", 0.0);
    if (checkpoint_s_ <= 0) return;
    std::string name = (std::filesystem::temp_directory_path() / "unstarve-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw io_error("create", name, errno);
    folder_ = name;
    checkpoints_.emplace(CheckpointTargets{.folder = folder_});
  }
  ~TrainSide() override {
    checkpoints_.reset();
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  Block run(double seconds) override {
    using Clock = std::chrono::steady_clock;
    Block block;
    while (host_time_ && block.seconds < seconds) {
      trainer_->synchronise();
      const auto before = Clock::now();
      trainer_->step(kLearningRate);
      block.seconds += std::chrono::duration<double>(Clock::now() - before).count();
      ++block.samples;
    }
    if (host_time_) return block;
    const double cpu = cpu_seconds_;
    const auto start = Clock::now();
    double next_checkpoint_s = checkpoint_s_;
    while (block.seconds < seconds) {
      trainer_->step(kLearningRate);
      block.samples += samples_;
      if (++queued_ % kQueuedSteps == 0) trainer_->synchronise();
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (checkpoints_ && block.seconds >= next_checkpoint_s) {
        next_checkpoint_s += checkpoint_s_;
        checkpoints_->write(trainer_->snapshot({++written_, ""}), written_);
      }
    }
    cpu_seconds_ = process_cpu_seconds();
    block.cpu_seconds = cpu_seconds_ - cpu;
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    const double before = trainer_->loss();
    for (int i = 0; i < 10; ++i) trainer_->step(kLearningRate);
    return {{"parameters", trainer_->parameters()}, {"macs", trainer_->macs()}, {"loss", {before, trainer_->loss()}}};
  }

 private:
  int samples_;
  std::vector<float> pixels_;  // the trainer borrows the batch
  std::vector<std::int64_t> labels_;
  std::unique_ptr<Trainer> trainer_;
  double checkpoint_s_ = 0;  // between checkpoints; 0: none
  std::filesystem::path folder_;
  std::optional<Checkpoints> checkpoints_;
  std::int64_t written_ = 0;
  // At the end of the last block: the next one includes the rest of a checkpoint that was still being written then.
  double cpu_seconds_ = 0;
  bool host_time_ = false;
  int queued_ = 0;
};

}  // namespace

std::unique_ptr<Side> make_train_side(const Job& job) { return std::make_unique<TrainSide>(job); }

}  // namespace unstarve::bench
