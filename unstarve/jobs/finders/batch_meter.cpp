#include "unstarve/jobs/finders/batch_meter.h"

#include <algorithm>
#include <functional>
#include <span>

#include "unstarve/core/clock.h"
#include "unstarve/jobs/finders/batch_search.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/jobs/probe/memory_probe.h"

namespace unstarve {
namespace {

constexpr int kBlocks = 10, kLeastBlocks = 4;
constexpr int kPairs = 6;
// Shares of the time of a size: with the loader, and on a resident batch.
constexpr double kTogether = 0.5, kAlone = 0.3;

// Rates of blocks of consecutive steps.
std::vector<double> block_rates(std::span<const StepParts> steps, int batch) {
  const std::size_t blocks = std::min<std::size_t>(kBlocks, steps.size());
  std::vector<double> rates;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t begin = i * steps.size() / blocks, end = (i + 1) * steps.size() / blocks;
    std::int64_t wall_ns = 0;
    for (const StepParts& step : steps.subspan(begin, end - begin)) wall_ns += step.total_ns();
    rates.push_back(static_cast<double>(end - begin) * batch * 1e9 /
                    static_cast<double>(std::max<std::int64_t>(wall_ns, 1)));
  }
  return rates;
}

std::vector<double> resident_rates(Rig& rig, double seconds) {
  std::vector<double> rates;
  const double end = seconds_now() + seconds;
  while (rates.size() < kLeastBlocks || (rates.size() < kBlocks && seconds_now() < end))
    rates.push_back(rig.run_resident(seconds / kBlocks, 1).samples_per_s());
  return rates;
}

// Measures two rates alternately, for `seconds` in all, and compares the first with the second.
RatioInterval interleaved(const std::function<double(double seconds)>& rate,
                          const std::function<double(double seconds)>& other, double seconds) {
  const double each = seconds / (2 * kPairs);
  std::vector<double> rates, others;
  for (int pair = 0; pair < kPairs; ++pair) {
    if (pair % 2 == 0) rates.push_back(rate(each));
    others.push_back(other(each));
    if (pair % 2 != 0) rates.push_back(rate(each));
  }
  return ratio_interval(rates, others);
}

}  // namespace

BatchMeter::BatchMeter(Settings settings, std::shared_ptr<const Dataset> dataset, Target target, double seconds)
    : settings_(std::move(settings)), dataset_(std::move(dataset)), target_(std::move(target)), seconds_(seconds) {}

Settings BatchMeter::settings_of(int batch) const {
  Settings settings = settings_;
  set_batch(settings, batch);
  return settings;
}

BatchPoint BatchMeter::measure(int batch) {
  const MemoryProbe probe;
  Rig rig(settings_of(batch), dataset_, target_);
  rig.warm_up();

  BatchPoint point;
  point.batch = batch;
  std::vector<StepParts> steps;
  const Block block = rig.run(kTogether * seconds_, kLeastBlocks, &steps);
  point.together = estimate_rate(block_rates(steps, batch));
  point.data_wait = static_cast<double>(block.wait_ns) / static_cast<double>(block.wall_ns);
  // Until the loader has filled its slots: it would take CPU time from the trainer.
  const double filling = batch * (settings_.pipeline.execution.prefetch + 1) / point.together.rate;
  rig.run_resident(std::min(filling, kAlone * seconds_), 1);
  point.alone = estimate_rate(resident_rates(rig, kAlone * seconds_));

  point.host_bytes = probe.before_bytes() + probe.peak_growth_bytes();
  if (target_.cuda())
    point.memory_bytes = rig.trainer()->peak_memory_bytes();
  else if (probe.exact() || batch > largest_)  // else it is the peak of a larger batch
    point.memory_bytes = point.host_bytes;
  largest_ = std::max(largest_, batch);
  if (layers_.empty()) layers_ = rig.trainer()->layer_shapes();
  return point;
}

RatioInterval BatchMeter::compare(int batch, int other) {
  Rig a(settings_of(batch), dataset_, target_), b(settings_of(other), dataset_, target_);
  for (Rig* const rig : {&a, &b}) {
    rig->warm_up();
    rig->run_resident(kAlone * seconds_ / 2, 2);  // until the loaders are idle
  }
  const auto rate_of = [](Rig& rig) {
    return [&rig](double seconds) { return rig.run_resident(seconds, 1).samples_per_s(); };
  };
  return interleaved(rate_of(a), rate_of(b), seconds_);
}

RatioInterval BatchMeter::compare_layers(const LayerShape& layer, const LayerShape& other, int batch) {
  TrainSettings settings = settings_of(batch).train;
  settings.device = target_.name;
  const auto trainer = make_trainer(settings);
  const auto a = trainer->run_layer(layer, batch), b = trainer->run_layer(other, batch);
  for (LayerRun* const run : {a.get(), b.get()}) run->passes_per_s(kAlone * seconds_ / 4);  // warm-up
  const auto rate_of = [](LayerRun& run, const LayerShape& shape) {
    return [&run, macs = shape.macs()](double seconds) { return macs * run.passes_per_s(seconds); };
  };
  return interleaved(rate_of(*a, layer), rate_of(*b, other), seconds_);
}

}  // namespace unstarve
