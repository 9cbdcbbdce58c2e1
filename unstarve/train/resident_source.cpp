#include "unstarve/train/resident_source.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Images have a row and a column of the border.
std::uint64_t image_bytes(Size size) {
  return static_cast<std::uint64_t>(size.width + 1) * static_cast<std::uint64_t>(size.height + 1) * kChannels;
}

}  // namespace

std::string why_not_resident(const PipelineSpec& spec) {
  if (!spec.batch_operations.empty())
    return fmt::format("pipeline.batch_operations: found {}; expected none", spec.batch_operations[0].name);
  if (spec.output.type != ElementType::kUint8)
    return "pipeline.output.type: found a type of floats; expected uint8, which the device normalises";
  if (spec.batch.pad.to != PadTo::kNothing) return "pipeline.batch.pad: found padding; expected none";
  if (spec.batch.last == LastBatch::kPad) return "pipeline.batch.last: found pad; expected drop or keep";
  if (spec.errors.policy != OnError::kFail)
    return "pipeline.errors.policy: found a policy that leaves out bad samples; expected fail";
  const std::string reason = GatherChain::why_not(spec.operations, first_random_operation(spec.operations));
  return reason.empty() ? reason : "pipeline." + reason;
}

PipelineSpec resident_images_of(const PipelineSpec& spec) {
  PipelineSpec images = spec;
  images.operations.resize(first_random_operation(spec.operations));
  for (SourceSpec& source : images.mix) {
    source.weight.reset();
    source.earlier_weights.clear();
  }
  images.order = {};
  images.order.shuffle = false;
  images.batch = {std::min(spec.batch.size, 256), LastBatch::kKeep};
  images.output = {ElementType::kUint8, Layout::kNhwc, spec.output.normalisation};
  images.cache = {};
  images.device = {};
  images.execution.order = ExecutionOrder::kExact;
  images.execution.prefetch = std::max(1, spec.execution.prefetch);
  return images;
}

ResidentSource::ResidentSource(Trainer& trainer, Run run, Loader& images, std::uint64_t limit_bytes,
                               std::stop_token stop)
    : spec_(std::move(run.spec)),
      order_(Order(spec_.order, spec_.batch, run.basis), run.start, 0),
      image_size_(images.plan().sample_size()),
      chain_(spec_.operations, first_random_operation(spec_.operations), image_size_, spec_.order.seed),
      next_(order_.start()) {
  const std::uint64_t needed = images.order().length() * image_bytes(image_size_);
  if (limit_bytes > 0 && needed > limit_bytes)
    throw Error(
        ErrorKind::kMemory,
        fmt::format("keeping {} images of {} x {} on the device: they need {:.1f} MB; expected at most {:.1f} MB",
                    images.order().length(), image_size_.width, image_size_.height, 1e-6 * static_cast<double>(needed),
                    1e-6 * static_cast<double>(limit_bytes)));
  keep_images(trainer, images, stop);
}

std::uint64_t ResidentSource::bytes() const { return image_labels_.size() * image_bytes(image_size_); }

void ResidentSource::keep_images(Trainer& trainer, Loader& images, const std::stop_token& stop) {
  trainer.reserve_images(static_cast<std::int64_t>(images.order().length()), image_size_, chain_.border_colour());
  while (const std::optional<Batch> batch = images.next()) {
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "training was stopped");
    trainer.keep_images(std::ssize(image_labels_), {batch->pixels(), batch->labels(), batch->size(),
                                                    images.plan().store().format, batch->pinned()});
    for (std::size_t i = 0; i < batch->samples(); ++i) {
      const std::uint64_t id = batch->ids()[i];
      if (id >= image_of_.size()) image_of_.resize(id + 1, -1);
      image_of_[id] = static_cast<std::int32_t>(image_labels_.size());
      image_labels_.push_back(batch->labels()[i]);
    }
  }
}

bool ResidentSource::next(HostBatch& batch) {
  if (next_.batch == order_.of_epoch(next_.epoch).batches_per_epoch()) {
    next_ = {next_.epoch + 1, 0, 0, {}};
    epoch_.reset();
  }
  const Order& order = order_.of_epoch(next_.epoch);
  if (!epoch_) epoch_.emplace(order.epoch(next_.epoch));
  const std::size_t samples = order.batch_samples(next_.batch);
  const Size size = chain_.output_size();
  const auto height = static_cast<std::size_t>(size.height), width = static_cast<std::size_t>(size.width);
  labels_.resize(samples);
  gather_.resize(samples * (1 + height + width));
  const std::span all(gather_);
  for (std::size_t i = 0; i < samples; ++i) {
    const Sample sample = epoch_->sample(next_.batch, i);
    gather_[i] = image_of_.at(sample.id);
    labels_[i] = image_labels_.at(static_cast<std::size_t>(gather_[i]));
    chain_.map(sample.draw, sample.id, all.subspan(samples + i * height, height),
               all.subspan(samples * (1 + height) + i * width, width));
  }
  batch = {nullptr, labels_, size, {ElementType::kUint8, Layout::kNhwc, spec_.output.normalisation}};
  batch.epoch = next_.epoch;
  batch.gather = gather_;
  ++next_.batch;
  return true;
}

RankProgress ResidentSource::progress() const {
  const Order& order = order_.of_epoch(next_.epoch);
  if (next_.batch == order.batches_per_epoch()) return {{next_.epoch + 1, 0, 0, {}}, 0, {}};
  const EpochPosition& start = order_.start();
  const bool first = next_.epoch == start.epoch;
  return {{next_.epoch, 0, first ? start.offset : 0, first ? start.used : std::vector<bool>{}},
          order.rank_samples_before(next_.batch),
          {}};
}

}  // namespace unstarve
