#include "unstarve/jobs/ladder/ladder_step.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

const LadderStep& step(std::string_view name) { return *std::ranges::find(ladder_steps(), name, &LadderStep::name); }

DataFacts photographs() {
  DataFacts facts;
  facts.records = facts.samples = 50'000;
  facts.encoded = true;
  facts.label_field = 1;
  facts.first.header = {.size = {500, 375}};
  return facts;
}

DataFacts stored_pixels() {
  DataFacts facts = photographs();
  facts.encoded = false;
  return facts;
}

LadderContext context(const std::string& device, const DataFacts& data = photographs()) {
  LadderContext context;
  context.target = parse_target(device);
  context.machine.topology.affinity = context.machine.topology.online = 8;
  context.data = data;
  context.samples = 50'000;
  context.machine.transparent_huge_pages = "madvise";
  context.host.allocators = {{HeapAllocator::kJemalloc, "/lib/libjemalloc.so.2"}};
  context.starts_processes = true;
  for (const std::string_view word : words_to_try()) context.tried.emplace_back(word);
  return context;
}

Settings base() {
  Settings settings;
  settings.pipeline.operations = training_operations(224, {500, 375});
  return base_of(settings, parse_target("cpu"));
}

TEST_CASE("every step changes the settings and then no longer applies") {
  for (const LadderStep& one : ladder_steps()) {
    INFO(one.name);
    for (const char* device : {"cpu", "cuda", "emulated:h100-resnet50"}) {
      // This step queries the device, so the device must exist.
      if (one.name == "mixed precision" && (!trainer_in_build() || std::string(device) == "cuda")) continue;
      Settings settings = base();
      for (int times = 0; one.not_applicable(context(device), settings).empty(); ++times) {
        REQUIRE(times < 12);
        const auto candidates = one.candidates(context(device), settings);
        REQUIRE_FALSE(candidates.empty());
        for (const Candidate& candidate : candidates) {
          CHECK_FALSE(candidate.settings == settings);
          CHECK_FALSE(candidate.change.empty());
        }
        // Their candidates can alternate.
        if (one.name == "operator threads" || one.name == "wait policy") break;
        if (!one.tried_by.empty()) CHECK(candidates.size() == 1);
        settings = candidates.back().settings;
      }
    }
  }
}

TEST_CASE("names are unique; steps that affect learning or pixels are marked") {
  std::set<std::string_view> names;
  for (const LadderStep& one : ladder_steps()) CHECK(names.insert(one.name).second);
  CHECK(names.size() == 24);
  CHECK(step("batch size").affects_learning);
  CHECK(step("mixed precision").affects_learning);
  // Steps that are tried on request come last, and each has a word of its own.
  CHECK(words_to_try() ==
        std::vector<std::string_view>{"accumulate", "average", "progressive", "smoothing", "lookahead", "resident"});
  for (const LadderStep& one : ladder_steps().last(6)) {
    CHECK_FALSE(one.tried_by.empty());
    CHECK(one.affects_learning == (one.name != "images on the device"));
  }
  CHECK(step("reduced decoding scale").approximate);
  CHECK_FALSE(step("crop-only decoding").approximate);
}

TEST_CASE("a step that does not apply gives the reason") {
  const auto reason = [](std::string_view name, const LadderContext& where, const Settings& settings) {
    return step(name).not_applicable(where, settings);
  };
  const LadderContext emulated = context("emulated:h100-resnet50"), cpu = context("cpu");
  const LadderContext raw = context("cpu", stored_pixels());
  CHECK_THAT(reason("batch size", emulated, base()), Catch::Contains("batch size"));
  CHECK_THAT(reason("optimiser implementation", emulated, base()), Catch::Contains("no network"));
  CHECK_THAT(reason("uint8 over the bus", emulated, base()), Catch::Contains("any type"));
  CHECK_THAT(reason("pinned memory, asynchronous copy", cpu, base()), Catch::Contains("nothing to copy"));
  CHECK_THAT(reason("pinned memory, asynchronous copy", emulated, base()), Catch::Contains("host memory"));
  CHECK(reason("pinned memory, asynchronous copy", context("cuda"), base()).empty());
  CHECK_THAT(reason("crop-only decoding", raw, base()), Catch::Contains("stored as pixels"));
  CHECK_THAT(reason("reduced decoding scale", raw, base()), Catch::Contains("stored as pixels"));
  Settings thumbnails = base();
  thumbnails.pipeline.operations = training_operations(32, {32, 32});
  CHECK_THAT(reason("crop-only decoding", cpu, thumbnails), Catch::Contains("whole image"));
  CHECK_THAT(reason("reduced decoding scale", cpu, thumbnails), Catch::Contains("does not resample"));
  Settings evaluation = base();  // the crop is read through the resize before it
  evaluation.pipeline.operations = {{"resize", {{"size", {256}}}}, {"center_crop", {{"size", {224}}}}};
  CHECK(reason("crop-only decoding", cpu, evaluation).empty());
  LadderContext one_core = cpu;
  one_core.machine.topology.affinity = 1;
  CHECK_THAT(reason("worker threads", one_core, base()), Catch::Contains("as usable cores (1)"));
  Settings limited = base();  // by the user, on 8 cores
  limited.pipeline.execution.cpu_limit = 3;
  REQUIRE(reason("worker threads", cpu, limited).empty());
  std::vector<int> threads;
  for (const Candidate& candidate : step("worker threads").candidates(cpu, limited))
    threads.push_back(candidate.settings.pipeline.execution.threads);
  CHECK(threads == std::vector{2, 3});
  limited.pipeline.execution.cpu_limit = 1;
  CHECK_THAT(reason("worker threads", cpu, limited), Catch::Contains("as execution.cpu_limit (1)"));
  CHECK_THAT(reason("operator threads", one_core, base()), Catch::Contains("only one core"));
  LadderContext few = cpu;
  few.samples = 300;
  CHECK_THAT(reason("batch size", few, base()), Catch::Contains("300 samples"));
}

TEST_CASE("a host setting that does not apply gives the reason") {
  const auto reason = [](std::string_view name, const LadderContext& where, const Settings& settings) {
    return step(name).not_applicable(where, settings);
  };
  const LadderContext cpu = context("cpu");
  for (const char* const name : {"wait policy", "affinity", "huge pages", "allocator"}) {
    INFO(name);
    CHECK(reason(name, cpu, base()).empty());
    CHECK_THAT(reason(name, context("emulated:h100-resnet50"), base()), Catch::Contains("no network"));
    LadderContext alone = cpu;
    alone.starts_processes = false;
    CHECK_THAT(reason(name, alone, base()), Catch::Contains("unstarve tune"));
  }
  for (const char* const name : {"wait policy", "affinity"})
    CHECK_THAT(reason(name, context("cuda"), base()), Catch::Contains("GPU"));
  LadderContext off = cpu, always = cpu, without = cpu;
  off.machine.transparent_huge_pages = "never";
  CHECK_THAT(reason("huge pages", off, base()), Catch::Contains("echo madvise"));
  always.machine.transparent_huge_pages = "always";
  CHECK_THAT(reason("huge pages", always, base()), Catch::Contains("all memory"));
  without.host.allocators.clear();
  CHECK_THAT(reason("allocator", without, base()), Catch::Contains("libjemalloc2"));
  LadderContext of_user = cpu;
  of_user.host.user = {
      {"OMP_WAIT_POLICY", "active"}, {"LD_PRELOAD", "libmimalloc.so.2"}, {"THP_MEM_ALLOC_ENABLE", "1"}};
  CHECK_THAT(reason("wait policy", of_user, base()), Catch::Contains("OMP_WAIT_POLICY=active"));
  CHECK_THAT(reason("allocator", of_user, base()), Catch::Contains("LD_PRELOAD=libmimalloc.so.2"));
  CHECK_THAT(reason("huge pages", of_user, base()), Catch::Contains("THP_MEM_ALLOC_ENABLE=1"));
}

TEST_CASE("the split of the CPUs keeps the number of operator threads if it leaves cores to the loader") {
  Settings settings = base();
  const auto operators = [&] {
    return step("affinity").candidates(context("cpu"), settings).at(0).settings.train.operator_threads;
  };
  CHECK(operators() == 7);
  settings.train.operator_threads = 5;
  CHECK(operators() == 5);
  settings.train.operator_threads = 8;
  CHECK(operators() == 7);
}

TEST_CASE("steps are recorded as a graph on a GPU, with the fused optimiser") {
  const LadderStep& graph = step("step as one graph");
  Settings settings = base();
  CHECK_THAT(graph.not_applicable(context("cpu"), settings), Catch::Contains("GPU"));
  CHECK_THAT(graph.not_applicable(context("cuda"), settings), Catch::Contains("fused"));
  settings.train.optimiser.form = UpdateForm::kFused;
  CHECK(graph.not_applicable(context("cuda"), settings).empty());
  settings = graph.candidates(context("cuda"), settings).at(0).settings;
  CHECK(settings.train.graph == GraphUse::kAuto);
  CHECK_THAT(graph.not_applicable(context("cuda"), settings), Catch::Contains("already"));
}

TEST_CASE("batch norm is fused in the memory format NHWC") {
  const LadderStep& fused = step("fused batch norm");
  Settings settings = base();
  CHECK_FALSE(settings.train.fused_batch_norm);
  CHECK_THAT(fused.not_applicable(context("cpu"), settings), Catch::Contains("NHWC"));
  settings.train.channels_last = true;
  CHECK(fused.not_applicable(context("cpu"), settings).empty());
  settings.train.precision = Precision::kFloat16;
  CHECK_THAT(fused.not_applicable(context("cpu"), settings), Catch::Contains("on a GPU only"));
  CHECK(fused.not_applicable(context("cuda"), settings).empty());
  const Settings after = fused.candidates(context("cuda"), settings).at(0).settings;
  CHECK(after.train.fused_batch_norm);
  CHECK_THAT(fused.not_applicable(context("cuda"), after), Catch::Contains("already"));
}

TEST_CASE("Winograd's algorithm is for the CPU, float32 or bfloat16 without AMX, and the memory format NHWC") {
  const LadderStep& winograd = step("Winograd convolutions");
  Settings settings = base();
  CHECK_FALSE(settings.train.winograd);
  CHECK_THAT(winograd.not_applicable(context("cpu"), settings), Catch::Contains("NHWC"));
  settings.train.channels_last = true;
  CHECK(winograd.not_applicable(context("cpu"), settings).empty());
  CHECK_THAT(winograd.not_applicable(context("cuda"), settings), Catch::Contains("cuDNN"));
  settings.train.precision = Precision::kFloat16;
  CHECK_THAT(winograd.not_applicable(context("cpu"), settings), Catch::Contains("float32"));
  settings.train.precision = Precision::kBfloat16;
  LadderContext with_amx = context("cpu"), without = context("cpu");
  with_amx.machine.instruction_sets = {"amx_bf16"};
  without.machine.instruction_sets = {"avx512_bf16"};
  CHECK_THAT(winograd.not_applicable(with_amx, settings), Catch::Contains("AMX"));
  CHECK(winograd.not_applicable(without, settings).empty());
  settings.train.precision = Precision::kFloat32;
  const Settings after = winograd.candidates(context("cpu"), settings).at(0).settings;
  CHECK(after.train.winograd);
  CHECK_THAT(winograd.not_applicable(context("cpu"), after), Catch::Contains("already"));
}

TEST_CASE("the optimiser has two other implementations, of which the faster one is compared") {
  Settings settings = base();
  const LadderStep& optimiser = step("optimiser implementation");
  const auto forms = [&] {
    std::vector<UpdateForm> list;
    for (const Candidate& each : optimiser.candidates(context("cpu"), settings))
      list.push_back(each.settings.train.optimiser.form);
    return list;
  };
  CHECK(forms() == std::vector{UpdateForm::kForeach, UpdateForm::kFused});
  settings.train.optimiser.name = OptimiserName::kLars;  // has no fused form
  CHECK(forms() == std::vector{UpdateForm::kForeach});
}

TEST_CASE("steps that change what is learned apply on request only") {
  LadderContext where = context("cpu");
  const auto reason = [&](std::string_view name, const Settings& settings) {
    return step(name).not_applicable(where, settings);
  };
  for (const char* const name : {"gradient accumulation", "average of the weights (EMA)", "progressive image size",
                                 "label smoothing", "lookahead"}) {
    INFO(name);
    CHECK(reason(name, base()).empty());
    CHECK_THAT(step(name).not_applicable(context("emulated:h100-resnet50"), base()), Catch::Contains("no network"));
  }
  Settings settings = base();
  settings.train.image_size = 8;
  CHECK_THAT(reason("progressive image size", settings), Catch::Contains("8 px"));
  settings.train.average = 0.99;
  CHECK_THAT(reason("average of the weights (EMA)", settings), Catch::Contains("already 0.99"));
  settings.train.label_smoothing = 0.05;
  CHECK_THAT(reason("label smoothing", settings), Catch::Contains("already 0.05"));
  settings.train.lookahead.every = 3;
  CHECK_THAT(reason("lookahead", settings), Catch::Contains("already every 3 updates"));
  CHECK_THAT(reason("images on the device", base()), Catch::Contains("found a type of floats; expected uint8"));
  settings.pipeline.output.type = ElementType::kUint8;
  CHECK_THAT(reason("images on the device", settings), Catch::Contains("random_resized_crop"));
  settings.pipeline.operations = training_operations(32, {32, 32});
  settings.train.resident = Residence::kOff;
  CHECK(reason("images on the device", settings).empty());
  settings.train.resident = Residence::kAuto;
  CHECK_THAT(reason("images on the device", settings), Catch::Contains("already"));
  settings.train.resident = Residence::kOff;
  settings.train.progressive.image_size = 4;
  CHECK_THAT(reason("images on the device", settings), Catch::Contains("changes during the run"));
  where.samples = 8 * 2 * 32 - 1;
  CHECK_THAT(reason("gradient accumulation", base()), Catch::Contains("8 updates of 64"));
  where = context("cpu");
  where.tried = {"average"};
  CHECK(reason("average of the weights (EMA)", base()).empty());
  CHECK_THAT(reason("gradient accumulation", base()), Catch::Contains("--try accumulate --val DATA"));
  CHECK_THAT(reason("progressive image size", base()), Catch::Contains("--try progressive --val DATA"));
}

TEST_CASE("steps that change what is learned follow the optimiser, the data and the image size") {
  LadderContext where = context("cpu");
  Settings settings = base();
  const auto candidate = [&](std::string_view name) { return step(name).candidates(where, settings).at(0).settings; };
  CHECK(candidate("gradient accumulation").train.accumulate == 2);
  CHECK(candidate("gradient accumulation").train.learning_rate == Approx(2 * settings.train.learning_rate));
  settings.train.optimiser.name = OptimiserName::kAdamw;
  CHECK(candidate("gradient accumulation").train.learning_rate ==
        Approx(std::sqrt(2.0) * settings.train.learning_rate));
  where.samples = 32 * 290;  // half an epoch has 145 updates
  CHECK(candidate("average of the weights (EMA)").train.average == Approx(0.9931));
  for (const std::uint64_t samples : {1, 100, 1'000'000'000}) {
    where.samples = samples;
    const double decay = candidate("average of the weights (EMA)").train.average;
    CHECK(decay >= 0.9);
    CHECK(decay <= 0.9999);
  }
  CHECK(candidate("label smoothing").train.label_smoothing == 0.1);
  CHECK(candidate("lookahead").train.lookahead.every == 5);
  CHECK(candidate("images on the device").train.resident == Residence::kOn);
  for (const auto& [full, first] : {std::pair{224, 160}, {192, 128}, {176, 128}, {32, 24}, {28, 20}}) {
    settings.train.image_size = full;
    CHECK(candidate("progressive image size").train.progressive.image_size == first);
  }
  for (int full = kLeastSide; full < 600; ++full) {
    settings.train.image_size = full;
    if (!step("progressive image size").not_applicable(where, settings).empty()) continue;
    CHECK_NOTHROW(check_settings(candidate("progressive image size").train));
  }
}

TEST_CASE("larger batches leave at least eight per epoch and scale the learning rate") {
  LadderContext where = context("cpu");
  where.samples = 2048;
  const auto candidates = step("batch size").candidates(where, base());
  REQUIRE(candidates.size() == 3);
  CHECK(candidates.back().settings.pipeline.batch.size == 256);
  CHECK(candidates.back().settings.train.learning_rate == Approx(base().train.learning_rate * 8));
}

TEST_CASE("invalid targets are rejected") {
  CHECK(parse_target("cuda:1").cuda());
  CHECK(parse_target("emulated:h100-resnet50").accelerator() == "h100-resnet50");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "emulated:", "emulated:h1"})
    CHECK_THROWS_AS(parse_target(bad), Error);
}

}  // namespace
}  // namespace unstarve
