#include "unstarve/torch/graphs/step_graphs.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/torch/graphs/testing/host_recorder.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

using testing::HostRecorder;
using testing::HostRecorderCounts;

// Counts its runs; the loss is their number.
struct CountedWork {
  int runs = 0;
  int undone = 0;
  StepWork work() {
    return {.run = [this] { return torch::tensor(++runs); }, .undo = [this] { ++undone; }};
  }
};

StepGraphs graphs_of(HostRecorderCounts& counts, GraphLimits limits, bool failing = false,
                     GraphUse use = GraphUse::kAuto) {
  return {std::make_unique<HostRecorder>(counts, failing), use, limits};
}

}  // namespace

TEST_CASE("steps of a kind warm up, are recorded once and are replayed from then on") {
  HostRecorderCounts counts;
  CountedWork counted;
  StepGraphs graphs = graphs_of(counts, {.warm_ups = 3});
  for (int step = 1; step <= 10; ++step) CHECK(graphs.run({1}, counted.work()).item<int>() == step);
  CHECK(counts.warm_ups == 3);
  CHECK(counts.records == 1);
  CHECK(counts.replays == 7);
  CHECK(graphs.counts().unrecorded == 3);
  CHECK(graphs.counts().recorded == 1);
  CHECK(graphs.counts().replayed == 7);
  CHECK(graphs.notice().empty());
}

TEST_CASE("every kind of step has a graph of its own") {
  HostRecorderCounts counts;
  CountedWork counted;
  StepGraphs graphs = graphs_of(counts, {.warm_ups = 1});
  for (int step = 0; step < 6; ++step) {
    (void)graphs.run({224, 0}, counted.work());
    (void)graphs.run({224, 1}, counted.work());
  }
  CHECK(graphs.graphs() == 2);
  CHECK(counts.records == 2);
  CHECK(counts.replays == 10);
}

TEST_CASE("the graph that was not used for the longest time makes room, unless it was used recently") {
  HostRecorderCounts counts;
  CountedWork counted;
  StepGraphs graphs = graphs_of(counts, {.warm_ups = 0, .graphs = 2, .recent_steps = 5});
  (void)graphs.run({1}, counted.work());
  (void)graphs.run({2}, counted.work());
  (void)graphs.run({3}, counted.work());  // no room
  CHECK(graphs.graphs() == 2);
  CHECK(graphs.counts().unrecorded == 1);
  for (int step = 0; step < 6; ++step) (void)graphs.run({1}, counted.work());
  (void)graphs.run({3}, counted.work());  // instead of 2
  CHECK(counts.records == 3);
  const int before = counts.replays;
  (void)graphs.run({1}, counted.work());
  (void)graphs.run({3}, counted.work());
  CHECK(counts.replays == before + 2);
  CHECK(graphs.graphs() == 2);
}

TEST_CASE("constants of a recorded step live as long as its graph") {
  HostRecorderCounts counts;
  torch::Tensor constant = torch::ones({1});
  StepWork work{.run = [] { return torch::tensor(1); },
                .undo = [] {},
                .constants = [&] { return std::vector<torch::Tensor>{constant}; }};
  {
    StepGraphs graphs = graphs_of(counts, {.warm_ups = 1});
    (void)graphs.run({1}, work);
    CHECK(constant.use_count() == 1);
    (void)graphs.run({1}, work);
    CHECK(constant.use_count() == 2);
  }
  CHECK(constant.use_count() == 1);
}

TEST_CASE("after a failed recording, auto runs all steps without recording and says so once") {
  HostRecorderCounts counts;
  CountedWork counted;
  StepGraphs graphs = graphs_of(counts, {.warm_ups = 1}, /*failing=*/true);
  for (int step = 1; step <= 4; ++step) CHECK(graphs.run({1}, counted.work()).item<int>() == step);
  CHECK(counts.records == 1);
  CHECK(counted.undone == 1);
  CHECK(graphs.counts().unrecorded == 4);
  CHECK_THAT(graphs.notice(), Catch::Contains("not recorded") && Catch::Contains("not permitted"));
  CHECK(graphs.notice().empty());
}

TEST_CASE("after a failed recording, on is an error") {
  HostRecorderCounts counts;
  CountedWork counted;
  StepGraphs graphs = graphs_of(counts, {.warm_ups = 0}, /*failing=*/true, GraphUse::kOn);
  CHECK_THROWS_WITH(graphs.run({1}, counted.work()), Catch::Contains("graph: off"));
  CHECK(counted.undone == 1);
}

TEST_CASE("settings whose steps cannot be recorded have a reason") {
  TrainSettings settings;
  settings.optimiser.form = UpdateForm::kFused;
  CHECK(why_not_recorded(settings, /*foreign=*/false, /*world=*/1).empty());
  CHECK_THAT(why_not_recorded(settings, true, 1), Catch::Contains("Python") && Catch::Contains("graph: on"));
  CHECK_THAT(why_not_recorded(settings, false, 2), Catch::Contains("ranks"));
  settings.graph = GraphUse::kOn;
  CHECK(why_not_recorded(settings, true, 1).empty());
  CHECK_THAT(why_not_recorded(settings, true, 2), Catch::Contains("ranks"));
  settings.optimiser.form = UpdateForm::kForeach;
  CHECK_THAT(why_not_recorded(settings, false, 1), Catch::Contains("foreach of sgd"));
  for (const OptimiserName name : {OptimiserName::kLars, OptimiserName::kLamb}) {
    settings.optimiser.name = name;
    CHECK(why_not_recorded(settings, false, 1).empty());
  }
  settings.graph = GraphUse::kOff;
  CHECK_THAT(why_not_recorded(settings, false, 1), Catch::Contains("off"));
}

TEST_CASE("on a GPU, the reason why steps are not recorded is a notice") {
  TrainSettings settings;
  const auto notice = [&](torch::Device device, const std::string& reason) {
    return make_step_graphs(settings, device, reason, nullptr).notice;
  };
  CHECK_THAT(notice(torch::Device(torch::kCUDA, 0), "several ranks"),
             Catch::Contains("not recorded as a graph") && Catch::Contains("several ranks"));
  CHECK(notice(torch::kCPU, "several ranks").empty());
  settings.graph = GraphUse::kOff;
  CHECK(notice(torch::Device(torch::kCUDA, 0), "graph: off").empty());
}

TEST_CASE("graphs are made if there is a recorder and no reason against them") {
  TrainSettings settings;
  HostRecorderCounts counts;
  const auto made = [&](std::string reason, bool recorder = true) {
    return make_step_graphs(settings, torch::kCPU, std::move(reason),
                            recorder ? std::make_unique<HostRecorder>(counts) : nullptr)
        .graphs.has_value();
  };
  CHECK(made(""));
  CHECK_FALSE(made("the network is foreign"));
  CHECK_FALSE(made("", false));
  settings.graph = GraphUse::kOn;
  CHECK(made(""));
  CHECK_THROWS_WITH(made("the network is foreign"), Catch::Contains("the network is foreign. Use graph: auto"));
  CHECK_THROWS_WITH(made("", false), Catch::Contains("the device is the CPU"));
}

}  // namespace unstarve
