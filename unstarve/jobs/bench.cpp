#include "unstarve/jobs/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/statistics.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/bench_plan.h"
#include "unstarve/jobs/ladder/core_users.h"
#include "unstarve/jobs/ladder/ladder_time.h"
#include "unstarve/jobs/ladder/part_rates.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

// The first step on the host is the only one for warming up if this many do not fit.
constexpr double kWarmUpSteps = 4;
// Shares of the time of one round.
constexpr double kStorageShare = 0.08, kLoaderShare = 0.27, kCopyShare = 0.05, kNetworkShare = 0.25,
                 kTogetherShare = 0.35;

std::int64_t after(double seconds) { return steady_clock().now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

double per_second(std::int64_t count, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
}

// Copies one batch to the device repeatedly. On the host the destination rotates over more memory than the caches hold,
// because device memory would not be cached either.
class CopyMeter {
 public:
  // Takes a batch, and touches the memory for `seconds`, of which as much is used: page faults take longer than copies.
  CopyMeter(Rig& rig, double seconds) : rig_(rig), stream_(rig.device().make_stream()) {
    const Batch batch = next_batch();
    const std::size_t bytes = batch.pixel_bytes();
    targets_ = rig.device().is_host() ? std::clamp<std::size_t>(beyond_caches() / bytes, 1, 64) : 2;
    target_ = rig.device().allocate(bytes * targets_);
    const std::int64_t deadline = after(seconds);
    std::size_t touched = 0;
    while (touched < targets_ && (touched == 0 || steady_clock().now_ns() < deadline)) {
      copy(batch, bytes);
      ++touched;
    }
    targets_ = touched;
    next_ = 0;
    stream_->synchronise();
  }

  // Samples per second.
  double measure(double seconds, double& gb_per_s) {
    const Batch batch = next_batch();
    const std::size_t bytes = batch.pixel_bytes();
    std::int64_t samples = 0, copied = 0;
    const std::int64_t start = steady_clock().now_ns(), deadline = after(seconds);
    do {
      for (int i = 0; i < kCopiesPerLook; ++i) copy(batch, bytes);
      stream_->synchronise();
      samples += static_cast<std::int64_t>(batch.samples() * kCopiesPerLook);
      copied += static_cast<std::int64_t>(bytes * kCopiesPerLook);
    } while (steady_clock().now_ns() < deadline);
    const std::int64_t wall = steady_clock().now_ns() - start;
    gb_per_s = static_cast<double>(copied) / static_cast<double>(wall);
    return per_second(samples, wall);
  }

 private:
  static constexpr int kCopiesPerLook = 2;
  static std::size_t beyond_caches() {
    constexpr long kMegabyte = 1 << 20;
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or less: unknown
    return static_cast<std::size_t>(
        std::clamp(cache > 0 ? 2 * cache : 256 * kMegabyte, 32 * kMegabyte, 256 * kMegabyte));
  }
  Batch next_batch() {
    std::optional<Batch> batch = rig_.loader().next();
    if (!batch) throw Error(ErrorKind::kCancelled, "the loader was closed");
    return std::move(*batch);
  }
  void copy(const Batch& batch, std::size_t bytes) {
    rig_.device().copy_to_device(target_->data() + next_ * bytes, batch.pixels(), bytes, *stream_);
    next_ = (next_ + 1) % targets_;
  }

  Rig& rig_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Memory> target_;
  std::size_t targets_ = 0, next_ = 0;
};

// Samples the stages of a loader while it exists.
class StageSampler {
 public:
  // `origin_s`: of seconds_now(), is 0 in `counter`, to which points are added.
  StageSampler(const Loader& loader, double origin_s, RecordedCounter& counter)
      : thread_([&loader, origin_s, &counter](const std::stop_token& stop) {
          constexpr auto kInterval = std::chrono::milliseconds(100);
          double before_s = seconds_now();
          std::vector<StageProfile> before = loader.profile().stages;
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any never;
          while (!never.wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
            const double now_s = seconds_now();
            std::vector<StageProfile> now = loader.profile().stages;
            add(before, now, now_s - before_s, before_s - origin_s, counter);
            before = std::move(now);
            before_s = now_s;
          }
          if (!counter.parts.empty())
            counter.points.push_back({before_s - origin_s, std::vector<double>(counter.parts.size())});
        }) {}

 private:
  static void add(const std::vector<StageProfile>& before, const std::vector<StageProfile>& now, double seconds,
                  double begin_s, RecordedCounter& counter) {
    RecordedCounter::Point point{begin_s, {}};
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].name == "wait") continue;  // of the consumer
      const auto busy_ns = static_cast<double>(now[i].busy_ns - (i < before.size() ? before[i].busy_ns : 0));
      parts.push_back(now[i].name);
      point.values.push_back(std::max(0.0, 1e-9 * busy_ns / seconds));  // busy_ns is an estimate
    }
    if (counter.points.empty()) counter.parts = std::move(parts);
    if (point.values.size() == counter.parts.size()) counter.points.push_back(std::move(point));
  }

  std::jthread thread_;
};

// One benchmark: first_step(), warm_up(), measure(), result().
// Of loader, copies and accelerator together.
struct JointRuns {
  std::int64_t samples = 0, wall_ns = 0;
  double cpu_ns = 0;
  std::vector<double> wait, cores, busy;  // of each round; `cores`: of the loader alone
};

class BenchRun {
 public:
  BenchRun(const BenchOptions& options, const Progress& progress)
      : options_(options),
        progress_(progress),
        dataset_(open_sources(options.settings.pipeline)),
        seconds_(options.seconds) {
    figures().usable_cores = read_topology().usable();  // before the rig divides them
    rig_.emplace(options.settings, dataset_, options.target);
    result_.data = name_of_sources(options.settings.pipeline);
    result_.format = dataset_->format();
    result_.settings = options.settings;
    result_.settings.pipeline.execution.threads = rig_->loader().threads();
    result_.target = options.target;
    result_.nominal_step_ns = rig_->nominal_step_ns();
    result_.stages.name = "busy worker threads by stage";
  }

  void first_step() {
    show("warming up");
    begin_s_ = seconds_now();
    rig_->step();
    result_.step_s = elapsed();
  }

  // The batch size of which a round fits, if the steps on the host are too slow.
  [[nodiscard]] std::optional<int> smaller_batch() {
    if (!options_.may_reduce_batch || !rig_->trainer() || !rig_->device().is_host()) return std::nullopt;
    const int batch = options_.settings.pipeline.batch.size;
    const int fits = batch_that_fits(batch, result_.step_s, seconds_, kLeastRoundSteps);
    return fits < batch ? std::optional(fits) : std::nullopt;
  }

  void warm_up() {
    if (rig_->trainer() && !rig_->device().is_host()) {
      rig_->warm_up();
      result_.step_s = rig_->run(0, 1).step_ms() / 1e3;
      seconds_ += elapsed();
    } else if (kWarmUpSteps * result_.step_s < seconds_) {
      result_.step_s = rig_->run(0, 1).step_ms() / 1e3;  // the first step takes longer
    }
    copies_.emplace(*rig_, kCopyShare * options_.seconds);
    result_.spans.push_back({"warming up", 0, elapsed()});
  }

  void measure() {
    RoundPlan plan(seconds_, elapsed(), result_.step_s);
    while (const std::optional<double> slice = plan.next(elapsed())) run_round(*slice);
    while (contradicts(figures())) {
      const std::optional<double> slice = plan.further(elapsed());
      if (!slice) break;
      run_round(*slice);
    }
  }

  BenchResult result() {
    for (StepParts& step : result_.steps) step.begin_ns -= static_cast<std::int64_t>(begin_s_ * 1e9);
    figures().data_wait = median(joint_.wait);
    figures().utilisation = median(joint_.busy);
    figures().loader_cores = median(joint_.cores);
    result_.seconds = elapsed();
    core_users_.finish(figures());
    result_.verdict = judge_bench(figures());
    set_profile();
    return std::move(result_);
  }

 private:
  [[nodiscard]] BenchFigures& figures() { return result_.figures; }
  [[nodiscard]] double elapsed() const { return seconds_now() - begin_s_; }
  void show(std::string_view what) {
    if (progress_) progress_(what, begin_s_ > 0 ? std::min(elapsed() / seconds_, 0.99) : 0);
  }

  // The rig has start 0.
  [[nodiscard]] EpochPosition next_start() {
    return start_of_measurement(options_.settings.pipeline, dataset_->size(), ++measurements_);
  }

  // Measures every part alone, then all together.
  void run_round(double slice) {
    ++result_.rounds;
    BenchRounds& rates = result_.rates;
    const PipelineSpec& pipeline = options_.settings.pipeline;
    measure_part("storage alone", rates.storage, [&] {
      return storage_rate(*dataset_, rig_->loader(), slice * kStorageShare, 1, next_start()).samples_per_s;
    });
    measure_part("loader alone", rates.loader, [&] {
      const CpuSplit::LoaderScope cpus(rig_->cpu_split());
      LoaderRate alone = loader_rate(pipeline, dataset_, rig_->device(), slice * kLoaderShare, next_start());
      joint_.cores.push_back(alone.cores_busy);
      figures().stages = std::move(alone.stages);
      return alone.samples_per_s;
    });
    measure_part("copy alone", rates.copy, [&] { return copies_->measure(slice * kCopyShare, result_.copy_gb_per_s); });
    measure_part("network alone", rates.network,
                 [&] { return rig_->run_resident(slice * kNetworkShare, 1).samples_per_s(); });
    measure_part("all together", rates.together, [&] { return run_together(slice * kTogetherShare); });
    figures().storage = median(rates.storage);
    figures().loader = median(rates.loader);
    figures().copy = median(rates.copy);
    figures().network = median(rates.network);
    figures().together = median(rates.together);
  }

  // Adds the rate of a part, and its span.
  template <class Measure>
  void measure_part(const char* what, std::vector<double>& rates, const Measure& rate_of) {
    show(what);
    const double begin = elapsed();
    rates.push_back(rate_of());
    result_.spans.push_back(
        {what, begin, elapsed() - begin, {{"round", result_.rounds}, {"samples_per_s", rates.back()}}});
  }

  // Samples per second.
  double run_together(double seconds) {
    if (rig_->trainer()) rig_->trainer()->enable_timing(true);
    // The untimed steps of Rig::run() are part of the time.
    const double untimed = result_.step_s * (rig_->settings().pipeline.execution.prefetch + 1);
    const std::int64_t cpu_before = process_cpu_ns();
    const Block block = [&] {
      const StageSampler sampler(rig_->loader(), begin_s_, result_.stages);
      return rig_->run(std::max(seconds - untimed, seconds / 2), 1, &result_.steps, result_.step_s < seconds);
    }();
    joint_.cpu_ns += static_cast<double>(process_cpu_ns() - cpu_before);
    if (rig_->trainer()) rig_->trainer()->enable_timing(false);
    joint_.wait.push_back(static_cast<double>(block.wait_ns) / static_cast<double>(block.wall_ns));
    joint_.busy.push_back(std::min(1.0, block.utilisation()));
    joint_.samples += block.samples;
    joint_.wall_ns += block.wall_ns;
    return block.samples_per_s();
  }

  // The profile of the joint runs.
  void set_profile() {
    Profile& profile = result_.profile;
    profile = rig_->loader().profile();
    profile.wall_ns = joint_.wall_ns;
    profile.samples = joint_.samples;
    profile.batches = static_cast<std::int64_t>(result_.steps.size());
    profile.cpu_cores_busy = joint_.cpu_ns / static_cast<double>(joint_.wall_ns);
    profile.step = summarise(result_.steps);
    profile.utilisation = utilisation_over_time(result_.steps, rig_->nominal_step_ns());
  }

  const BenchOptions& options_;
  const Progress& progress_;
  const std::shared_ptr<const Dataset> dataset_;
  double seconds_;  // of warm-up and rounds
  CoreUsers core_users_;
  std::optional<Rig> rig_;
  std::optional<CopyMeter> copies_;
  double begin_s_ = 0;              // of the warm-up; 0: before it
  std::uint32_t measurements_ = 0;  // of storage and loader: each begins with other samples
  BenchResult result_;
  JointRuns joint_;
};

}  // namespace

BenchResult run_bench(const BenchOptions& options, const Progress& progress) {
  notify_done_on_host(options.settings.pipeline);
  if (progress) progress("opening the data", 0);
  std::optional<BenchRun> run(std::in_place, options, progress);
  run->first_step();
  if (const std::optional<int> batch = run->smaller_batch()) {
    run.reset();
    BenchOptions smaller = options;
    set_batch(smaller.settings, *batch);
    smaller.may_reduce_batch = false;
    BenchResult reduced = run_bench(smaller, progress);
    reduced.reduced_from = options.settings.pipeline.batch.size;
    return reduced;
  }
  run->warm_up();
  run->measure();
  BenchResult result = run->result();
  if (progress) progress("done", 1);
  return result;
}

std::string to_text(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  std::string text;
  const auto row = [&](const char* name, const std::string& what, double rate, const std::string& more) {
    text += fmt::format("  {:<12} {:<24} {} samples/s  {}\n", name, what, pad_left(format_rate(rate), 10), more);
  };
  row("storage", "reading, one thread", f.storage, "");
  row("loader", "read to batch", f.loader, fmt::format("{:.1f} of {} cores busy", f.loader_cores, f.usable_cores));
  row("copy", r.target.cuda() ? (r.settings.pipeline.execution.pinned ? "pinned" : "pageable") : "within the host",
      f.copy, fmt::format("{:.1f} GB/s", r.copy_gb_per_s));
  row(r.target.emulated() ? "accelerator" : "network", r.target.emulated() ? r.target.name : "resident batch",
      f.network, "");
  row("together", "", f.together,
      fmt::format("overlap {}, utilisation {:.1f} %, data wait {:.1f} %",
                  contradicts(f) ? "-" : fmt::format("{:.1f} %", 100 * r.verdict.overlap), 100 * f.utilisation,
                  100 * f.data_wait));
  text += "  verdict      " + r.verdict.sentence + "\n";
  if (r.reduced_from > 0)
    text += fmt::format(
        "  note         {} samples per step instead of {}, which are too slow for --seconds; --batch {} measures "
        "those\n",
        r.settings.pipeline.batch.size, r.reduced_from, r.reduced_from);
  if (r.rounds < kBenchRounds)
    text += fmt::format(
        "  note         a step takes {:.2g} s: {} of {} rounds, in {:.0f} s. Use a smaller --batch or a longer "
        "--seconds.\n",
        r.step_s, r.rounds, kBenchRounds, r.seconds);
  return text;
}

std::string to_json(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  nlohmann::ordered_json json;
  json["data"] = r.data;
  json["format"] = r.format;
  json["device"] = r.target.name;
  json["model"] = r.target.emulated() ? r.target.accelerator() : r.settings.train.model;
  json["batch"] = r.settings.pipeline.batch.size;
  if (r.reduced_from > 0) json["batch_reduced_from"] = r.reduced_from;
  json["rounds"] = r.rounds;
  json["seconds"] = r.seconds;
  json["storage"] = f.storage;
  json["loader"] = f.loader;
  json["copy"] = f.copy;
  json["network"] = f.network;
  json["together"] = f.together;
  json["data_wait"] = f.data_wait;
  json["overlap"] = r.verdict.overlap;
  json["utilisation"] = f.utilisation;
  json["bottleneck"] = to_string(r.verdict.bottleneck);
  json["verdict"] = r.verdict.sentence;
  json["rounds_of"] = {{"storage", r.rates.storage},
                       {"loader", r.rates.loader},
                       {"copy", r.rates.copy},
                       {"network", r.rates.network},
                       {"together", r.rates.together}};
  json["other_cores"] = f.other_cores;
  json["spans"] = to_json(r.spans);
  const std::size_t first = r.steps.size() - std::min(r.steps.size(), kMostListedSteps);
  const auto list = [&](const char* name, const auto& value_of) {
    auto& values = json["steps"][name] = nlohmann::json::array();
    for (std::size_t i = first; i < r.steps.size(); ++i) values.push_back(value_of(r.steps[i]));
  };
  list("begin_s", [](const StepParts& step) { return 1e-9 * static_cast<double>(step.begin_ns); });
  list("wait_ms", [](const StepParts& step) { return 1e-6 * static_cast<double>(step.wait_ns); });
  list("copy_ms", [](const StepParts& step) { return 1e-6 * static_cast<double>(step.copy_ns); });
  list("compute_ms", [](const StepParts& step) { return 1e-6 * static_cast<double>(step.compute_ns); });
  json["profile"] = parse_ordered_json(to_json(r.profile));
  return json_text(json);
}

}  // namespace unstarve
