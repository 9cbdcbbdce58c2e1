#include "unstarve/jobs/training/training_source.h"

#include <fmt/format.h>

#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

// Images on the device may need this share of its free memory.
constexpr double kResidentShare = 0.5;

// On a CPU, ranks of one machine share its memory.
std::uint64_t resident_limit(Trainer& trainer, const Ranks& ranks) {
  const std::size_t device = trainer.free_device_bytes();
  const std::uint64_t free =
      device > 0 ? device : read_machine_facts().memory_available_bytes / static_cast<std::uint64_t>(ranks.sharing);
  return static_cast<std::uint64_t>(kResidentShare * static_cast<double>(free));
}

TrainingSource resident_source(Trainer& trainer, const SourceNeeds& needs, std::stop_token stop) {
  const std::int64_t begin_ns = steady_clock().now_ns();
  const PipelineSpec images = resident_images_of(needs.position.pipeline);
  const auto samples = samples_of_sources(images, *needs.dataset);
  const auto loader = needs.make_loader(images, needs.dataset, {{}, 1, false, {samples, {}, {}}});
  auto source = std::make_unique<ResidentSource>(
      trainer, ResidentSource::Run{needs.position.pipeline, needs.position.basis, needs.position.start}, *loader,
      resident_limit(trainer, needs.ranks), std::move(stop));
  const double seconds = static_cast<double>(steady_clock().now_ns() - begin_ns) * 1e-9;
  if (needs.announce)
    needs.announce(fmt::format("resident: {} images, {:.1f} MB on the device, decoded in {:.1f} s", source->images(),
                               1e-6 * static_cast<double>(source->bytes()), seconds));
  return {std::move(source), seconds};
}

}  // namespace

TrainingSource::TrainingSource(std::unique_ptr<Loader> loader)
    : loaded_(std::make_unique<LoaderSource>(std::move(loader))) {}
TrainingSource::TrainingSource(std::unique_ptr<ResidentSource> resident, double seconds)
    : resident_(std::move(resident)), seconds_(seconds) {}

BatchSource& TrainingSource::batches() const {
  return resident_ ? static_cast<BatchSource&>(*resident_) : static_cast<BatchSource&>(*loaded_);
}
RankProgress TrainingSource::progress() const {
  return resident_ ? resident_->progress() : loaded_->loader().progress();
}
std::vector<BadSample> TrainingSource::bad_samples(std::size_t most) const {
  return resident_ ? std::vector<BadSample>() : loaded_->loader().bad_samples(most);
}
std::optional<ResidentImages> TrainingSource::images() const {
  if (!resident_) return {};
  return ResidentImages{resident_->images(), resident_->bytes(), seconds_};
}

TrainingSource training_source(Trainer& trainer, const SourceNeeds& needs, std::stop_token stop) {
  const Residence resident = needs.resident;
  std::string reason = resident == Residence::kOff ? "off" : why_not_resident(needs.position.pipeline);
  if (reason.empty()) {
    try {
      return resident_source(trainer, needs, std::move(stop));
    } catch (const Error& error) {
      if (resident == Residence::kOn && error.kind() == ErrorKind::kMemory)
        throw Error(error.kind(), fmt::format("{}, half of the free memory. Use resident: off", error.what()));
      // With auto, the loader reports faults of the data.
      if (resident == Residence::kOn || error.kind() == ErrorKind::kCancelled) throw;
      reason = error.what();
    }
  }
  if (resident == Residence::kAuto)
    emit_notice(fmt::format("train.resident: auto: a loader makes the batches: {}", reason));
  return TrainingSource(needs.make_loader(needs.position.pipeline, needs.dataset,
                                          {needs.position.start, 0, false, needs.position.basis, needs.consumer}));
}

}  // namespace unstarve
