#include "unstarve/pipeline/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/decode_balance.h"
#include "unstarve/pipeline/decode_wish.h"
#include "unstarve/pipeline/device_operations.h"
#include "unstarve/pipeline/loader/pad_batch.h"
#include "unstarve/pipeline/order/explain_order.h"
#include "unstarve/pipeline/passes/cache_trial.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/spec/batch_checks.h"
#include "unstarve/pipeline/spec/device_checks.h"
#include "unstarve/pipeline/spec/source_checks.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

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

template <class Work>
bool failed(const Work& work) {
  try {
    work();
    return false;
  } catch (const Error&) {
    return true;
  }
}

// The largest record and the largest image of some that are spread over those that take part; unreadable ones do not
// count.
struct Largest {
  std::uint64_t record = 0;
  Size image;
};

Largest look_at_some(const Plan& plan) {
  constexpr std::uint64_t kLookedAt = 64, kTogether = 16;  // several at once, for data on a server
  Largest largest;
  Decoder decoder;
  const std::uint64_t samples = plan.samples->size(), looked_at = std::min(samples, kLookedAt);
  const auto look = [&](const RecordBuffer& record) {
    const Value& value = record.values[static_cast<std::size_t>(plan.image_field)];
    const Size size = plan.encoded ? decoder.open(value.bytes, plan.spec.decode.max_pixels).size : value.pixels.size();
    // What lies in mapped memory takes none of the record's.
    largest.record = std::max<std::uint64_t>(largest.record, record.storage.capacity());
    if (std::int64_t{size.width} * size.height > std::int64_t{largest.image.width} * largest.image.height)
      largest.image = size;
  };
  std::vector<RecordBuffer> records(kTogether);
  for (std::uint64_t first = 0; first < looked_at; first += kTogether) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = first; i < std::min(first + kTogether, looked_at); ++i)
      ids.push_back(plan.samples->id(i * samples / looked_at));
    const bool together = !failed([&] { plan.dataset->read_many(ids, std::span(records).first(ids.size())); });
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // One that cannot be read or is no image: the error policy decides about it when its turn comes.
      (void)failed([&] {
        if (!together) plan.dataset->read(ids[i], records[i]);
        look(records[i]);
      });
    }
  }
  return largest;
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
  const std::vector<OpSpec>& scheduled = plan.spec.operations;
  for (const std::uint32_t epoch : changing_epochs(scheduled)) {
    ChainStage stage{epoch, {}, {}, {plan.sizes.front()}};
    for (const OpSpec& operation : scheduled) {
      stage.specs.push_back(at_epoch(operation, epoch));
      stage.operations.push_back(make_operation(stage.specs.back()));
      stage.sizes.push_back(stage.operations.back()->output_size(stage.sizes.back()));
    }
    if (plan.spec.batch.pad.to == PadTo::kLargest && stage.sizes.back() != plan.sizes.back())
      throw Error(
          ErrorKind::kArgument,
          fmt::format("batch.pad.to: largest, but the operations' output changes from epoch {} on by a schedule; "
                      "expected pad.to: size with the largest there is, or sizes that stay",
                      epoch));
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

// What is wrong with an operation in an epoch behind 0.
struct EpochError : Error {
  EpochError(const Error& error, std::uint32_t in) : Error(error), epoch(in) {}
  std::uint32_t epoch;
};

// Makes the operation as it is in every epoch.
void check_operation(const OpSpec& operation) {
  check_schedules(operation);
  (void)make_operation(at_epoch(operation, 0));
  for (const std::uint32_t epoch : changing_epochs({&operation, 1})) {
    try {
      (void)make_operation(at_epoch(operation, epoch));
    } catch (const Error& error) {
      throw EpochError(error, epoch);
    }
  }
}

std::uint64_t batch_values(const Plan& plan) {
  return static_cast<std::uint64_t>(plan.spec.batch.size) * static_cast<std::uint64_t>(plan.sample_size.width) *
         static_cast<std::uint64_t>(plan.sample_size.height) * kChannels;
}

// Divides the limit, and takes what the spec asks for back to what fits.
void limit_memory(Plan& plan, bool fewer_threads, bool grow, OnDevice on_device) {
  ExecutionSpec& execution = plan.spec.execution;
  const CacheSpec& cache = plan.spec.cache;
  const bool left_open = cache.what == CacheWhat::kAuto, kept = left_open || cache.what == CacheWhat::kPixels,
             in_memory = left_open || (cache.what != CacheWhat::kNothing && cache.folder.empty());
  MemoryNeeds needs;
  needs.batch = batch_bytes(plan);
  needs.device = on_device.per_value * batch_values(plan) + on_device.fixed;
  needs.threads = execution.threads;
  needs.prefetch = execution.prefetch;
  needs.grow = grow;
  needs.relaxed = execution.order == ExecutionOrder::kRelaxed;
  needs.cache = in_memory ? cache.limit_mb * 1'000'000 : 0;
  needs.read_ahead = execution.read_ahead != 0;
  if (execution.memory_limit_mb > 0) {
    const Largest largest = look_at_some(plan);
    needs.limit = execution.memory_limit_mb * 1'000'000;
    needs.record = largest.record;
    needs.worker = worker_bytes(largest.record, largest.image, plan.encoded, kept, plan.operations);
    for (const ChainStage& stage : plan.later)
      needs.worker =
          std::max(needs.worker, worker_bytes(largest.record, largest.image, plan.encoded, kept, stage.operations));
    needs.fewer_threads = fewer_threads;
    needs.read_ahead = execution.read_ahead > 0 || (execution.read_ahead < 0 && plan.dataset->reads_in_flight() > 0);
  }
  plan.memory = plan_memory(needs);
  execution.threads = plan.memory.threads;
  execution.prefetch = plan.memory.prefetch;
  if (plan.memory.limit > 0) {
    plan.larger_images = std::make_shared<MemoryPool>(plan.memory.larger_images);
    plan.room = std::make_shared<ByteBudget>(plan.memory.cache);
  }
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

void check_spec(const PipelineSpec& spec) {
  const auto fail = [](const std::string& node, const std::string& what) {
    throw Error(ErrorKind::kArgument, node + ": " + what);
  };
  const auto within = [&](const char* node, int value, int low, int high) {
    if (value < low || value > high) fail(node, fmt::format("{}, expected {} to {}", value, low, high));
  };
  within("execution.threads", spec.execution.threads, 0, 1024);
  within("execution.prefetch", spec.execution.prefetch, 0, 1024);
  within("execution.read_ahead", spec.execution.read_ahead, -1, 1024);
  constexpr std::uint64_t kMostMb = std::uint64_t{1} << 40;
  if (spec.execution.memory_limit_mb > kMostMb)
    fail("execution.memory_limit_mb", fmt::format("{}, expected 0 to {}", spec.execution.memory_limit_mb, kMostMb));
  within("decode.max_pixels", spec.decode.max_pixels, 1, static_cast<int>(kMaxPixels));
  within("execution.cpu_limit", spec.execution.cpu_limit, 0, 1024);
  check_batch(spec);
  check_device(spec.device);
  if (spec.order.world < 1) fail("order.world", fmt::format("{}, expected 1 or more", spec.order.world));
  check_sources(spec);
  check_passes(spec);
  if (spec.order.rank < 0 || spec.order.rank >= spec.order.world)
    fail("order.rank",
         fmt::format("rank {} of world {}, expected 0 <= rank < world", spec.order.rank, spec.order.world));
  if (!(spec.errors.rate > 0 && spec.errors.rate <= 1))
    fail("errors.rate", fmt::format("{}, expected above 0 and at most 1", spec.errors.rate));
  const CacheSpec& cache = spec.cache;
  if (cache.what != CacheWhat::kNothing && (cache.limit_mb == 0 || cache.limit_mb > kMostMb))
    fail("cache.limit_mb", fmt::format("{}, expected 1 or more", cache.limit_mb));
  within("cache.after", cache.after, -1, 1024);
  if (cache.what == CacheWhat::kEncoded && cache.after >= 0)
    fail("cache.after", "encoded records are kept before any operation; leave it out, or keep pixels");
  if (cache.what == CacheWhat::kEncoded && !cache.folder.empty())
    fail("cache.folder", "encoded records are kept in memory; leave it out, or keep pixels");
  const auto each = [&](const char* node, const std::vector<OpSpec>& operations, const auto& make) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      try {
        (void)make(operations[i]);
      } catch (const EpochError& error) {
        fail(fmt::format("{}[{}] in epoch {}", node, i, error.epoch), error.what());
      } catch (const Error& error) {
        fail(fmt::format("{}[{}]", node, i), error.what());
      }
    }
  };
  const auto make_all = [&](const OpSpec& operation) { check_operation(operation); };
  each("operations", spec.operations, make_all);
  each("batch_operations", spec.batch_operations, make_batch_operation);
  for (const float mean : spec.output.normalisation.mean)
    if (!std::isfinite(mean)) fail("output.mean", fmt::format("{}, expected finite numbers", mean));
  for (const float stddev : spec.output.normalisation.stddev)
    if (!(stddev > 0 && std::isfinite(stddev)))
      fail("output.stddev", fmt::format("{}, expected above 0 and finite", stddev));
  try {
    const Storer storer(spec.output);
  } catch (const Error& error) {
    fail("output", error.what());
  }
}

bool size_follows_schedule(const PipelineSpec& spec) {
  // Of any input: those that keep sizes as they are tell by it, too.
  constexpr Size kAny{1000, 777};
  const auto output = [&](std::uint32_t epoch) {
    Size size = kAny;
    for (const OpSpec& operation : spec.operations)
      size = make_operation(at_epoch(operation, epoch))->output_size(size);
    return size;
  };
  const auto epochs = changing_epochs(spec.operations);
  return std::any_of(epochs.begin(), epochs.end(), [&](std::uint32_t epoch) { return output(epoch) != output(0); });
}

Plan make_plan(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, int usable_cores, Caches caches,
               OrderBasis basis, Consumer consumer, std::uint32_t epochs, bool grow, OnDevice on_device) {
  check_spec(spec);
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
  if (is_switched_off(plan.spec, kDeadFieldRemovalPass))
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
      plan.batch_operations.push_back(make_batch_operation(operation));
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
    if (is_switched_off(plan.spec, kCachePass)) plan.spec.cache = {};
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

namespace {

// What changes by schedules, a line for each epoch from which on it does, the first ones.
std::string explain_stages(const Plan& plan) {
  constexpr std::size_t kMostLines = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.later.size(), kMostLines); ++i) {
    const ChainStage& stage = plan.later[i];
    std::string changed;
    for (std::size_t k = 0; k < stage.specs.size(); ++k) {
      const OpSpec before = i == 0 ? at_epoch(plan.spec.operations[k], 0) : plan.later[i - 1].specs[k];
      if (stage.specs[k] == before) continue;
      OpParams params;
      for (const auto& [name, value] : stage.specs[k].params)
        if (value != before.params.at(name)) params[name] = value;
      changed += fmt::format("{}{}{}", changed.empty() ? "" : "; ", stage.specs[k].name, to_text(params));
    }
    text += fmt::format("schedule    from epoch {}: {}; samples of {}x{}\n", stage.from, changed,
                        stage.sizes.back().width, stage.sizes.back().height);
  }
  if (plan.later.size() > kMostLines)
    text += fmt::format("schedule    and {} changes more, the last from epoch {}\n", plan.later.size() - kMostLines,
                        plan.later.back().from);
  return text;
}

// How batches come to one size; a line each.
std::string explain_padding(const Plan& plan) {
  const BatchSpec& batch = plan.spec.batch;
  std::string text;
  if (batch.last == LastBatch::kPad)
    text += "last batch  of full size, its samples repeated; `valid` tells how many are its own\n";
  if (plan.padded)
    text += fmt::format("padding     with {} to {}\n", batch.pad.value,
                        batch.pad.to == PadTo::kLargest
                            ? "the largest height and width in a batch"
                            : fmt::format("{}x{}", plan.sample_size.width, plan.sample_size.height));
  if (batch.bucket.window > 0)
    text += plan.samples->sizes.empty()
                ? std::string("buckets     nothing to group: all samples have one size\n")
                : fmt::format(
                      "buckets     of similar sizes, within windows of {} samples; a resumed run arranges one anew\n",
                      batch.bucket.window);
  return text;
}

// What the device that the batches are for is asked to do, and that it is not done here.
std::string explain_device(const PipelineSpec& spec) {
  const DeviceSpec& device = spec.device;
  if (device.operations == OperationsOn::kHost)
    return fmt::format("device      {}, where to_torch() brings them\n", device.name);
  const std::size_t first = first_on_device(spec);
  std::string there = first == spec.operations.size()
                          ? "it normalises"
                          : fmt::format("operations from operations[{}] on are its own", first);
  if (device.decode != DecodeOn::kHost)
    there += fmt::format(", and it decodes by nvJPEG ({}), {}", to_string(device.decode),
                         device.decode_share ? fmt::format("{} of the files", *device.decode_share)
                                             : std::string("files by measured rates"));
  return fmt::format("device      {}: {}, by to_torch(); here the host makes whole batches\n", device.name, there);
}

}  // namespace

std::string explain(const Plan& plan) {
  std::string text = fmt::format("source      {}, {} samples, {}\n", plan.dataset->format(), plan.dataset->size(),
                                 plan.encoded ? "encoded images" : "pixels");
  text += explain_order(plan.spec, *plan.samples, plan.order.length());
  const auto size = [&](std::size_t i) { return fmt::format("{}x{}", plan.sizes[i].width, plan.sizes[i].height); };
  text += fmt::format("image       {}, the first that can be read\n", size(0));
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const OpSpec& operation = plan.spec.operations[i];
    text += "operation   " + operation.name + to_text(operation.params);
    text += fmt::format(": {} -> {}{}\n", size(i), size(i + 1), plan.operations[i]->random() ? ", random" : "");
  }
  text += explain_stages(plan);
  text += fmt::format("batch       {} x {}{}x{}, {} per epoch\n", plan.spec.batch.size,
                      plan.padded || largest_of_stages(plan) != plan.sizes.back() ? "up to " : "",
                      plan.sample_size.width, plan.sample_size.height, plan.order.batches_per_epoch());
  text += explain_padding(plan);
  for (const OpSpec& operation : plan.spec.batch_operations) {
    text += "on a batch  " + operation.name + to_text(operation.params) + '\n';
  }
  text += fmt::format("execution   {} threads, {} batches ahead, {} order{}\n", plan.spec.execution.threads,
                      plan.spec.execution.prefetch,
                      plan.spec.execution.order == ExecutionOrder::kExact ? "exact" : "relaxed",
                      plan.tuned ? "; to begin with, tuned while it runs" : "");
  if (plan.spec.device != DeviceSpec{}) text += explain_device(plan.spec);
  if (plan.memory.limit > 0) text += "memory      " + explain(plan.memory) + "\n";
  for (const auto& pass : plan.passes)
    text +=
        fmt::format("pass        {} ({}{}): {}; {}\n", pass.name, pass.exact ? "exact" : "approximate: ", pass.error,
                    pass.applied ? "applied" : "not applied", pass.reason);
  for (const DecodeNote& note : decode_notes(plan))
    text += fmt::format("decode      {}: {}; {}\n", note.name, note.value, note.reason);
  return text;
}

}  // namespace unstarve
