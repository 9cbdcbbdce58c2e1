#include "unstarve/jobs/training/progressive_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/train/resident_source.h"

namespace unstarve {
namespace {

std::vector<std::string> faults_of_length(double epochs, double minutes) {
  std::vector<std::string> faults;
  if (epochs == 0 && minutes > 0)
    faults.emplace_back(
        "train.progressive: found a run that is limited by minutes only; expected a number of epochs, which the phases "
        "follow. Pass --epochs, alone or with --minutes");
  if (std::ceil(epochs) > kMaxScheduledEpoch)
    faults.push_back(
        fmt::format("train.progressive: found a run of {:g} epochs; expected at most {}", epochs, kMaxScheduledEpoch));
  return faults;
}

std::vector<std::string> faults_of_order(const OrderSpec& order) {
  constexpr const char* kWhy =
      "with train.progressive.samples, because the first samples of such an epoch are not a random part";
  std::vector<std::string> faults;
  if (!order.shuffle) faults.push_back(fmt::format("pipeline.order.shuffle: found false; expected true {}", kWhy));
  if (order.window > 0)
    faults.push_back(fmt::format("pipeline.order.window: found {}; expected 0 {}", order.window, kWhy));
  return faults;
}

std::vector<std::string> faults_of_resident(const Settings& settings) {
  const ProgressiveSettings& progressive = settings.train.progressive;
  std::string reason = why_not_resident(settings.pipeline);
  if (progressive.image_size > 0 || progressive.augmentation < 1)
    reason = "train.progressive: found an image size or an augmentation that changes during the run; expected none";
  if (reason.empty()) return {};
  return {fmt::format("train.resident: found on, but images cannot stay on the device: {}. Use resident: off", reason)};
}

}  // namespace

void check_run(const Settings& settings, double epochs, double minutes) {
  std::vector<std::string> faults;
  const auto collect = [&](auto&& check) {
    try {
      check();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kArgument) throw;
      faults.emplace_back(error.what());
    }
  };
  const auto add = [&](std::vector<std::string> more) { faults.insert(faults.end(), more.begin(), more.end()); };
  collect([&] { check_settings(settings.train); });
  const ProgressiveSettings& progressive = settings.train.progressive;
  if (progressive.any()) add(faults_of_length(epochs, minutes));
  if (progressive.samples < 1) add(faults_of_order(settings.pipeline.order));
  if (progressive.image_size > 0 && settings.pipeline.batch.pad.to != PadTo::kNothing)
    faults.emplace_back("pipeline.batch.pad: found padding; expected none with train.progressive.image_size");
  collect([&] { check_graph(settings.train); });
  collect([&] { check_spec(settings.pipeline); });
  if (settings.train.resident == Residence::kOn) collect([&] { add(faults_of_resident(settings)); });
  if (!faults.empty()) throw Error(ErrorKind::kArgument, fmt::format("{}", fmt::join(faults, "\n")));
}

ProgressiveRun progressive_run(const Settings& settings, double epochs) {
  const TrainSettings& train = settings.train;
  ProgressiveRun run{settings.pipeline, {}, {}};
  if (!train.progressive.any()) return run;
  run.phases = phases_of(train, std::max(1U, static_cast<std::uint32_t>(std::ceil(epochs))));
  PipelineSpec& pipeline = run.pipeline;
  pipeline.operations = progressive_operations(pipeline.operations, {train.image_size, 1, 1}, run.phases);
  if (train.progressive.augmentation < 1)
    pipeline.batch_operations = progressive_batch_operations(pipeline.batch_operations, run.phases);
  if (train.progressive.samples < 1)
    for (const TrainPhase& phase : run.phases)
      if (run.shares.empty() || run.shares.back().share != phase.values.samples)
        run.shares.push_back({phase.epoch, phase.values.samples});
  return run;
}

void check_image_size(const Settings& settings, double epochs, Size input) {
  check_spec(settings.pipeline);
  const ProgressiveRun run = progressive_run(settings, epochs);
  const std::vector<OpSpec>& operations = run.pipeline.operations;
  if (run.phases.size() > 1) return check_sizes(operations, run.phases, input);
  if (settings.pipeline.batch.pad.to != PadTo::kNothing) return;
  const auto size_in = [&](std::uint32_t epoch) {
    Size size = input;
    for (const OpSpec& operation : operations) size = make_operation(at_epoch(operation, epoch))->output_size(size);
    return size;
  };
  const int side = settings.train.image_size;
  // Images that are not square have the size of their longer side.
  const auto fits = [&](Size size) { return std::max(size.width, size.height) == side; };
  const Size first = size_in(0);
  if (fits(first)) return;
  if (std::ranges::any_of(changing_epochs(operations), [&](std::uint32_t epoch) { return fits(size_in(epoch)); }))
    return;
  throw Error(ErrorKind::kArgument,
              fmt::format("train.image_size: the operations make images of {}x{} px; expected {}x{}. Set "
                          "train.image_size to the size that the operations make",
                          first.width, first.height, side, side));
}

}  // namespace unstarve
