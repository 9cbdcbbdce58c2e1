#include "unstarve/jobs/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/error.h"
#include "unstarve/core/statistics.h"
#include "unstarve/core/topology.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

constexpr int kRounds = 3;
// Shares of a round's time.
constexpr double kStorageShare = 0.08, kLoaderShare = 0.27, kCopyShare = 0.05, kNetworkShare = 0.25,
                 kTogetherShare = 0.35;

std::int64_t process_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1000; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

std::int64_t after(double seconds) { return steady_clock().now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

double per_second(std::int64_t count, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
}

// Records read in the order of an epoch by one thread, nothing decoded. Unreadable ones are left out: the loader's
// error policy has the say over them.
double storage_rate(const Dataset& dataset, const Plan& plan, double seconds) {
  const Order order(plan.spec.order, {1, LastBatch::kKeep}, OrderBasis{plan.samples, {}});
  RecordBuffer record;
  std::int64_t samples = 0;
  const std::int64_t start = steady_clock().now_ns(), deadline = after(seconds);
  for (std::uint32_t epoch = 0;; ++epoch) {
    const Order::Epoch ids = order.epoch(epoch);
    for (std::uint64_t position = 0; position < order.batches_per_epoch(); ++position) {
      try {
        dataset.read(ids.id(position, 0), record);
        ++samples;
      } catch (const Error&) {  // counted by the loader
      }
      if (position % 16 == 15 && steady_clock().now_ns() >= deadline)
        return per_second(samples, steady_clock().now_ns() - start);
    }
    if (steady_clock().now_ns() >= deadline) return per_second(samples, steady_clock().now_ns() - start);
  }
}

// A batch brought to the device over and over. On the host the destination rotates over more memory than the caches
// hold, as a device's would be elsewhere.
double copy_rate(Rig& rig, double seconds, double& gb_per_s) {
  std::optional<Batch> batch = rig.loader().next();
  if (!batch) throw Error(ErrorKind::kCancelled, "the loader was closed");
  Device& device = rig.device();
  const auto stream = device.make_stream();
  const std::size_t bytes = batch->pixel_bytes();
  constexpr std::size_t kBeyondCaches = std::size_t{256} << 20;
  const std::size_t places = device.is_host() ? std::clamp<std::size_t>(kBeyondCaches / bytes, 1, 64) : 2;
  const auto target = device.allocate(bytes * places);
  std::int64_t samples = 0, copied = 0;
  const auto round = [&] {
    for (std::size_t place = 0; place < places; ++place)
      device.copy_to_device(target->data() + place * bytes, batch->pixels(), bytes, *stream);
    stream->synchronise();
  };
  round();
  const std::int64_t start = steady_clock().now_ns(), deadline = after(seconds);
  do {
    round();
    samples += static_cast<std::int64_t>(batch->samples() * places);
    copied += static_cast<std::int64_t>(bytes * places);
  } while (steady_clock().now_ns() < deadline);
  const std::int64_t wall = steady_clock().now_ns() - start;
  gb_per_s = static_cast<double>(copied) / static_cast<double>(wall);
  return per_second(samples, wall);
}

}  // namespace

double loader_rate(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset, Device& device, double seconds,
                   double* cores_busy, std::vector<StageProfile>* stages) {
  Loader loader(spec, std::move(dataset), device, {});
  for (int i = 0; i <= spec.execution.prefetch; ++i) (void)loader.next();
  std::int64_t samples = 0;
  const std::int64_t start = steady_clock().now_ns(), cpu = process_cpu_ns(), deadline = after(seconds);
  do {
    const auto batch = loader.next();
    if (!batch) break;
    samples += static_cast<std::int64_t>(batch->samples());
  } while (steady_clock().now_ns() < deadline);
  const std::int64_t wall = steady_clock().now_ns() - start;
  if (cores_busy) *cores_busy = static_cast<double>(process_cpu_ns() - cpu) / static_cast<double>(wall);
  if (stages) *stages = loader.profile().stages;
  return per_second(samples, wall);
}

std::vector<StepPart> summarise(const std::vector<StepParts>& steps) {
  std::vector<StepPart> parts;
  const auto add = [&](const char* name, const auto& value_ms) {
    std::vector<double> values;
    for (const StepParts& step : steps) values.push_back(value_ms(step));
    if (values.empty()) return;
    double sum = 0;
    for (double value : values) sum += value;
    if (sum <= 0) return;
    parts.push_back({name, sum / static_cast<double>(values.size()), median(values), quantile(values, 0.95)});
  };
  add("wait", [](const StepParts& s) { return static_cast<double>(s.wait_ns) / 1e6; });
  add("copy", [](const StepParts& s) { return static_cast<double>(s.copy_ns) / 1e6; });
  add("forward", [](const StepParts& s) { return s.network.forward_ms; });
  add("backward", [](const StepParts& s) { return s.network.backward_ms; });
  add("optimiser", [](const StepParts& s) { return s.network.optimiser_ms; });
  // What the parts above do not name: all of compute on an emulated accelerator, little on a network.
  add("compute", [](const StepParts& s) {
    return std::max(0.0, static_cast<double>(s.compute_ns) / 1e6 - s.network.forward_ms - s.network.backward_ms -
                             s.network.optimiser_ms);
  });
  return parts;
}

std::vector<UtilisationPoint> utilisation_over_time(const std::vector<StepParts>& steps, std::int64_t nominal_step_ns,
                                                    std::size_t points) {
  std::vector<UtilisationPoint> line;
  const std::size_t stride = std::max<std::size_t>(1, (steps.size() + points - 1) / points);
  std::int64_t at = 0, wall = 0, busy = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    at += steps[i].total_ns();
    wall += steps[i].total_ns();
    busy += nominal_step_ns > 0 ? nominal_step_ns : steps[i].compute_ns;
    if ((i + 1) % stride == 0 || i + 1 == steps.size()) {
      line.push_back(
          {static_cast<double>(at) / 1e9, std::min(1.0, static_cast<double>(busy) / static_cast<double>(wall))});
      wall = busy = 0;
    }
  }
  return line;
}

BenchResult run_bench(const BenchOptions& options, const Progress& progress) {
  const auto tell = [&](std::string_view what, double share) {
    if (progress) progress(what, share);
  };
  const Settings& settings = options.settings;
  tell_done_on_host(settings.pipeline);
  tell("opening the data", 0);
  const auto dataset = open_sources(settings.pipeline);
  Rig rig(settings, dataset, options.target);

  BenchResult result;
  result.data = name_of_sources(settings.pipeline);
  result.format = dataset->format();
  result.settings = settings;
  result.settings.pipeline.execution.threads = rig.loader().threads();
  result.target = options.target;
  BenchFigures& figures = result.figures;
  figures.usable_cores = read_topology().usable();

  tell("warming up", 0.02);
  rig.run(0, 2);
  std::vector<double> storage, loader, copy, network, together, wait, cores, busy;
  std::vector<StepParts> steps;
  std::int64_t samples = 0, wall = 0;
  double together_cpu = 0;
  const double slice = options.seconds / kRounds;
  for (int round = 0; round < kRounds; ++round) {
    const double done = static_cast<double>(round) / kRounds;
    tell("storage alone", done);
    storage.push_back(storage_rate(*dataset, rig.loader().plan(), slice * kStorageShare));
    tell("loader alone", done + kStorageShare / kRounds);
    double cores_busy = 0;
    loader.push_back(
        loader_rate(settings.pipeline, dataset, rig.device(), slice * kLoaderShare, &cores_busy, &figures.stages));
    cores.push_back(cores_busy);
    tell("copy alone", done + (kStorageShare + kLoaderShare) / kRounds);
    copy.push_back(copy_rate(rig, slice * kCopyShare, result.copy_gb_per_s));
    tell("network alone", done + (kStorageShare + kLoaderShare + kCopyShare) / kRounds);
    network.push_back(rig.run_resident(slice * kNetworkShare, 2).samples_per_s());
    tell("all together", done + (1 - kTogetherShare) / kRounds);
    if (rig.trainer()) rig.trainer()->enable_timing(true);
    const std::int64_t cpu_before = process_cpu_ns();
    const Block block = rig.run(slice * kTogetherShare, 2, &steps);
    together_cpu += static_cast<double>(process_cpu_ns() - cpu_before);
    if (rig.trainer()) rig.trainer()->enable_timing(false);
    together.push_back(block.samples_per_s());
    wait.push_back(static_cast<double>(block.wait_ns) / static_cast<double>(block.wall_ns));
    busy.push_back(std::min(1.0, block.utilisation()));
    samples += block.samples;
    wall += block.wall_ns;
  }
  figures.storage = median(storage);
  figures.loader = median(loader);
  figures.copy = median(copy);
  figures.network = median(network);
  figures.together = median(together);
  figures.data_wait = median(wait);
  figures.utilisation = median(busy);
  figures.loader_cores = median(cores);
  result.verdict = judge_bench(figures);

  result.profile = rig.loader().profile();
  result.profile.wall_ns = wall;
  result.profile.samples = samples;
  result.profile.batches = static_cast<std::int64_t>(steps.size());
  result.profile.cpu_cores_busy = together_cpu / static_cast<double>(wall);
  result.profile.step = summarise(steps);
  const std::int64_t nominal =
      options.target.emulated()
          ? EmulatedAccelerator(find_accelerator(options.target.accelerator()), settings.pipeline.batch.size).step_ns()
          : 0;
  result.profile.utilisation = utilisation_over_time(steps, nominal);
  tell("done", 1);
  return result;
}

}  // namespace unstarve
