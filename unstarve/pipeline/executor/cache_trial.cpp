#include "unstarve/pipeline/executor/cache_trial.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/autotune/choose_cache.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/pipeline/plan/pixel_cache_file.h"

namespace unstarve {
namespace {

// Records are read for this time, but at least this many.
constexpr std::int64_t kEnoughNs = 30'000'000;
constexpr std::size_t kLeastTrialSamples = 3;
// Bookkeeping of a cache per sample, including its values.
constexpr double kTablePerSample = 100;
// The share of the available memory that a cache may use.
constexpr double kMemoryPart = 0.5;

double seconds_since(std::int64_t start_ns) { return static_cast<double>(steady_clock().now_ns() - start_ns) * 1e-9; }

// A dataset of some records of another one, in memory.
class TrialSet final : public Dataset {
 public:
  explicit TrialSet(std::shared_ptr<const Dataset> from) : from_(std::move(from)) {}

  [[nodiscard]] std::string format() const override { return from_->format(); }
  [[nodiscard]] std::uint64_t size() const override { return records_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return from_->fields(); }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return from_->classes(); }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    return from_->record_location(ids_[id]);
  }
  void read(std::uint64_t id, RecordBuffer& record) const override { record.values = records_[id].values; }

  // Stores a copy. Throws if a mapped file was truncated.
  void keep(std::uint64_t id, const RecordBuffer& record) {
    RecordBuffer copy;
    std::size_t bytes = 0;
    for (const Value& value : record.values) bytes += value.bytes.size();
    copy.storage.reserve_discard(bytes);
    std::uint8_t* memory = copy.storage.data();
    copy.values = record.values;
    for (Value& value : copy.values) {
      if (value.bytes.empty()) continue;
      std::memcpy(memory, value.bytes.data(), value.bytes.size());
      check_map(value.bytes);
      value.bytes = {memory, value.bytes.size()};
      memory += value.bytes.size();
    }
    bytes_ += bytes;
    ids_.push_back(id);
    records_.push_back(std::move(copy));
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const Dataset> from_;
  std::vector<std::uint64_t> ids_;
  std::vector<RecordBuffer> records_;
  std::uint64_t bytes_ = 0;
};

// Per record, in seconds.
struct ReadTimes {
  double first = 0;
  double again = 0;
  double again_cpu = 0;
};

ReadTimes read_some(const RunData& data, std::uint64_t room, TrialSet& records) {
  const std::uint64_t samples = data.samples->size(), most = std::min(samples, kTrialSamples);
  const std::uint64_t stride = most == kTrialSamples ? 7 : 1;  // so that the first few are spread too
  ReadTimes times;
  RecordBuffer record;
  const std::int64_t start = steady_clock().now_ns();
  for (std::uint64_t i = 0; i < most; ++i) {
    if (records.size() >= kLeastTrialSamples && steady_clock().now_ns() - start > kEnoughNs) break;
    const std::uint64_t id = data.samples->id(i * stride % most * samples / most);
    try {
      const std::int64_t first_ns = steady_clock().now_ns();
      data.dataset->read(id, record);
      records.keep(id, record);  // reads mapped pages
      times.first += seconds_since(first_ns);
      const std::int64_t cpu_ns = thread_cpu_ns(), again_ns = steady_clock().now_ns();
      data.dataset->read(id, record);
      times.again += seconds_since(again_ns);
      times.again_cpu += static_cast<double>(thread_cpu_ns() - cpu_ns) * 1e-9;
    } catch (const Error&) {
      continue;  // the error policy handles it during the run
    }
    if (records.bytes() > room) break;
  }
  const double count = static_cast<double>(std::max<std::uint64_t>(records.size(), 1));
  return {times.first / count, times.again / count, times.again_cpu / count};
}

// The same operations over the trial's records, one sample at a time.
struct TrialRun {
  Plan plan;
  Resources resources;
};

std::unique_ptr<TrialRun> trial_run(const CacheTrial& of, std::shared_ptr<const TrialSet> records,
                                    const CacheSpec& cache, const RunOptions& run) {
  const Plan& plan = of.plan;
  PipelineSpec spec;
  spec.order.seed = plan.spec.order.seed;
  spec.decode = plan.spec.decode;
  spec.cache = cache;
  spec.operations = plan.spec.operations;
  spec.output = plan.spec.output;
  spec.passes = plan.spec.passes;
  spec.batch.size = 1;
  spec.execution.threads = 1;
  spec.execution.read_ahead = 0;
  RunOptions alone;
  alone.consumer = run.consumer;
  PlannedRun planned = plan_run(std::move(spec), std::move(records), alone);
  auto trial = std::make_unique<TrialRun>();
  trial->plan = std::move(planned.plan);
  trial->plan.store().sizes = SampleSizes::kAny;
  trial->resources = open_resources(trial->plan, planned.execution, planned.data);
  if (of.execution.memory.limit > 0)
    trial->resources.larger_images = std::make_shared<ImageMemory>(of.execution.memory);
  return trial;
}

// The time of each sample, in seconds; of the fastest of `rounds`. A failed sample takes 0.
std::vector<double> times_of(const TrialRun& trial, int rounds) {
  SampleProgram program(trial.plan, trial.resources);
  AlignedBytes pixels;
  std::vector<double> times(trial.plan.facts.records, 0);
  for (int round = 0; round < rounds; ++round)
    for (std::uint64_t id = 0; id < times.size(); ++id) {
      StageTotals totals;
      const std::int64_t start = steady_clock().now_ns();
      try {
        (void)program.make({id, 0}, totals, false);
      } catch (const Error&) {
        continue;
      }
      pixels.reserve_discard(std::max<std::size_t>(program.output_bytes(), 1));
      program.store(pixels.data(), totals, false);
      const double seconds = seconds_since(start);
      times[id] = round == 0 ? seconds : std::min(times[id], seconds);
    }
  return times;
}

double mean(const std::vector<double>& times) {
  double sum = 0, count = 0;
  for (const double time : times) {
    sum += time;
    count += time > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 0;
}

// Bytes that the cache file may use; an existing file has them already.
double file_room(const Plan& plan) {
  const std::filesystem::path file = pixel_cache_file(plan).path;
  std::filesystem::path folder = file.parent_path();
  std::error_code missing;
  while (!std::filesystem::exists(folder, missing) && folder.has_relative_path()) folder = folder.parent_path();
  if (folder.empty()) folder = ".";
  const std::filesystem::space_info space = std::filesystem::space(folder, missing);
  if (missing) return 0;  // opening the cache reports why
  return std::filesystem::exists(file, missing) ? std::numeric_limits<double>::infinity()
                                                : static_cast<double>(space.available);
}

// Positions before the last one, the fewest pixels first.
std::vector<int> earlier_positions(const Plan& plan) {
  if (plan.spec.cache.after >= 0) return {};
  const std::vector<Size>& sizes = plan.stages[0].sizes;
  const auto pixels = [&](std::size_t i) { return std::int64_t{sizes[i].width} * sizes[i].height; };
  std::vector<int> positions;
  const std::size_t last = pixel_cache_file(plan).operations;
  std::int64_t fewest = pixels(last);
  for (std::size_t i = last; i-- > 0;) {
    if (pixels(i) >= fewest) continue;
    fewest = pixels(i);
    positions.insert(positions.begin(), static_cast<int>(i));
  }
  return positions;
}

autotune::CacheProfile measure(const CacheTrial& trial, const RunOptions& run) {
  const Plan& plan = trial.plan;
  const CacheSpec& cache = plan.spec.cache;
  const double requested = static_cast<double>(cache.limit_mb) * 1e6;
  const double available = kMemoryPart * static_cast<double>(read_machine_facts().memory_available_bytes);
  const MemoryPlan& memory = trial.execution.memory;
  const bool limited = memory.limit > 0;
  autotune::CacheProfile profile;
  profile.samples = static_cast<double>(plan.facts.samples);
  profile.epoch_samples = static_cast<double>(trial.batches_per_epoch) * plan.spec.batch.size;
  profile.epochs = static_cast<int>(std::min<std::uint32_t>(run.epochs, std::numeric_limits<int>::max()));
  profile.memory_bytes = limited ? static_cast<double>(memory.cache) : std::min(requested, available);
  if (!cache.folder.empty()) profile.file_bytes = std::min({requested, available, file_room(plan)});
  if (autotune::repeated_share(profile.samples, profile.epoch_samples, profile.epochs) <= 0) return profile;

  const auto records = std::make_shared<TrialSet>(trial.data.dataset);
  const std::uint64_t room = limited ? std::min<std::uint64_t>(kTrialBytes, memory.cache / 2) : kTrialBytes;
  const ReadTimes read = read_some(trial.data, room, *records);
  if (records->size() == 0) return profile;
  const auto count = static_cast<double>(records->size());
  const double record_bytes = static_cast<double>(records->bytes()) / count;
  const int reads =
      std::max(1, plan.spec.execution.read_ahead >= 0 ? plan.spec.execution.read_ahead : plan.facts.reads_in_flight);
  const double met_s = record_bytes * profile.samples <= available ? read.again : std::max(read.first, read.again);
  const double read_s = std::max(met_s / reads, std::min(met_s, read.again_cpu));

  const auto plain = trial_run(trial, records, {}, run);
  const std::vector<double> plain_times = times_of(*plain, 2);
  const double made_s = mean(plain_times);
  if (!(made_s > 0)) return profile;
  profile.sample_s = read_s + made_s;
  profile.encoded = {made_s, profile.sample_s, 0, record_bytes + kTablePerSample};  // inserting is a copy
  if (decode_step(plain->plan)->reduction == Reduction::kAllowed || room < 1'000'000) return profile;
  const auto full = trial_run(trial, records, {CacheWhat::kPixels, "", 1}, run);
  full->resources.pixel_cache =
      open_pixel_store({}, "", records->size(), 1);  // one page, too small for nearly every sample
  const double whole_s = mean(times_of(*full, 2));
  const auto made = std::count_if(plain_times.begin(), plain_times.end(), [](double time) { return time > 0; });
  const auto cost_of = [&](int after) -> autotune::CacheCost {
    const auto kept = trial_run(trial, records, {CacheWhat::kPixels, "", room / 1'000'000, after}, run);
    const double filling_s = mean(times_of(*kept, 1));
    const CacheCounts counts = kept->resources.pixel_cache->counts();
    if (counts.records < static_cast<std::uint64_t>(made)) return {};  // no room even for these
    return {mean(times_of(*kept, 2)), read_s + whole_s, std::max(0.0, filling_s - whole_s),
            static_cast<double>(counts.bytes) / static_cast<double>(counts.records) + kTablePerSample};
  };
  profile.pixels = cost_of(cache.after);
  for (const int after : earlier_positions(plan)) profile.earlier.push_back({after, cost_of(after)});
  return profile;
}

}  // namespace

CacheDecision decide_cache(const CacheTrial& trial, const RunOptions& run) {
  if (!trial.plan.facts.encoded) return {{}, "samples are stored as pixels and need no cache"};
  CacheSpec cache = trial.plan.spec.cache;
  const autotune::CacheProfile profile = measure(trial, run);
  autotune::CacheChoice choice = autotune::choose_cache(profile);
  const auto memory_mb = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(profile.memory_bytes / 1e6));
  switch (choice.tier) {
    case autotune::CacheTier::kNone: cache = {}; break;
    case autotune::CacheTier::kEncoded: cache = {CacheWhat::kEncoded, "", memory_mb}; break;
    case autotune::CacheTier::kPixels:
      cache = {CacheWhat::kPixels, "", memory_mb, choice.after < 0 ? cache.after : choice.after};
      break;
    case autotune::CacheTier::kFile:
      cache.what = CacheWhat::kPixels;
      if (choice.after >= 0) cache.after = choice.after;
      break;
  }
  return {std::move(cache), std::move(choice.reason)};
}

}  // namespace unstarve
