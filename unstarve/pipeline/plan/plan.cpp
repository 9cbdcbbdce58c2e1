#include "unstarve/pipeline/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/replace_means.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/device/device_operations.h"
#include "unstarve/pipeline/executor/cache_trial.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/limit_memory.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {
namespace {

// How many samples are tried for a readable header before the data set is given up.
constexpr std::uint64_t kProbes = 100;

// The first image that can be read: what the chain of operations starts from.
FirstImage probe(const Dataset& dataset, const SampleSet& samples, int image_field, bool encoded, int max_pixels) {
  RecordBuffer record;
  Decoder decoder;
  std::string reason;
  for (std::uint64_t place = 0; place < std::min(samples.size(), kProbes); ++place) {
    const std::uint64_t id = samples.id(place);
    try {
      dataset.read(id, record);
      const Value& value = record.values[static_cast<std::size_t>(image_field)];
      FirstImage first{id, {}};
      if (encoded)
        first.header = decoder.open(value.bytes, max_pixels);
      else
        first.header.size = value.pixels.size();
      return first;
    } catch (const Error& error) {
      if (reason.empty()) reason = dataset.location(id) + ": " + error.what();
    }
  }
  throw Error(ErrorKind::kInput, fmt::format("none of the first {} samples can be read; the first: {}",
                                             std::min(samples.size(), kProbes), reason));
}

// What no sample is larger than.
Size largest_sample(const Plan& plan) {
  if (plan.spec.batch.pad.to == PadTo::kSize) return plan.spec.batch.pad.size;
  Size largest = plan.sizes.back();
  for (const Size& size : plan.samples->sizes) {
    largest.width = std::max(largest.width, size.width);
    largest.height = std::max(largest.height, size.height);
  }
  return largest;
}

// The stages behind the first one.
void add_stages(Plan& plan) {
  if (const auto epoch = size_changes_from(plan.spec); epoch && plan.spec.batch.pad.to == PadTo::kLargest)
    throw Error(ErrorKind::kArgument,
                fmt::format("batch.pad.to: largest, but the operations' output changes from epoch {} on by a schedule; "
                            "expected pad.to: size with the largest there is, or sizes that stay",
                            *epoch));
  std::vector<OpSpec> scheduled = plan.spec.operations;
  scheduled.insert(scheduled.end(), plan.spec.batch_operations.begin(), plan.spec.batch_operations.end());
  for (const std::uint32_t epoch : changing_epochs(scheduled)) {
    ChainStage stage{epoch, {}, {}, {plan.sizes.front()}, {}, {}};
    for (const OpSpec& operation : plan.spec.batch_operations) {
      stage.batch_specs.push_back(at_epoch(operation, epoch));
      stage.batch_operations.push_back(make_batch_operation(stage.batch_specs.back()));
    }
    for (const OpSpec& operation : plan.spec.operations) {
      stage.specs.push_back(at_epoch(operation, epoch));
      stage.operations.push_back(make_operation(stage.specs.back()));
      stage.sizes.push_back(stage.operations.back()->output_size(stage.sizes.back()));
    }
    plan.later.push_back(std::move(stage));
  }
}

Size largest_of_stages(const Plan& plan) {
  Size largest = plan.sizes.back();
  for (const ChainStage& stage : plan.later) {
    largest.width = std::max(largest.width, stage.sizes.back().width);
    largest.height = std::max(largest.height, stage.sizes.back().height);
  }
  return largest;
}

// What a device that decodes could not do.
void check_files(const Plan& plan) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::kArgument, what + " where a device decodes; or decode on the host");
  };
  if (!plan.encoded) refuse(fmt::format("decode: {} holds pixels, expected encoded images", plan.dataset->format()));
  if (plan.spec.cache.what == CacheWhat::kPixels)
    refuse(fmt::format("cache: pixels{}, expected encoded or nothing", plan.cache_chosen.empty() ? "" : ", by auto"));
  if (plan.spec.errors.policy != OnError::kFail)
    refuse(fmt::format("errors.policy: {}, expected fail, for damage shows when the batch has been put together,",
                       plan.spec.errors.policy == OnError::kSkip ? "skip" : "replace"));
  if (plan.padded || plan.any_size) refuse("batch.pad: samples of several sizes, expected one size");
}

}  // namespace

std::uint64_t batch_bytes(const Plan& plan) {
  const std::size_t sample = Storer(plan.spec.output).sample_bytes(plan.sample_size) + plan.classes * sizeof(float) +
                             sizeof(std::int64_t) + 2 * sizeof(std::uint64_t) + 1;  // label, id, number, whether good
  const std::size_t padding = plan.padded ? Storer(plan.spec.output).sample_bytes(plan.sample_size) : 0;
  return static_cast<std::uint64_t>(plan.spec.batch.size) *
             (sample + sizeof(PixelExtent) + (plan.files ? sizeof(FileExtent) : 0)) +
         padding;
}

const ChainStage* Plan::stage(std::uint32_t epoch) const {
  const auto behind =
      std::upper_bound(later.begin(), later.end(), epoch,
                       [](std::uint32_t wanted, const ChainStage& stage) { return wanted < stage.from; });
  return behind == later.begin() ? nullptr : &*std::prev(behind);
}

Size Plan::size_at(std::uint32_t epoch) const {
  if (padded || later.empty()) return sample_size;
  const ChainStage* const found = stage(epoch);
  return found ? found->sizes.back() : sizes.back();
}

Plan make_plan(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, int usable_cores, Caches caches,
               OrderBasis basis, Consumer consumer, std::uint32_t epochs, bool grow, OnDevice on_device) {
  check_spec(spec);
  replace_means(spec.operations, spec.output.normalisation);
  if (spec.device.operations == OperationsOn::kDevice) (void)first_on_device(spec);
  const bool threads_left_open = spec.execution.threads == 0;
  const bool tuned = threads_left_open && spec.execution.autotune;
  if (threads_left_open) {
    spec.execution.threads = usable_cores;
    if (tuned && spec.execution.cpu_limit > 0)
      spec.execution.threads = std::min(usable_cores, spec.execution.cpu_limit);
  }

  if (!basis.samples) basis.samples = choose_samples(spec, *dataset, spec.execution.threads);
  Order order(spec.order, spec.batch, basis);
  Plan plan{std::move(spec),
            std::move(dataset),
            {},
            {},
            0,
            std::move(basis.samples),
            std::move(order),
            {},
            0,
            -1,
            false,
            false,
            false,
            {},
            {},
            0,
            {}};
  if (is_switched_off(plan.spec, "dead_field_removal"))
    plan.dataset = plan.all_fields = with_all_fields(std::move(plan.dataset));
  const Dataset& data = *plan.dataset;
  plan.image_field = data.field_index(FieldKind::kEncodedImage);
  plan.encoded = plan.image_field >= 0;
  if (!plan.encoded) plan.image_field = data.field_index(FieldKind::kPixels);
  if (plan.image_field < 0)
    throw Error(ErrorKind::kInput, fmt::format("{} has no image field, and a pipeline needs one", data.format()));
  plan.label_field = data.field_index(FieldKind::kLabel);

  if (!plan.spec.batch_operations.empty()) {
    plan.classes = data.classes().size();
    if (plan.label_field < 0 || plan.classes == 0)
      throw Error(ErrorKind::kArgument,
                  fmt::format("batch_operations: {} has no classes, and they need labels", data.format()));
    for (const OpSpec& operation : plan.spec.batch_operations)
      plan.batch_operations.push_back(make_batch_operation(at_epoch(operation, 0)));
  }
  for (const OpSpec& operation : plan.spec.operations)
    plan.operations.push_back(make_operation(at_epoch(operation, 0)));
  plan.first = probe(data, *plan.samples, plan.image_field, plan.encoded, spec.decode.max_pixels);
  const Size probed = plan.first.header.size;
  plan.sizes = {probed};
  for (const auto& operation : plan.operations) plan.sizes.push_back(operation->output_size(plan.sizes.back()));
  plan.padded = plan.spec.batch.pad.to != PadTo::kNothing;
  add_stages(plan);
  plan.sample_size = plan.padded ? largest_sample(plan) : largest_of_stages(plan);

  plan.tuned = tuned;
  plan.reads_tuned = plan.spec.execution.autotune && plan.spec.execution.read_ahead < 0;
  if (plan.spec.cache.what == CacheWhat::kAuto) {
    if (is_switched_off(plan.spec, "cache")) plan.spec.cache = {};
  }
  plan.files = on_device.decodes;
  const ExecutionSpec asked = plan.spec.execution;
  limit_memory(plan, threads_left_open, grow, on_device);
  if (plan.spec.cache.what == CacheWhat::kAuto) {
    decide_cache(plan, epochs, consumer);
    plan.spec.execution = asked;
    limit_memory(plan, threads_left_open, grow, on_device);
  }
  if (plan.files) check_files(plan);
  if (tuned && plan.memory.limit > 0) leave_room_for_threads(plan.memory);
  run_passes(plan, {probed, caches, consumer});
  return plan;
}

}  // namespace unstarve
