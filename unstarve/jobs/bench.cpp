#include "unstarve/jobs/bench.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/statistics.h"
#include "unstarve/device/device.h"
#include "unstarve/diagnose/probes/machine_probe.h"
#include "unstarve/jobs/bench_plan.h"
#include "unstarve/jobs/common/json.h"
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

}  // namespace

BenchResult run_bench(const BenchOptions& options, const Progress& progress) {
  const auto report = [&](std::string_view what, double share) {
    if (progress) progress(what, share);
  };
  const Settings& settings = options.settings;
  notify_done_on_host(settings.pipeline);
  report("opening the data", 0);
  const auto dataset = open_sources(settings.pipeline);
  const int usable_cores = read_topology().usable();  // before `rig` divides them
  MachineProbe machine(::getpid());
  const double machine_begin = seconds_now();
  const std::int64_t cpu_begin = process_cpu_ns();
  auto owner = std::make_unique<Rig>(settings, dataset, options.target);
  Rig& rig = *owner;

  BenchResult result;
  result.data = name_of_sources(settings.pipeline);
  result.format = dataset->format();
  result.settings = settings;
  result.settings.pipeline.execution.threads = rig.loader().threads();
  result.target = options.target;
  result.nominal_step_ns = rig.nominal_step_ns();
  BenchFigures& figures = result.figures;
  figures.usable_cores = usable_cores;

  report("warming up", 0);
  const double begin = seconds_now();
  const auto elapsed = [&] { return seconds_now() - begin; };
  double seconds = options.seconds;
  const auto show = [&](std::string_view what) { report(what, std::min(elapsed() / seconds, 0.99)); };
  rig.step();
  result.step_s = elapsed();
  if (options.may_reduce_batch && rig.trainer() && rig.device().is_host()) {
    const int batch = settings.pipeline.batch.size;
    BenchOptions smaller = options;
    set_batch(smaller.settings, batch_that_fits(batch, result.step_s, seconds, kLeastRoundSteps));
    smaller.may_reduce_batch = false;
    if (smaller.settings.pipeline.batch.size < batch) {
      owner.reset();
      BenchResult reduced = run_bench(smaller, progress);
      reduced.reduced_from = batch;
      return reduced;
    }
  }
  if (rig.trainer() && !rig.device().is_host()) {
    rig.warm_up();
    result.step_s = rig.run(0, 1).step_ms() / 1e3;
    seconds += elapsed();
  } else if (kWarmUpSteps * result.step_s < seconds) {
    result.step_s = rig.run(0, 1).step_ms() / 1e3;  // the first step takes longer
  }
  CopyMeter copies(rig, kCopyShare * options.seconds);
  result.spans.push_back({"warming up", 0, elapsed()});
  BenchRounds& rates = result.rates;
  result.stages.name = "busy loader threads by stage";
  std::vector<double> wait, cores, busy;
  std::vector<StepParts>& steps = result.steps;
  std::int64_t samples = 0, wall = 0;
  double together_cpu = 0;
  const auto set_medians = [&] {
    figures.storage = median(rates.storage);
    figures.loader = median(rates.loader);
    figures.copy = median(rates.copy);
    figures.network = median(rates.network);
    figures.together = median(rates.together);
  };
  // Measures one part of the current round.
  const auto measure = [&](const char* what, std::vector<double>& part, const auto& rate_of) {
    show(what);
    const double part_begin = elapsed();
    part.push_back(rate_of());
    result.spans.push_back(
        {what, part_begin, elapsed() - part_begin, {{"round", result.rounds}, {"samples_per_s", part.back()}}});
  };
  const auto run_round = [&](double slice) {
    ++result.rounds;
    measure("storage alone", rates.storage,
            [&] { return storage_rate(*dataset, rig.loader(), slice * kStorageShare).samples_per_s; });
    measure("loader alone", rates.loader, [&] {
      const CpuSplit::LoaderScope cpus(rig.cpu_split());
      LoaderRate alone = loader_rate(settings.pipeline, dataset, rig.device(), slice * kLoaderShare);
      cores.push_back(alone.cores_busy);
      figures.stages = std::move(alone.stages);
      return alone.samples_per_s;
    });
    measure("copy alone", rates.copy, [&] { return copies.measure(slice * kCopyShare, result.copy_gb_per_s); });
    measure("network alone", rates.network, [&] { return rig.run_resident(slice * kNetworkShare, 1).samples_per_s(); });
    measure("all together", rates.together, [&] {
      if (rig.trainer()) rig.trainer()->enable_timing(true);
      // The untimed steps of Rig::run() are part of the time.
      const double time = slice * kTogetherShare,
                   untimed = result.step_s * (rig.settings().pipeline.execution.prefetch + 1);
      const std::int64_t cpu_before = process_cpu_ns();
      const Block block = [&] {
        const StageSampler sampler(rig.loader(), begin, result.stages);
        return rig.run(std::max(time - untimed, time / 2), 1, &steps, result.step_s < time);
      }();
      together_cpu += static_cast<double>(process_cpu_ns() - cpu_before);
      if (rig.trainer()) rig.trainer()->enable_timing(false);
      wait.push_back(static_cast<double>(block.wait_ns) / static_cast<double>(block.wall_ns));
      busy.push_back(std::min(1.0, block.utilisation()));
      samples += block.samples;
      wall += block.wall_ns;
      return block.samples_per_s();
    });
    set_medians();
  };
  RoundPlan plan(seconds, elapsed(), result.step_s);
  while (const std::optional<double> slice = plan.next(elapsed())) run_round(*slice);
  while (contradicts(figures)) {
    const std::optional<double> slice = plan.further(elapsed());
    if (!slice) break;
    run_round(*slice);
  }
  for (StepParts& step : steps) step.begin_ns -= static_cast<std::int64_t>(begin * 1e9);
  figures.data_wait = median(wait);
  figures.utilisation = median(busy);
  figures.loader_cores = median(cores);
  machine.look();
  result.seconds = seconds_now() - begin;
  const double machine_s = seconds_now() - machine_begin;
  const MachineUse use = machine.use(machine_s);
  const double own_cores = 1e-9 * static_cast<double>(process_cpu_ns() - cpu_begin) / machine_s;
  figures.other_cores = std::max(use.busy_cores - own_cores, 0.0);
  figures.stolen_share = use.stolen_share;
  result.verdict = judge_bench(figures);

  result.profile = rig.loader().profile();
  result.profile.wall_ns = wall;
  result.profile.samples = samples;
  result.profile.batches = static_cast<std::int64_t>(steps.size());
  result.profile.cpu_cores_busy = together_cpu / static_cast<double>(wall);
  result.profile.step = summarise(steps);
  result.profile.utilisation = utilisation_over_time(steps, rig.nominal_step_ns());
  report("done", 1);
  return result;
}

std::string to_text(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  std::string text;
  const auto row = [&](const char* name, const std::string& what, double rate, const std::string& more) {
    text += fmt::format("  {:<12} {:<24} {:>10.0f} img/s  {}\n", name, what, rate, more);
  };
  row("storage", "reading, one thread", f.storage, "");
  row("loader", "read to batch", f.loader, fmt::format("{:.1f} of {} cores busy", f.loader_cores, f.usable_cores));
  row("copy", r.target.cuda() ? (r.settings.pipeline.execution.pinned ? "pinned" : "pageable") : "within the host",
      f.copy, fmt::format("{:.1f} GB/s", r.copy_gb_per_s));
  row(r.target.emulated() ? "accelerator" : "network", r.target.emulated() ? r.target.name : "resident batch",
      f.network, "");
  row("together", "", f.together,
      fmt::format("overlap {:.1f} %, utilisation {:.1f} %, data wait {:.1f} %", 100 * r.verdict.overlap,
                  100 * f.utilisation, 100 * f.data_wait));
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
  json["profile"] = nlohmann::ordered_json::parse(to_json(r.profile));
  return dump(json);
}

}  // namespace unstarve
