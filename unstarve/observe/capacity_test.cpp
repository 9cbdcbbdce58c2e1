#include "unstarve/observe/capacity.h"

#include <catch2/catch.hpp>

using namespace unstarve;

namespace {

constexpr CapacityDemand kResnet{400, 0.224, 0.9};  // 1607.14 samples/s

StageProfile stage(const char* name, std::int64_t busy_ns) {
  StageProfile profile;
  profile.name = name;
  profile.busy_ns = busy_ns;
  return profile;
}

// A loader of `loader` samples/s on 8 cores, of which `cores` are busy.
BenchFigures figures(double loader, double cores, double storage) {
  BenchFigures f;
  f.loader = loader;
  f.loader_cores = cores;
  f.storage = storage;
  f.usable_cores = 8;
  f.stages = {stage("read", 20), stage("decode", 60), stage("augment", 20), stage("wait", 500)};
  return f;
}

// The search when accelerators up to `truth` are fed, and the numbers that it tries.
struct Tried {
  CapacitySearch search;
  std::vector<int> numbers;
};
Tried tried(int estimate, int truth, int most = 512) {
  Tried result;
  result.search = search_capacity(estimate, most, 0.9, [&](int number) {
    result.numbers.push_back(number);
    return number <= truth ? 0.95 : 0.85;
  });
  return result;
}

}  // namespace

TEST_CASE("the estimate is rate x time / (batch x utilisation), rounded down", "[capacity]") {
  CHECK(kResnet.samples_per_s() == Approx(1607.14).epsilon(1e-5));
  CHECK(estimate_accelerators(1607, kResnet) == 0);
  CHECK(estimate_accelerators(1608, kResnet) == 1);
  CHECK(estimate_accelerators(3 * kResnet.samples_per_s(), kResnet) == 3);
  CHECK(estimate_accelerators(16'071, kResnet) == 9);
  CHECK(estimate_accelerators(0, kResnet) == 0);
  CHECK(estimate_accelerators(1000, {}) == 0);
}

TEST_CASE("a good estimate is confirmed by two measurements", "[capacity]") {
  CHECK(tried(5, 5).search.fed == 5);
  CHECK(tried(5, 5).numbers == std::vector<int>{5, 6});
  CHECK(tried(0, 0).search.fed == 0);
  CHECK(tried(0, 0).numbers == std::vector<int>{1});
}

TEST_CASE("the search finds every number from every estimate, with its neighbour measured", "[capacity]") {
  for (int truth = 0; truth <= 40; ++truth) {
    for (int estimate = 0; estimate <= 50; ++estimate) {
      CAPTURE(truth, estimate);
      const Tried result = tried(estimate, truth, 40);
      CHECK(result.search.fed == truth);
      if (truth > 0) CHECK(result.search.utilisation.contains(truth));
      if (truth < 40) CHECK(result.search.utilisation.contains(truth + 1));
      CHECK(result.numbers.size() == result.search.utilisation.size());  // none is measured twice
      CHECK(result.numbers.size() <= 12);
    }
  }
}

TEST_CASE("the limit is named with its evidence", "[capacity]") {
  const CapacityVerdict cpu = judge_capacity(figures(2000, 7.9, 50'000), kResnet, 1);
  CHECK(cpu.limit == CapacityLimit::kCpu);
  CHECK(cpu.sentence == "the CPU: decode takes 60 % of the loader's time, 7.9 of 8 cores are busy");
  const CapacityVerdict threads = judge_capacity(figures(2000, 3.0, 50'000), kResnet, 1);
  CHECK(threads.limit == CapacityLimit::kThreads);
  CHECK_THAT(threads.sentence, Catch::Contains("only 3.0 of 8 cores"));
  BenchFigures crowded = figures(2000, 3.0, 50'000);
  crowded.delayed_cores = 4.5;
  CHECK(judge_capacity(crowded, kResnet, 1).limit == CapacityLimit::kOthers);
  CHECK_THAT(judge_capacity(crowded, kResnet, 1).sentence, Catch::Contains("ready to use 4.5 more"));
  crowded.loader = 3300;  // that would suffice
  CHECK(judge_capacity(crowded, kResnet, 1).limit == CapacityLimit::kOthers);
  crowded.loader = 2000;
  crowded.delayed_cores = 1;
  CHECK(judge_capacity(crowded, kResnet, 1).limit == CapacityLimit::kThreads);
  const CapacityVerdict storage = judge_capacity(figures(2000, 3.0, 2100), kResnet, 1);
  CHECK(storage.limit == CapacityLimit::kStorage);
  CHECK(storage.sentence == "the storage: reading alone reaches 2 100 samples/s, the loader 2 000 samples/s");
  // A loader that would suffice for two, although only one had enough.
  CHECK(judge_capacity(figures(3300, 7.9, 50'000), kResnet, 1).limit == CapacityLimit::kVariation);
  CHECK(judge_capacity(figures(3300, 7.9, 50'000), kResnet, 1, 1).sentence == "unknown: it was not reached");
  CHECK(judge_capacity({}, kResnet, 0).limit == CapacityLimit::kUnknown);
}

TEST_CASE("what else used the cores is named first", "[capacity]") {
  BenchFigures f = figures(2000, 3.0, 50'000);
  f.other_cores = 4.8;
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kOthers);
  CHECK(judge_capacity(f, kResnet, 1).sentence ==
        "other programs used 4.8 of 8 cores while this was measured; repeat this on an idle machine");
  f.storage = 2100;
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kOthers);
  f.storage = 50'000;
  f.free_cores = 56;  // of a machine with 64 cores, 59 are idle or free
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kThreads);
  f.stolen_share = 0.1;
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kOthers);
  CHECK_THAT(judge_capacity(f, kResnet, 1).sentence, Catch::StartsWith("the hypervisor took 10.0 %"));
  f.stolen_share = 0;
  f.throttled_share = 0.3;
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kQuota);
  CHECK_THAT(judge_capacity(f, kResnet, 1).sentence, Catch::Contains("stopped threads in 30 % of its periods"));
  f.loader_cores = 7.9;  // all that the quota permits
  CHECK(judge_capacity(f, kResnet, 1).limit == CapacityLimit::kCpu);
  // The loader alone had all cores, but fewer are fed than its rate permits.
  BenchFigures late = figures(3300, 7.9, 50'000);
  late.other_cores = 2;
  CHECK(judge_capacity(late, kResnet, 1).limit == CapacityLimit::kOthers);
  late.loader = 2000;
  CHECK(judge_capacity(late, kResnet, 1).limit == CapacityLimit::kCpu);
  CHECK_THAT(judge_capacity(late, kResnet, 1).sentence,
             Catch::EndsWith("other programs used 2.0 of 8 cores meanwhile, so rates may be too low"));
}

TEST_CASE("more threads are recommended only if nothing else used the cores", "[capacity]") {
  for (const double cores : {0.5, 3.0, 6.0, 7.9}) {
    for (const double others : {0.0, 0.5, 1.0, 6.0}) {
      for (const double delayed : {0.0, 1.0, 5.0}) {
        for (const double stolen : {0.0, 0.2}) {
          for (const double throttled : {0.0, 0.5}) {
            BenchFigures f = figures(2000, cores, 50'000);
            f.other_cores = others;
            f.delayed_cores = delayed;
            f.stolen_share = stolen;
            f.throttled_share = throttled;
            const CapacityVerdict verdict = judge_capacity(f, kResnet, 1);
            const bool quiet = other_users(f).empty() && quota_stops(f).empty();
            if (verdict.limit == CapacityLimit::kThreads) CHECK(quiet);
            CHECK((verdict.sentence.find("use more threads") != std::string::npos) ==
                  (verdict.limit == CapacityLimit::kThreads));
          }
        }
      }
    }
  }
}

TEST_CASE("what more cores would give if the CPU is the limit", "[capacity]") {
  // 4 ms of CPU time per sample: 2000 samples/s on 8 cores.
  const auto all = what_if(figures(2000, 8, 7000), kResnet);
  REQUIRE(all.size() == 4);
  CHECK(all[0].change == "16 cores");
  CHECK(all[0].samples_per_s == Approx(4000));
  CHECK(all[0].fed == 2);
  CHECK(all[0].arithmetic == "1.00 x min(16 / 4 ms, storage 7 000)");
  CHECK(all[1].samples_per_s == Approx(7000));  // the storage limits 32 cores
  CHECK(all[2].change == "storage of twice the rate");
  CHECK(all[2].samples_per_s == Approx(2000));
  CHECK(all[3].samples_per_s == Approx(4000));
  CHECK(model_text(figures(2000, 8, 7000)) == "samples/s = 1.00 x min(cores / 4 ms, storage 7 000)");
}

TEST_CASE("what faster storage would give if the storage is the limit", "[capacity]") {
  // 0.5 ms of CPU time per sample would permit 16000 samples/s; 90 % of the storage's rate are reached.
  const auto all = what_if(figures(1800, 0.9, 2000), kResnet);
  REQUIRE(all.size() == 4);
  CHECK(all[0].samples_per_s == Approx(1800));
  CHECK(all[0].fed == 1);
  CHECK(all[2].samples_per_s == Approx(3600));
  CHECK(all[2].fed == 2);
  CHECK(all[2].arithmetic == "0.90 x min(8 / 0.5 ms, storage 4 000)");
}

TEST_CASE("idle cores lower the efficiency of the model, unmeasured figures give no prediction", "[capacity]") {
  const auto all = what_if(figures(1000, 4, 0), kResnet);  // without a rate of the storage
  REQUIRE(all.size() == 2);
  CHECK(all[0].samples_per_s == Approx(2000));
  CHECK(all[0].arithmetic == "0.50 x 16 / 4 ms");
  CHECK(what_if(figures(0, 4, 1000), kResnet).empty());
  CHECK(what_if(figures(1000, 0, 1000), kResnet).empty());
  CHECK(what_if({}, kResnet).empty());
  CHECK(model_text({}).empty());
}

TEST_CASE("the cores that one accelerator more needs", "[capacity]") {
  CHECK(cores_needed(figures(2000, 8, 7000), kResnet, 2) ==
        "2 x 1 607 samples/s x 4 ms of CPU time = 12.9 cores (8 usable)");
  CHECK(cores_needed(figures(1000, 4, 0), kResnet, 1) ==
        "1 x 1 607 samples/s x 4 ms of CPU time / 0.50 = 12.9 cores (8 usable)");
  CHECK_THAT(cores_needed(figures(2000, 8, 2100), kResnet, 2),
             Catch::EndsWith("storage delivers only 2 100 samples/s"));
  CHECK(cores_needed({}, kResnet, 1).empty());
}
