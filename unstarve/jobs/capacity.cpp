#include "unstarve/jobs/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/capacity/accelerator_group.h"
#include "unstarve/jobs/capacity/batch_feed.h"
#include "unstarve/jobs/ladder/core_users.h"
#include "unstarve/jobs/ladder/part_rates.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

// Shares of the time.
constexpr double kStorageTime = 0.08, kLoaderTime = 0.17, kEmulationTime = 0.12;
// Steps of one emulation in any case; the first one is not counted.
constexpr int kLeastEmulatedSteps = 5;
// Batches that are ready before they are needed, for each accelerator.
constexpr int kPrefetch = 2;
constexpr int kMostAccelerators = 512;  // the prefetch of a loader has an upper limit
// Of the available memory, for the prefetched batches of all accelerators.
constexpr double kMemoryForBatches = 0.5;
// Concurrent reads of raw samples: a disk delivers its full rate with some dozens.
constexpr int kRawThreads = 16;
constexpr std::size_t kTextWidth = 120;
constexpr double kDefaultUtilisation = 0.9;

// What differs between images and raw samples.
class CapacitySource {
 public:
  virtual ~CapacitySource() = default;
  // Measures storage and loader alone, for `seconds`.
  virtual void measure(double seconds, const Progress& progress, CapacityResult& result) = 0;
  [[nodiscard]] virtual std::unique_ptr<BatchFeed> feed(int prefetch) = 0;
  // Memory of a prefetched batch. Precondition: measure().
  [[nodiscard]] virtual std::uint64_t batch_memory() const { return 0; }
};

class ImageSource final : public CapacitySource {
 public:
  ImageSource(const PipelineSpec& pipeline, int batch, CapacityResult& result)
      : spec_(pipeline), dataset_(open_sources(pipeline)), device_(open_device("cpu")) {
    spec_.batch.size = batch;
    cores_ = read_topology().usable();
    // Autotuned threads and prefetch would change while they are measured.
    spec_.execution.prefetch = kPrefetch;
    const PlannedRun run = plan_run(with_full_batches(spec_, dataset_->size()), dataset_, {.usable_cores = cores_});
    spec_.execution.threads = run.execution.threads;
    result.data = name_of_sources(pipeline);
    result.format = dataset_->format();
    result.samples = dataset_->size();
    result.stored_bytes = dataset_->stored_bytes();
    result.figures.usable_cores = cores_;
  }

  void measure(double seconds, const Progress& progress, CapacityResult& result) override {
    const double both = kStorageTime + kLoaderTime;
    const int reads = dataset_->reads_in_flight();
    result.cached = reads == 0;  // before reading
    if (progress) progress("loader alone", 0.01);
    LoaderRate alone = loader_rate(spec_, dataset_, *device_, seconds * kLoaderTime / both, next_start());
    result.figures.loader = alone.samples_per_s;
    result.figures.loader_cores = std::min(alone.cores_busy, static_cast<double>(cores_));
    result.figures.delayed_cores = alone.cores_delayed;
    result.figures.stages = std::move(alone.stages);
    if (progress) progress("storage alone", kLoaderTime);
    Loader loader(with_full_batches(spec_, dataset_->size()), dataset_, *device_, {.check_data = false});
    loader.close();  // only its order and plan are used
    batch_memory_ = batch_bytes(loader.plan());
    result.storage_threads = std::max({cores_, reads, spec_.execution.threads, spec_.execution.read_ahead});
    const StorageRate storage =
        storage_rate(*dataset_, loader, seconds * kStorageTime / both, result.storage_threads, next_start());
    result.storage = storage.samples_per_s;
    result.storage_bytes_per_s = storage.bytes_per_s;
  }

  [[nodiscard]] std::unique_ptr<BatchFeed> feed(int prefetch) override {
    return std::make_unique<LoaderFeed>(spec_, dataset_, *device_, prefetch, next_start());
  }
  [[nodiscard]] std::uint64_t batch_memory() const override { return batch_memory_; }

 private:
  [[nodiscard]] EpochPosition next_start() { return start_of_measurement(spec_, dataset_->size(), measurements_++); }

  PipelineSpec spec_;
  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<Device> device_;
  int cores_ = 1;
  std::uint64_t batch_memory_ = 0;
  std::uint32_t measurements_ = 0;
};

class RawSource final : public CapacitySource {
 public:
  RawSource(const CapacityOptions& options, std::uint64_t sample_bytes, CapacityResult& result)
      : data_(list_raw_data(options.raw, sample_bytes)), batch_(result.demand.batch) {
    result.data = options.raw;
    result.format = "raw samples";
    result.samples = data_.samples;
    result.sample_bytes = static_cast<double>(data_.bytes) / static_cast<double>(data_.samples);
    // A file counts as one sample at least.
    if (result.sample_bytes < 0.5 * static_cast<double>(sample_bytes)) {
      throw Error(
          ErrorKind::kInput,
          fmt::format("read {} as raw samples: found {} files of {} on average; expected samples of {}. Pass the "
                      "size of a sample (--sample-bytes), or data with samples of that size.",
                      options.raw, data_.files.size(), format_bytes(data_.bytes / data_.files.size()),
                      format_bytes(sample_bytes)));
    }
    result.stored_bytes = data_.bytes;
    result.figures.usable_cores = read_topology().usable();
    const int requested = options.settings.pipeline.execution.threads;
    threads_ = requested > 0 ? requested : std::max(kRawThreads, result.figures.usable_cores);
    result.storage_threads = threads_;
  }

  void measure(double seconds, const Progress& progress, CapacityResult& result) override {
    if (progress) progress("storage alone", 0.01);
    result.cached = is_cached(data_);
    const std::int64_t cpu = process_cpu_ns();
    RawFeed feed(data_, batch_, kPrefetch, threads_, next_);
    std::int64_t batches = 0;
    const std::int64_t start = steady_clock().now_ns();
    do {
      (void)feed.take();
      ++batches;
    } while (steady_clock().now_ns() - start < static_cast<std::int64_t>(seconds * 1e9));
    const double wall = static_cast<double>(steady_clock().now_ns() - start);
    const double bytes = static_cast<double>(feed.bytes_read());
    result.figures.loader = result.storage = static_cast<double>(batches * batch_) * 1e9 / wall;
    result.figures.loader_cores = static_cast<double>(process_cpu_ns() - cpu) / wall;
    // There are more threads than cores.
    result.figures.delayed_cores = std::clamp(static_cast<double>(feed.run_delay_ns()) / wall, 0.0,
                                              std::max(result.figures.usable_cores - result.figures.loader_cores, 0.0));
    result.storage_bytes_per_s = bytes * 1e9 / wall;
    next_ = feed.next_block();
  }

  [[nodiscard]] std::unique_ptr<BatchFeed> feed(int prefetch) override {
    next_ += data_.blocks.size() / 7;  // other blocks than those of the measurement before
    return std::make_unique<RawFeed>(data_, batch_, prefetch, threads_, next_);
  }

 private:
  const RawData data_;
  const int batch_;
  int threads_ = kRawThreads;
  std::size_t next_ = 0;  // block
};

std::unique_ptr<CapacitySource> open_source_of(const CapacityOptions& options, const AcceleratorModel& model,
                                               CapacityResult& result) {
  if (options.raw.empty()) return std::make_unique<ImageSource>(options.settings.pipeline, result.demand.batch, result);
  const auto bytes = options.sample_bytes > 0 ? options.sample_bytes : static_cast<std::uint64_t>(model.sample_bytes);
  return std::make_unique<RawSource>(options, bytes, result);
}

// The largest number whose prefetched batches fit into the memory.
int most_accelerators(std::uint64_t batch_memory, std::uint64_t available) {
  if (batch_memory == 0 || available == 0) return kMostAccelerators;
  const double fit = kMemoryForBatches * static_cast<double>(available) / static_cast<double>(kPrefetch * batch_memory);
  return static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(kMostAccelerators)));
}

std::string name_of_ranks(const CapacityResult& r) {
  if (r.ranks == 1) return "each accelerator alone";
  return r.ranks == 0 ? "all accelerators wait for each other after every step"
                      : fmt::format("groups of {} accelerators wait for each other after every step", r.ranks);
}

// Whether other cores or another storage would change the rate as the model predicts: not if more threads are required,
// and not if other programs or the quota lowered the measured efficiency.
bool is_of_this_machine(CapacityLimit limit) {
  return limit != CapacityLimit::kThreads && limit != CapacityLimit::kOthers && limit != CapacityLimit::kQuota;
}

std::string accelerators_text(int count) { return fmt::format("{} accelerator{}", count, count == 1 ? "" : "s"); }

}  // namespace

bool is_image_workload(const std::string& accelerator, const std::string& workload) {
  return find_accelerator(accelerator, workload).images;
}

CapacityResult run_capacity(const CapacityOptions& options, const Progress& progress) {
  CapacityResult result;
  const double begin = seconds_now();
  const Progress report = [&](std::string_view what, double share) {
    const double now = seconds_now() - begin;
    if (!result.spans.empty()) result.spans.back().seconds = now - result.spans.back().begin_s;
    if (share < 1) result.spans.push_back({std::string(what), now});
    if (progress) progress(what, share);
  };
  const AcceleratorModel& model = find_accelerator(options.accelerator, options.workload);
  if (options.raw.empty() && !model.images)
    throw Error(
        ErrorKind::kArgument,
        fmt::format("workload {}: its samples are not images; expected raw samples. Pass --raw, which reads the "
                    "files of DATA without decoding them",
                    options.workload));
  result.accelerator = model.name;
  result.workload_sample_bytes = model.sample_bytes;
  const double required = model.min_utilisation > 0 ? model.min_utilisation : kDefaultUtilisation;
  const int batch = options.batch > 0 ? options.batch : model.batch;
  const double step_s = static_cast<double>(EmulatedAccelerator(model, batch).step_ns()) / 1e9;
  result.demand = {batch, step_s, options.min_utilisation > 0 ? options.min_utilisation : required};
  result.ranks = options.ranks;
  const MachineFacts machine = read_machine_facts();
  result.memory_bytes = machine.memory_limit_bytes > 0 ? machine.memory_limit_bytes : machine.memory_bytes;

  CoreUsers core_users;
  report("opening the data", 0);
  const auto source = open_source_of(options, model, result);
  source->measure(options.seconds * (kStorageTime + kLoaderTime), report, result);
  // The page cache is no limit of the storage. The loader reads too, so the storage delivers at least its rate.
  if (!result.cached) result.figures.storage = std::max(result.storage, result.figures.loader);
  result.estimate = estimate_accelerators(result.figures.loader, result.demand);

  const double each_s = std::max(options.seconds * kEmulationTime, kLeastEmulatedSteps * step_s);
  double share = kStorageTime + kLoaderTime;
  const auto emulate = [&](int accelerators, int ranks) {
    report(fmt::format("emulating {}", accelerators_text(accelerators)), share);
    share += (1 - share) * 0.3;  // how many follow is not known
    const auto feed = source->feed(kPrefetch * accelerators);
    const AcceleratorGroup group{accelerators, ranks == 0 ? accelerators : ranks, each_s, batch};
    EmulatedAccelerators& run = result.emulations.emplace_back();
    run = {accelerators, ranks != options.ranks, run_accelerators(model, group, *feed)};
    const auto origin = static_cast<std::int64_t>(begin * 1e9);
    for (AcceleratorStep& step : run.use.recorded)
      for (std::int64_t* const time : {&step.begin_ns, &step.ready_ns, &step.computed_ns, &step.end_ns})
        *time -= origin;
    return run.use.utilisation;
  };
  result.most = most_accelerators(source->batch_memory(), machine.memory_available_bytes);
  result.search = search_capacity(result.estimate, result.most, result.demand.min_utilisation,
                                  [&](int accelerators) { return emulate(accelerators, options.ranks); });
  const int shown = std::max(1, result.search.fed);
  if (options.ranks != 1 && shown > 1) result.utilisation_independent = emulate(shown, 1);

  core_users.finish(result.figures);
  result.verdict = judge_capacity(result.figures, result.demand, result.search.fed, result.most);
  if (is_of_this_machine(result.verdict.limit)) {
    result.what_if = what_if(result.figures, result.demand);
    result.cores_needed = cores_needed(result.figures, result.demand, result.search.fed + 1);
  }
  result.seconds = seconds_now() - begin;
  report("done", 1);
  return result;
}

std::string sample_size_note(const CapacityResult& r) {
  constexpr double kTenth = 0.1;
  if (r.sample_bytes <= 0 || std::abs(r.sample_bytes / r.workload_sample_bytes - 1) <= kTenth) return "";
  const auto text = [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); };
  return fmt::format("a sample has {}, one of the workload {}", text(r.sample_bytes), text(r.workload_sample_bytes));
}

std::string to_text(const CapacityResult& r) {
  const BenchFigures& f = r.figures;
  const CapacityDemand& d = r.demand;
  std::string text;
  const auto row = [&](const char* name, const std::string& what) {
    text += fmt::format("  {:<12} {}\n", name, wrap(what, kTextWidth, 15));
  };
  const std::string samples = fmt::format("{} {}", d.batch, d.batch == 1 ? "sample" : "samples");
  const std::string size = r.stored_bytes > 0 ? ", " + format_bytes(r.stored_bytes) : "";
  row("data", fmt::format("{}: {}, {} samples{}", printable(r.data), r.format, r.samples, size));
  row("accelerator", fmt::format("{}: {} per step of {:.4g} ms, utilisation of at least {:.0f} %", r.accelerator,
                                 samples, 1e3 * d.step_s, 100 * d.min_utilisation));
  row("ranks", name_of_ranks(r));
  row("storage", fmt::format("{} samples/s, {}/s, {} threads", format_rate(r.storage),
                             format_bytes(static_cast<std::uint64_t>(r.storage_bytes_per_s)), r.storage_threads));
  row("loader",
      fmt::format("{} samples/s, {:.1f} of {} cores busy", format_rate(f.loader), f.loader_cores, f.usable_cores));
  row("estimate",
      fmt::format("{} samples/s / ({} / {:.4g} ms x {:.2f}) = {:.2f} accelerators", format_rate(f.loader), samples,
                  1e3 * d.step_s, d.min_utilisation, d.samples_per_s() > 0 ? f.loader / d.samples_per_s() : 0));
  for (const auto& [number, utilisation] : r.search.utilisation)
    row("emulated", fmt::format("{}: utilisation {:.1f} %{}", accelerators_text(number), 100 * utilisation,
                                utilisation >= d.min_utilisation ? "" : ", too low"));
  if (r.utilisation_independent > 0)
    row("", fmt::format("{} that do not wait for each other: {:.1f} %", accelerators_text(std::max(1, r.search.fed)),
                        100 * r.utilisation_independent));
  row("result", fmt::format("this host feeds {}{}{}", r.search.fed == r.most ? "at least " : "",
                            accelerators_text(r.search.fed), r.search.fed == r.most ? "; more were not emulated" : ""));
  row("limit", r.verdict.sentence);
  if (!r.cores_needed.empty()) row("cores", r.cores_needed);
  if (!r.what_if.empty()) row("model", model_text(f));
  if (r.verdict.limit == CapacityLimit::kOthers || r.verdict.limit == CapacityLimit::kQuota)
    row("what if", "not predicted: the loader lacked cores, so its rate per core is not known");
  for (const WhatIf& entry : r.what_if)
    row("what if", fmt::format("{}: {} samples/s, {}", entry.change, format_rate(entry.samples_per_s),
                               accelerators_text(entry.fed)));
  if (const std::string note = sample_size_note(r); !note.empty()) row("note", note);
  if (r.cached) {
    row("note",
        fmt::format("the data is in the page cache or generated, so no disk was measured; to measure it, use data "
                    "larger than the memory, {}",
                    format_bytes(r.memory_bytes)));
  }
  return text;
}

std::string to_json(const CapacityResult& r) {
  nlohmann::ordered_json json, utilisation = nlohmann::ordered_json::object(), changes = nlohmann::json::array();
  for (const auto& [number, value] : r.search.utilisation) utilisation[std::to_string(number)] = value;
  for (const WhatIf& entry : r.what_if) {
    changes.push_back({{"change", entry.change},
                       {"samples_per_s", entry.samples_per_s},
                       {"fed", entry.fed},
                       {"arithmetic", entry.arithmetic}});
  }
  json["data"] = r.data;
  json["format"] = r.format;
  json["samples"] = r.samples;
  json["sample_bytes"] = r.sample_bytes > 0 ? nlohmann::ordered_json(r.sample_bytes) : nlohmann::ordered_json();
  json["workload_sample_bytes"] = r.workload_sample_bytes;
  json["accelerator"] = r.accelerator;
  json["batch"] = r.demand.batch;
  json["step_s"] = r.demand.step_s;
  json["min_utilisation"] = r.demand.min_utilisation;
  json["ranks"] = r.ranks;
  json["storage"] = r.storage;
  json["storage_bytes_per_s"] = r.storage_bytes_per_s;
  json["cached"] = r.cached;
  json["loader"] = r.figures.loader;
  json["loader_cores"] = r.figures.loader_cores;
  json["usable_cores"] = r.figures.usable_cores;
  json["other_cores"] = r.figures.other_cores;
  json["estimate"] = r.estimate;
  json["most"] = r.most;
  json["fed"] = r.search.fed;
  json["utilisation"] = std::move(utilisation);
  json["utilisation_independent"] =
      r.utilisation_independent > 0 ? nlohmann::ordered_json(r.utilisation_independent) : nlohmann::ordered_json();
  json["emulations"] = nlohmann::json::array();
  for (const auto& [accelerators, independent, use] : r.emulations) {
    json["emulations"].push_back({{"accelerators", accelerators},
                                  {"independent", independent},
                                  {"utilisation", use.utilisation},
                                  {"lowest", use.lowest},
                                  {"samples_per_s", use.samples_per_s},
                                  {"steps", use.steps},
                                  {"computed_s", use.computed_s},
                                  {"data_wait_s", use.data_wait_s},
                                  {"job_wait_s", use.job_wait_s}});
  }
  json["limit"] = to_string(r.verdict.limit);
  json["verdict"] = r.verdict.sentence;
  json["cores_needed"] = r.cores_needed;
  json["what_if"] = std::move(changes);
  json["seconds"] = r.seconds;
  return json_text(json);
}

}  // namespace unstarve
