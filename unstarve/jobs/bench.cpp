#include "unstarve/jobs/bench.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/core/clock.h"
#include "unstarve/core/cpu_split.h"
#include "unstarve/core/error.h"
#include "unstarve/core/statistics.h"
#include "unstarve/core/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/diagnose/probes/machine_probe.h"
#include "unstarve/jobs/ladder/part_rates.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

constexpr int kRounds = 3;
// Training steps of a round if each part runs as briefly as possible.
constexpr int kRoundSteps = 3;
// Shares of the time of one round.
constexpr double kStorageShare = 0.08, kLoaderShare = 0.27, kCopyShare = 0.05, kNetworkShare = 0.25,
                 kTogetherShare = 0.35;

std::int64_t after(double seconds) { return steady_clock().now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

double per_second(std::int64_t count, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
}

// Copies one batch to the device repeatedly. On the host the destination rotates over more memory than the caches hold,
// because device memory would not be cached either.
double copy_rate(Rig& rig, double seconds, double& gb_per_s) {
  std::optional<Batch> batch = rig.loader().next();
  if (!batch) throw Error(ErrorKind::kCancelled, "the loader was closed");
  Device& device = rig.device();
  const auto stream = device.make_stream();
  const std::size_t bytes = batch->pixel_bytes();
  constexpr std::size_t kBeyondCaches = std::size_t{256} << 20;
  const std::size_t targets = device.is_host() ? std::clamp<std::size_t>(kBeyondCaches / bytes, 1, 64) : 2;
  const auto target = device.allocate(bytes * targets);
  std::int64_t samples = 0, copied = 0;
  const auto round = [&] {
    for (std::size_t i = 0; i < targets; ++i)
      device.copy_to_device(target->data() + i * bytes, batch->pixels(), bytes, *stream);
    stream->synchronise();
  };
  round();
  const std::int64_t start = steady_clock().now_ns(), deadline = after(seconds);
  do {
    round();
    samples += static_cast<std::int64_t>(batch->samples() * targets);
    copied += static_cast<std::int64_t>(bytes * targets);
  } while (steady_clock().now_ns() < deadline);
  const std::int64_t wall = steady_clock().now_ns() - start;
  gb_per_s = static_cast<double>(copied) / static_cast<double>(wall);
  return per_second(samples, wall);
}

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
  Rig rig(settings, dataset, options.target);

  BenchResult result;
  result.data = name_of_sources(settings.pipeline);
  result.format = dataset->format();
  result.settings = settings;
  result.settings.pipeline.execution.threads = rig.loader().threads();
  result.target = options.target;
  BenchFigures& figures = result.figures;
  figures.usable_cores = usable_cores;

  report("warming up", 0.02);
  const double begin = seconds_now();
  result.step_s = rig.run(0, 1).step_ms() / 1e3;
  result.rounds = options.seconds < kRounds * kRoundSteps * result.step_s ? 1 : kRounds;
  BenchRounds& rates = result.rates;
  std::vector<double> wait, cores, busy;
  std::vector<StepParts> steps;
  std::int64_t samples = 0, wall = 0;
  double together_cpu = 0;
  const double slice = options.seconds / result.rounds;
  const auto set_medians = [&] {
    figures.storage = median(rates.storage);
    figures.loader = median(rates.loader);
    figures.copy = median(rates.copy);
    figures.network = median(rates.network);
    figures.together = median(rates.together);
  };
  constexpr int kFurtherRounds = 2;
  for (int round = 0, planned = result.rounds; round < planned + kFurtherRounds; ++round) {
    if (round >= planned) {
      set_medians();
      if (!contradicts(figures)) break;
      result.rounds = round + 1;
    }
    const double part = 1.0 / std::max(planned, result.rounds), done = round * part;
    report("storage alone", done);
    rates.storage.push_back(storage_rate(*dataset, rig.loader(), slice * kStorageShare).samples_per_s);
    report("loader alone", done + kStorageShare * part);
    LoaderRate alone = [&] {
      const CpuSplit::LoaderScope cpus(rig.cpu_split());
      return loader_rate(settings.pipeline, dataset, rig.device(), slice * kLoaderShare);
    }();
    rates.loader.push_back(alone.samples_per_s);
    cores.push_back(alone.cores_busy);
    figures.stages = std::move(alone.stages);
    report("copy alone", done + (kStorageShare + kLoaderShare) * part);
    rates.copy.push_back(copy_rate(rig, slice * kCopyShare, result.copy_gb_per_s));
    report("network alone", done + (kStorageShare + kLoaderShare + kCopyShare) * part);
    rates.network.push_back(rig.run_resident(slice * kNetworkShare, 1).samples_per_s());
    report("all together", done + (1 - kTogetherShare) * part);
    if (rig.trainer()) rig.trainer()->enable_timing(true);
    const std::int64_t cpu_before = process_cpu_ns();
    const Block block = rig.run(slice * kTogetherShare, 1, &steps);
    together_cpu += static_cast<double>(process_cpu_ns() - cpu_before);
    if (rig.trainer()) rig.trainer()->enable_timing(false);
    rates.together.push_back(block.samples_per_s());
    wait.push_back(static_cast<double>(block.wait_ns) / static_cast<double>(block.wall_ns));
    busy.push_back(std::min(1.0, block.utilisation()));
    samples += block.samples;
    wall += block.wall_ns;
  }
  set_medians();
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
  if (r.rounds < kRounds)
    text += fmt::format(
        "  note         a step takes {:.1f} s: one round of measurements instead of {}, in {:.0f} s. "
        "Use a smaller --batch or a longer --seconds.\n",
        r.step_s, kRounds, r.seconds);
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
  json["profile"] = nlohmann::ordered_json::parse(to_json(r.profile));
  return json.dump();
}

}  // namespace unstarve
