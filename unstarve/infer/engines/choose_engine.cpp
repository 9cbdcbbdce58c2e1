#include "unstarve/infer/engines/choose_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "unstarve/core/clock.h"

namespace unstarve {
namespace {

// A measurement of settings: 30 time slices of 10 ms of the scheduler.
constexpr double kSettingsSeconds = 0.3;
// The search ends if a larger batch computes less than this share more: repeated measurements differ by as much.
constexpr double kWorthwhile = 0.02;
// One stream must compute more than streams of one thread by this share where a loader uses the same CPUs: its threads
// wait for each other whenever the loader takes a core. ResNet-50 on two cores kept 0.94 of its rate with one stream,
// 0.97 with two.
constexpr double kOneStreamGain = 0.05;
// The part of the available memory that inputs may take.
constexpr double kMemoryShare = 0.1;

void fill_with_noise(EngineProcess& engine) {
  std::minstd_rand numbers(1);
  std::uniform_real_distribution<float> pixels(-2, 2);
  const std::span<float> first = engine.input(0);
  for (float& value : first) value = pixels(numbers);
  for (int request = 1; request < engine.requests(); ++request)
    std::memcpy(engine.input(request).data(), first.data(), first.size_bytes());
}

double quantile(std::vector<double>& values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Tries the settings of one engine.
class SettingsSearch {
 public:
  SettingsSearch(const EngineSearch& search, EngineProcess& engine, std::vector<std::int64_t> shape, double end_s)
      : search_(search), engine_(engine), shape_(std::move(shape)), end_s_(end_s) {}

  EngineRate best() {
    if (search_.settings) return measure(*search_.settings);
    const int fixed = fixed_batch(engine_.model());
    if (fixed > 0 && search_.batch > 0 && fixed != search_.batch)
      throw Error(ErrorKind::kArgument, fmt::format("batch: found {}; expected {}, the first dimension of the model's "
                                                    "input",
                                                    search_.batch, fixed));
    const int only = fixed > 0 ? fixed : search_.batch;
    EngineRate best = best_streams(only > 0 ? only : 1);
    for (int batch = 8; only == 0 && batch <= search_.most_batch && has_time(); batch *= 2) {
      if (!fits({search_.threads, search_.threads, batch})) break;
      const std::optional<EngineRate> larger = accepted([&] { return best_streams(batch); });
      if (!larger || larger->samples_per_s < best.samples_per_s * (1 + kWorthwhile)) break;
      best = *larger;
    }
    if (compiled_ != best.settings) compile(best.settings);
    return best;
  }

 private:
  // One stream with all threads, or a stream per thread.
  EngineRate best_streams(int batch) {
    const EngineRate one = measure({1, search_.threads, batch, search_.precision});
    const EngineSettings each{search_.threads, search_.threads, batch, search_.precision};
    if (search_.threads == 1 || !has_time() || !fits(each)) return one;
    const std::optional<EngineRate> other = accepted([&] { return measure(each); });
    return other ? better_streams(one, *other, search_.shares_cpus) : one;
  }
  // Nothing if the engine rejects the settings, as for a model whose batch is fixed within it. A crash is thrown.
  template <class Measure>
  static std::optional<EngineRate> accepted(Measure&& measure) {
    try {
      return measure();
    } catch (const EngineCrash&) {
      throw;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kCancelled) throw;
      return std::nullopt;
    }
  }
  EngineRate measure(const EngineSettings& settings) {
    if (search_.stop.stop_requested()) throw Error(ErrorKind::kCancelled, "measure engines: stopped");
    compile(settings);
    return measure_engine(engine_, settings, kSettingsSeconds);
  }
  void compile(const EngineSettings& settings) {
    compiled_.reset();
    engine_.compile(settings, shape_, requests_of(settings));
    compiled_ = settings;
  }
  [[nodiscard]] bool has_time() const { return seconds_now() < end_s_; }
  [[nodiscard]] bool fits(const EngineSettings& settings) const {
    const double bytes =
        static_cast<double>(values_of(shape_)) * sizeof(float) * settings.batch * requests_of(settings);
    return bytes <= kMemoryShare * search_.memory_bytes;
  }

  const EngineSearch& search_;
  EngineProcess& engine_;
  std::vector<std::int64_t> shape_;
  double end_s_;
  std::optional<EngineSettings> compiled_;
};

}  // namespace

int fixed_batch(const ModelFacts& model) {
  const auto& shape = model.inputs.at(0).shape;
  return !shape.empty() && shape[0] > 0 ? static_cast<int>(shape[0]) : 0;
}

EngineTimes time_engine(EngineProcess& engine, double seconds) {
  fill_with_noise(engine);
  const int requests = engine.requests();
  std::vector<double> started(static_cast<std::size_t>(requests));
  EngineTimes times;
  const auto start = [&](int request) {
    started[static_cast<std::size_t>(request)] = seconds_now();
    engine.start(request);
  };
  double begin = 0;
  for (int request = 0; request < requests; ++request) start(request);
  for (bool counted = false; !counted || times.seconds < seconds; counted = true) {
    for (int request = 0; request < requests; ++request) {
      (void)engine.wait(request);
      const double now = seconds_now();
      if (counted) times.batches_ms.push_back(1e3 * (now - started[static_cast<std::size_t>(request)]));
      times.seconds = counted ? now - begin : 0;
      if (!counted) begin = now;
      start(request);
    }
  }
  for (int request = 0; request < requests; ++request) (void)engine.wait(request);
  return times;
}

EngineRate better_streams(const EngineRate& one, const EngineRate& each, bool shares_cpus) {
  return one.samples_per_s > each.samples_per_s * (shares_cpus ? 1 + kOneStreamGain : 1) ? one : each;
}

EngineRate measure_engine(EngineProcess& engine, const EngineSettings& settings, double seconds) {
  EngineTimes times = time_engine(engine, seconds);
  const double images = static_cast<double>(times.batches_ms.size()) * settings.batch;
  return {settings, images / times.seconds, quantile(times.batches_ms, 0.5), quantile(times.batches_ms, 0.99)};
}

EngineChoice choose_engine(const EngineSearch& search) {
  EngineChoice choice;
  const double begin = seconds_now(), share = search.seconds / static_cast<double>(search.engines.size());
  for (std::size_t i = 0; i < search.engines.size(); ++i) {
    const EngineCommand& command = search.engines[i];
    const auto leave_out = [&](const Error& error) {
      const bool of_user = error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kCancelled;
      if (search.engines.size() == 1 || of_user) throw;
      choice.left_out.push_back({command.name, error.what()});
    };
    std::unique_ptr<EngineProcess> engine;
    try {
      engine = std::make_unique<EngineProcess>(command, search.model);
    } catch (const Error& error) {
      leave_out(error);
      continue;
    }
    std::vector<std::int64_t> shape = search.shape(engine->model());
    try {
      const double end_s = begin + share * static_cast<double>(i + 1);
      const EngineRate rate = SettingsSearch(search, *engine, std::move(shape), end_s).best();
      if (rate.samples_per_s <= choice.best.samples_per_s) continue;
      choice.best = rate;
      choice.engine = std::move(engine);
    } catch (const Error& error) {
      leave_out(error);
    }
  }
  if (choice.engine) return choice;
  std::string reasons;
  for (const LeftOutEngine& each : choice.left_out) reasons += (reasons.empty() ? "" : "\n") + each.reason;
  throw Error(ErrorKind::kInput, reasons);
}

}  // namespace unstarve
