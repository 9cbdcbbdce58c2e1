// Snapshots and checkpoints of trainers on the host, and files that do not fit.

#include "unstarve/train/trainer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <unistd.h>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/train/testing/small_training.h"

namespace unstarve {

using testing::Samples, testing::TemporaryFile, testing::error_message, testing::evaluate, testing::kClassCount,
    testing::losses, testing::small_settings;

TEST_CASE("a snapshot with weights that are not finite is not written over a file") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("unstarve-not-finite-" + std::to_string(::getpid()));
  const auto trainer = make_trainer(small_settings());
  const Samples samples(0);
  trainer->load(samples.batch());
  trainer->step(0.01);
  trainer->save(path, {1, ""});
  const auto before = std::filesystem::file_size(path);
  trainer->step(std::numeric_limits<double>::infinity());  // the loss of this step is still finite
  CHECK(std::isfinite(trainer->loss()));
  const std::string message = error_message([&] { trainer->save(path, {2, ""}); }, ErrorKind::kCheck);
  CHECK_THAT(message, Catch::Contains("contains NaN or infinity") && Catch::Contains(path.string()));
  CHECK(std::filesystem::file_size(path) == before);
  CHECK(make_trainer(small_settings())->restore(path).step == 1);
  std::filesystem::remove(path);
}

TEST_CASE("a checkpoint resumes bit-equal") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  settings.channels_last = true;
  settings.optimiser.form = UpdateForm::kFused;
  const auto first = make_trainer(settings);
  (void)losses(*first, 3);
  first->save(file.path(), {3, R"({"epoch": 1})"});
  const auto expected = losses(*first, 3, 3);

  settings.seed = 99;
  const auto second = make_trainer(settings);
  const TrainProgress progress = second->restore(file.path());
  CHECK(progress.step == 3);
  CHECK(progress.data == R"({"epoch": 1})");
  CHECK(losses(*second, 3, 3) == expected);
}

TEST_CASE(
    "a network that is prepared from its first batch learns and resumes bit-equal, without being prepared again") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  settings.model = "cifar_speed";
  settings.channels_last = true;
  settings.average = 0.99;
  const auto first = make_trainer(settings);
  const auto begin = losses(*first, 2);
  first->save(file.path(), {2, ""});
  const Samples unseen(1000, 64);
  const Evaluation evaluation = evaluate(*first, unseen.batch());
  const auto expected = losses(*first, 3, 2);
  CHECK(losses(settings, 2) == begin);

  settings.seed = 99;
  const auto second = make_trainer(settings);
  (void)second->restore(file.path());
  CHECK(evaluate(*second, unseen.batch()).loss_sum == evaluation.loss_sum);
  CHECK(losses(*second, 3, 2) == expected);
  const auto loaded = make_trainer(settings);
  (void)loaded->load_weights(file.path());
  CHECK(evaluate(*loaded, unseen.batch()).loss_sum == evaluation.loss_sum);
  // A checkpoint from before the first step has no filters yet.
  const auto fresh = make_trainer(settings);
  fresh->save(file.path(), {0, ""});
  const auto unprepared = make_trainer(settings);
  (void)unprepared->restore(file.path());
  CHECK(losses(*unprepared, 2) == losses(settings, 2));
}

TEST_CASE("dropout and stochastic depth repeat with the seed, after a resume, and next to another trainer") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  settings.model = "efficientnet_b0_0.25";
  const auto first = make_trainer(settings);
  const auto begin = losses(*first, 2);
  first->save(file.path(), {2, ""});
  const auto expected = losses(*first, 2, 2);

  const auto resumed = make_trainer(settings);
  (void)resumed->restore(file.path());
  const auto other = make_trainer(settings);
  CHECK(losses(*resumed, 1, 2).front() == expected[0]);
  CHECK(losses(*other, 2) == begin);
  CHECK(losses(*resumed, 1, 3).front() == expected[1]);
}

TEST_CASE("every optimiser learns and resumes bit-equal, with clipping, accumulation and average") {
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    CAPTURE(static_cast<int>(name));
    const TemporaryFile file;
    TrainSettings settings = small_settings();
    settings.optimiser.name = name;
    settings.optimiser.form = UpdateForm::kForeach;
    settings.clip_norm = 1;
    settings.average = 0.99;
    const auto first = make_trainer(settings);
    (void)losses(*first, 3);
    first->save(file.path(), {3, ""});
    const Samples unseen(1000, 64);
    const Evaluation evaluation = evaluate(*first, unseen.batch());
    const auto expected = losses(*first, 3, 3);

    settings.seed = 99;
    const auto second = make_trainer(settings);
    CHECK(second->restore(file.path()).step == 3);
    CHECK(evaluate(*second, unseen.batch()).loss_sum == evaluation.loss_sum);
    CHECK(losses(*second, 3, 3) == expected);
  }
}

TEST_CASE("a checkpoint of another optimiser is rejected with both names") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  make_trainer(settings)->save(file.path(), {1, ""});
  settings.optimiser.name = OptimiserName::kAdamw;
  const auto other = make_trainer(settings);
  CHECK_THAT(error_message([&] { (void)other->restore(file.path()); }),
             Catch::Contains("the optimiser sgd; expected adamw"));
  CHECK(other->load_weights(file.path()).initialised.empty());
}

TEST_CASE("weights of another number of classes initialise the last layer") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  settings.average = 0.9;
  make_trainer(settings)->save(file.path(), {1, ""});
  settings.average = 0;
  settings.classes = kClassCount + 2;
  const auto other = make_trainer(settings);
  const LoadedWeights weights = other->load_weights(file.path());
  CHECK(weights.initialised == std::vector<std::string>{"fc.weight", "fc.bias"});
  CHECK(weights.loaded > 30);
}

TEST_CASE("a foreign, damaged or missing checkpoint is rejected with the reason") {
  const TemporaryFile file;
  TrainSettings settings = small_settings();
  make_trainer(settings)->save(file.path(), {1, ""});
  settings.classes = kClassCount + 1;
  const auto other = make_trainer(settings);
  using Catch::Contains;
  CHECK_THAT(error_message([&] { (void)other->restore(file.path()); }),
             Contains("fc.weight") && Contains(file.path().string()));
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  CHECK_THAT(error_message([&] { (void)other->restore(file.path()); }), Contains("truncated"));
  CHECK_THAT(error_message([&] { (void)other->restore("no-such-file"); }, ErrorKind::kIo), Contains("no-such-file"));
}

}  // namespace unstarve
