#include "unstarve/jobs/ladder/prediction.h"

#include <catch2/catch.hpp>

#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

// The loader needs 40 ms of CPU time per batch, the consumer 20 ms.
Profile slow_loader() {
  Profile profile;
  profile.batch_samples = 10;
  profile.stages = {{"decode", 100, 400'000'000, 0, 400'000'000, 0, 0}};
  profile.consumer.batches = 10;
  profile.consumer.busy_ns = 200'000'000;
  return profile;
}

struct Prediction {
  LadderContext context;
  Settings base;
  explicit Prediction(const std::string& target) {
    const auto data = open_dataset("synthetic:classes=3,images=20,size=32,seed=1");
    context.target = parse_target(target);
    context.machine = read_machine_facts();
    base = base_of(default_settings({"p", ""}, *data), context.target);
  }
  template <class Edit>
  [[nodiscard]] GainPrediction of(const Edit& edit) const {
    Settings changed = base;
    edit(changed);
    return predict_candidate(slow_loader(), {0.06, 0.04}, context, base, changed);
  }
};

TEST_CASE("the gain of a prefetch is predicted from the times of loader and consumer") {
  const GainPrediction gain =
      Prediction("emulated:h100-resnet50").of([](Settings& s) { s.pipeline.execution.prefetch = 2; });
  CHECK(gain.gain == Approx(1.5));  // 60 ms -> 40 ms
  CHECK(gain.low <= 1.5);
  CHECK(gain.high >= 1.5);
}

TEST_CASE("pauses of the consumer and the first batches do not count") {
  Prediction predict("emulated:h100-resnet50");
  Settings changed = predict.base;
  changed.pipeline.execution.prefetch = 2;
  Profile profile = slow_loader();
  profile.consumer.busy_ns *= 10;
  profile.stages[0].busy_ns = profile.stages[0].cpu_ns *= 2;
  const GainPrediction gain = predict_candidate(profile, {0.06, 0.04}, predict.context, predict.base, changed);
  CHECK(gain.gain == Approx(1.5));
}

TEST_CASE("of a faster network or decoder only the largest gain is predicted") {
  const Prediction predict("cpu");
  const GainPrediction network = predict.of([](Settings& s) { s.train.channels_last = true; });
  CHECK(network.gain == 0);
  CHECK(network.high == Approx(1.5));  // 20 of 60 ms vanish
  const GainPrediction decoder = predict.of([](Settings& s) { s.pipeline.passes["crop_into_decode"] = true; });
  CHECK(decoder.gain == 0);
  CHECK(decoder.high >= 3 - 1e-9);  // 40 of 60 ms vanish
}

TEST_CASE("host settings, operator threads and unchanged settings have no prediction") {
  const Prediction predict("cpu");
  CHECK_FALSE(predict.of([](Settings& s) { s.host.huge_pages = true; }).known());
  CHECK_FALSE(predict.of([](Settings& s) { s.train.operator_threads = 1; }).known());
  CHECK_FALSE(predict.of([](Settings&) {}).known());
}

}  // namespace
}  // namespace unstarve
