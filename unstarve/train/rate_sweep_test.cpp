// The sweep with a trainer whose loss is a function of the last rate, and with real trainers on the host.

#include "unstarve/train/rate_sweep.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve {
namespace {

using testing::error_message;

class StateOfRates final : public TrainSnapshot {
 public:
  explicit StateOfRates(double of) : rate(of) {}
  void write(const std::filesystem::path&) const override {}
  const double rate;
};

// Its loss in a step is a function of the rate of the last update.
class RateTrainer final : public testing::IdleTrainer {
 public:
  explicit RateTrainer(std::function<double(double)> loss_after) : loss_after_(std::move(loss_after)) {}
  void step(double learning_rate, bool update, const StepPosition& /*position*/) override {
    if (steps++ == failing_step) throw Error(ErrorKind::kMemory, "no memory");
    loss_ = loss_after_(rate);
    updates.push_back(update);
    if (update) rate = learning_rate;
  }
  double loss() override { return loss_; }
  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress&) override {
    return std::make_unique<StateOfRates>(rate);
  }
  using IdleTrainer::restore;
  void restore(const TrainSnapshot& snapshot) override { rate = dynamic_cast<const StateOfRates&>(snapshot).rate; }
  void largest_of_ranks(std::span<double> values) override { values[0] = std::max(values[0], stop_of_others); }

  double rate = 0;  // of the last update: the state
  int steps = 0;
  int failing_step = -1;
  double stop_of_others = 0;
  std::vector<bool> updates;

 private:
  std::function<double(double)> loss_after_;
  double loss_ = 0;
};

class EmptyBatches final : public BatchSource {
 public:
  explicit EmptyBatches(int batches = std::numeric_limits<int>::max()) : left_(batches) {}
  bool next(HostBatch&) override { return left_-- > 0; }

 private:
  int left_;
};

constexpr double kStartRate = 0.25;  // the state before a sweep

RateTrainer trainer_of(std::function<double(double)> loss_after) {
  RateTrainer trainer(std::move(loss_after));
  trainer.rate = kStartRate;
  return trainer;
}

// Noise around a brightness that depends on the class, without end.
class LearnableBatches final : public BatchSource {
 public:
  explicit LearnableBatches(std::uint32_t first) : index_(first) {}
  bool next(HostBatch& batch) override {
    constexpr int kSide = 32, kSamples = 8;
    Random random(7, index_++, 0, 0);
    pixels_.clear();
    labels_.clear();
    for (int n = 0; n < kSamples; ++n) {
      labels_.push_back(static_cast<std::int64_t>(random.below(4)));
      for (int i = 0; i < kSide * kSide * 3; ++i)
        pixels_.push_back(
            static_cast<std::uint8_t>(40 * static_cast<std::uint32_t>(labels_.back()) + random.below(60)));
    }
    batch = {pixels_.data(), labels_, {kSide, kSide}, {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation}};
    return true;
  }

 private:
  std::uint32_t index_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int64_t> labels_;
};

std::vector<double> losses_of(Trainer& trainer, int steps, std::uint32_t first) {
  LearnableBatches source(first);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    HostBatch batch;
    (void)source.next(batch);
    trainer.load(batch);
    trainer.step(0.02);
    losses.push_back(trainer.loss());
  }
  return losses;
}

}  // namespace

TEST_CASE("a sweep has one point per update, with the loss after it") {
  RateTrainer trainer = trainer_of([](double rate) { return 2 + rate; });
  EmptyBatches source;
  int reports = 0;
  RateSweepOptions options{1e-4, 1e-1, 4, 4, [&](const RateSweep&) { ++reports; }};
  const RateSweep sweep = find_learning_rate(trainer, source, 1, options);
  CHECK(sweep.end == SweepEnd::kComplete);
  CHECK(sweep.first_loss == 2 + kStartRate);
  REQUIRE(sweep.points.size() == 4);
  for (int i = 0; i < 4; ++i) {
    const double rate = std::pow(10, i - 4);
    CHECK(sweep.points[static_cast<std::size_t>(i)].rate == Approx(rate));
    CHECK(sweep.points[static_cast<std::size_t>(i)].loss == Approx(2 + rate));
  }
  CHECK(reports == 4);
  CHECK(trainer.rate == kStartRate);
}

TEST_CASE("accumulated batches are one point, with their mean loss") {
  int call = 0;
  RateTrainer trainer = trainer_of([&](double rate) { return 2 + rate + (call++ % 3 - 1) * 0.5; });
  EmptyBatches source;
  const RateSweep sweep = find_learning_rate(trainer, source, 3, {1e-4, 1e-1, 4});
  REQUIRE(sweep.points.size() == 4);
  CHECK(sweep.points[2].loss == Approx(2.01));
  CHECK(trainer.updates.size() == 15);
  for (std::size_t i = 0; i < trainer.updates.size(); ++i) CHECK(trainer.updates[i] == (i % 3 == 2));
}

TEST_CASE("a diverging or not finite loss ends the sweep, and the state is restored") {
  EmptyBatches source;
  RateTrainer diverging = trainer_of([](double rate) { return rate > 0.3 ? 50 : 2.0; });
  const RateSweep sweep = find_learning_rate(diverging, source, 1);
  CHECK(sweep.end == SweepEnd::kDiverged);
  CHECK(sweep.points.size() < 100);
  CHECK(sweep.points.back().rate == Approx(0.35).epsilon(0.5));
  CHECK(diverging.rate == kStartRate);

  RateTrainer overflowing = trainer_of([](double rate) { return rate > 0.3 ? std::nan("") : 2.0; });
  const RateSweep cut = find_learning_rate(overflowing, source, 1);
  CHECK(cut.end == SweepEnd::kNotFinite);
  CHECK(cut.last_rate == Approx(0.35).epsilon(0.5));
  CHECK(cut.points.back().rate < cut.last_rate);
  CHECK(overflowing.rate == kStartRate);
}

TEST_CASE("errors and stops restore the state") {
  EmptyBatches source;
  RateTrainer trainer = trainer_of([](double) { return 2.0; });
  trainer.failing_step = 7;
  CHECK_THAT(error_message([&] { return find_learning_rate(trainer, source, 1); }, ErrorKind::kMemory),
             Catch::Contains("no memory"));
  CHECK(trainer.rate == kStartRate);

  EmptyBatches few(5);
  CHECK_THAT(error_message([&] { return find_learning_rate(trainer, few, 2); }), Catch::Contains("the data ended"));
  CHECK(trainer.rate == kStartRate);

  std::stop_source stop;
  RateSweepOptions options;
  options.stop = stop.get_token();
  options.report = [&](const RateSweep& sweep) {
    if (sweep.points.size() == 3) stop.request_stop();
  };
  (void)error_message([&] { return find_learning_rate(trainer, source, 1, options); }, ErrorKind::kCancelled);
  CHECK(trainer.rate == kStartRate);

  trainer.stop_of_others = 1;
  (void)error_message([&] { return find_learning_rate(trainer, source, 1); }, ErrorKind::kCancelled);
}

TEST_CASE("rates that do not rise are rejected") {
  EmptyBatches source;
  RateTrainer trainer = trainer_of([](double) { return 2.0; });
  for (const RateSweepOptions& options :
       {RateSweepOptions{0, 1, 10}, RateSweepOptions{1, 1, 10}, RateSweepOptions{1e-3, 1, 1},
        RateSweepOptions{1e-3, std::numeric_limits<double>::infinity(), 10}})
    CHECK_THAT(error_message([&] { return find_learning_rate(trainer, source, 1, options); }, ErrorKind::kArgument),
               Catch::Contains("expected two or more"));
}

TEST_CASE("training continues bit-equal after a sweep, with every optimiser") {
  if (!trainer_in_build()) return;
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    CAPTURE(word_of(name));
    TrainSettings settings;
    settings.model = "cifar_net";
    settings.classes = 4;
    settings.image_size = 32;
    settings.channels_last = true;
    settings.operator_threads = 2;
    settings.average = 0.9;
    settings.optimiser.name = name;
    settings.optimiser.form = has_fused_form(name) ? UpdateForm::kFused : UpdateForm::kForeach;
    settings.precision = name == OptimiserName::kAdamw ? Precision::kFloat16 : Precision::kFloat32;  // with a scaler
    const auto plain = make_trainer(settings);
    (void)losses_of(*plain, 2, 0);
    const std::vector<double> expected = losses_of(*plain, 3, 2);

    const auto swept = make_trainer(settings);
    (void)losses_of(*swept, 2, 0);
    LearnableBatches source(100);
    const RateSweep sweep = find_learning_rate(*swept, source, 2, {1e-4, 10, 5});
    CHECK(sweep.points.size() + (sweep.end == SweepEnd::kNotFinite) >= 2);
    CHECK(losses_of(*swept, 3, 2) == expected);
  }
}

TEST_CASE("dropout draws the same numbers after a sweep, and the weights of another trainer are rejected") {
  if (!trainer_in_build()) return;
  TrainSettings settings;
  settings.model = "mobilenet_v2";
  settings.classes = 4;
  settings.image_size = 32;
  settings.operator_threads = 2;
  const auto plain = make_trainer(settings);
  const std::vector<double> expected = losses_of(*plain, 2, 2);
  const auto swept = make_trainer(settings);
  LearnableBatches source(100);
  (void)find_learning_rate(*swept, source, 1, {1e-4, 1e-2, 2});
  CHECK(losses_of(*swept, 2, 2) == expected);

  settings.model = "cifar_net";
  const auto other = make_trainer(settings);
  CHECK_THAT(error_message(
                 [&] {
                   other->restore(*swept->snapshot({}));
                   return 0;
                 },
                 ErrorKind::kArgument),
             Catch::Contains("another trainer"));
}

TEST_CASE("a trainer lists its layers, whose multiply-adds are those of the network, and runs one alone") {
  if (!trainer_in_build()) return;
  TrainSettings settings;
  settings.classes = 4;
  settings.image_size = 64;
  settings.operator_threads = 2;
  for (const char* model : {"resnet18", "mobilenet_v2"}) {
    CAPTURE(model);
    settings.model = model;
    const auto trainer = make_trainer(settings);
    const auto layers = trainer->layer_shapes();
    REQUIRE(layers.size() > 3);
    CHECK(layers.front().in == 3);
    CHECK(layers.front().side == 64);
    CHECK(layers.back().out == 4);
    CHECK(layers.back().side == 0);
    double macs = 0;
    for (const LayerShape& layer : layers) macs += layer.macs();
    CHECK(macs == Approx(trainer->macs()));
    for (const LayerShape& layer : {layers.front(), layers[1], layers.back()})
      CHECK(trainer->run_layer(layer, 2)->passes_per_s(0) > 0);
  }
}

}  // namespace unstarve
