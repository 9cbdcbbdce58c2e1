// Threads as ranks; tests/python/ranks has processes.

#include "unstarve/jobs/training/bad_samples.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve {
namespace {

using Of = BadSamples::Of;

constexpr int kWorld = 3;

// What the ranks of a run share.
struct Meeting {
  std::barrier<> barrier{kWorld};
  std::array<std::vector<double>, kWorld> values;
};

class MeetingTrainer final : public testing::IdleTrainer {
 public:
  MeetingTrainer(Meeting& meeting, int rank) : meeting_(meeting), rank_(static_cast<std::size_t>(rank)) {}
  void largest_of_ranks(std::span<double> values) override {
    meeting_.values[rank_].assign(values.begin(), values.end());
    meeting_.barrier.arrive_and_wait();
    for (const std::vector<double>& others : meeting_.values)
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], others.at(i));
    meeting_.barrier.arrive_and_wait();
  }

 private:
  Meeting& meeting_;
  std::size_t rank_;
};

BadSample bad(const Dataset& dataset, std::uint64_t id, const std::string& reason) {
  return {id, dataset.record_location(id), reason};
}

std::vector<std::string> texts_of(const BadSamples& samples) {
  std::vector<std::string> texts;
  for (const BadSample& sample : samples.list())
    texts.push_back(std::to_string(sample.id) + " " + to_string(sample.location) + ": " + sample.reason);
  return texts;
}

TrainData open_both() {
  PipelineSpec training, validation;
  training.source.path = "synthetic:classes=4,images=20,size=8,seed=1";
  validation.source.path = "synthetic:classes=4,images=20,size=8,seed=2";
  ConfigurationFaults faults;
  return open_train_data({training, validation, 4}, {}, faults);
}

TEST_CASE("bad samples of training and validation are listed once, by id") {
  const TrainData data = open_both();
  BadSamples samples;
  CHECK(samples.empty(Of::kTraining));
  samples.add(Of::kValidation, {bad(*data.validation, 3, "cut")});
  CHECK(samples.empty(Of::kTraining));
  CHECK_FALSE(samples.empty(Of::kValidation));
  samples.add(Of::kTraining, {bad(*data.training, 7, "cut"), bad(*data.training, 3, "empty")});
  samples.add(Of::kValidation, {bad(*data.validation, 3, "cut")});
  CHECK(texts_of(samples) == std::vector<std::string>{"3 " + data.training->location(3) + ": empty",
                                                      "7 " + data.training->location(7) + ": cut",
                                                      "3 " + data.validation->location(3) + ": cut"});
}

TEST_CASE("the bad samples of all ranks are joined") {
  const TrainData data = open_both();
  Meeting meeting;
  std::array<BadSamples, kWorld> samples;
  samples[0].add(Of::kTraining, {bad(*data.training, 9, "line 1\nline 2: \"\xc3\xa4\"")});
  samples[2].add(Of::kTraining, {bad(*data.training, 9, "another epoch"), bad(*data.training, 4, "cut")});
  samples[2].add(Of::kValidation, {bad(*data.validation, 0, "")});
  std::vector<std::string> expected;
  SECTION("of those that have some") {
    expected = {"4 " + data.training->location(4) + ": cut",
                "9 " + data.training->location(9) + ": line 1\nline 2: \"\xc3\xa4\"",
                "0 " + data.validation->location(0) + ": "};
  }
  SECTION("without any") { samples = {}; }
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kWorld; ++rank)
      threads.emplace_back([&, rank] {
        MeetingTrainer trainer(meeting, rank);
        Ranks ranks;
        ranks.rank = rank;
        ranks.world = kWorld;
        samples[static_cast<std::size_t>(rank)].gather(trainer, ranks, data);
      });
  }
  CHECK(texts_of(samples[0]) == expected);
}

}  // namespace
}  // namespace unstarve
