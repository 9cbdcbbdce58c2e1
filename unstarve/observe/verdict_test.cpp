#include "unstarve/observe/verdict.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace unstarve;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ResNet-50 on a CPU: all other parts are faster than the network.
BenchFigures network_bound() {
  BenchFigures f;
  f.storage = 41200;
  f.loader = 2310;
  f.copy = 9800;
  f.network = 612;
  f.together = 598;
  f.loader_cores = 1.2;
  f.usable_cores = 2;
  return f;
}

// Two cores feed an emulated H100 from ImageNet photographs.
BenchFigures loader_bound() {
  BenchFigures f;
  f.storage = 38000;
  f.loader = 1180;
  f.copy = 25000;
  f.network = 1786;
  f.together = 1150;
  f.data_wait = 0.35;
  f.loader_cores = 1.96;
  f.usable_cores = 2;
  f.stages = {{"read", 1000, 40'000'000, 0},
              {"decode", 1000, 1'200'000'000, 0},
              {"augment", 1000, 400'000'000, 0},
              {"store", 1000, 60'000'000, 0},
              {"wait", 1000, 9'000'000'000, 0}};
  return f;
}

}  // namespace

TEST_CASE("network-bound: the sentence gives the number of devices the loader can feed", "[verdict]") {
  BenchFigures f = network_bound();
  BenchVerdict v = judge_bench(f);
  CHECK(v.bottleneck == Bottleneck::kNetwork);
  CHECK(v.overlap == Approx(0.977).epsilon(0.001));
  CHECK(v.sentence ==
        "the network is the bottleneck; the loader can feed 3.8 such devices, and 1 core of 2 would be enough for one");
  f.loader_cores = 2;
  f.loader = 640;
  v = judge_bench(f);
  CHECK(v.sentence == "the network is the bottleneck; the loader can feed 1.0 such devices");
}

TEST_CASE("loader-bound: the sentence names the slowest stage and the number of cores needed", "[verdict]") {
  const BenchVerdict v = judge_bench(loader_bound());
  CHECK(v.bottleneck == Bottleneck::kLoader);
  CHECK(contains(v.sentence, "decode takes 71 % of its time"));  // waiting is not work
  CHECK(contains(v.sentence, "can feed 0.66 such devices"));
  CHECK(contains(v.sentence, "about 3 cores would be needed for one (2 usable)"));
  CHECK_FALSE(contains(v.sentence, "worker threads"));
}

TEST_CASE("loader-bound with idle cores: more threads are recommended", "[verdict]") {
  BenchFigures f = loader_bound();
  f.loader_cores = 1.0;
  f.usable_cores = 8;
  CHECK(contains(judge_bench(f).sentence, "only 1.0 are busy: increase the number of worker threads"));
}

TEST_CASE("a loader nearly as slow as reading alone is storage-bound, unless its cores are busy", "[verdict]") {
  BenchFigures f = loader_bound();
  f.storage = 1400;
  f.loader_cores = 0.4;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kStorage);
  CHECK(contains(judge_bench(f).sentence, "with 0.4 of 2 cores busy"));
  f.loader_cores = 1.9;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kLoader);
}

TEST_CASE("a slow copy is the bottleneck", "[verdict]") {
  BenchFigures f = loader_bound();
  f.loader = 30000;
  f.copy = 9000;
  f.network = 12000;
  f.together = 8800;
  const BenchVerdict v = judge_bench(f);
  CHECK(v.bottleneck == Bottleneck::kCopy);
  CHECK(contains(v.sentence, "75.0 % of the network's rate"));
}

TEST_CASE("a joint rate well below the slowest part is contention", "[verdict]") {
  BenchFigures f = network_bound();
  f.copy = 0;
  f.loader = 700;
  f.together = 450;
  BenchVerdict v = judge_bench(f);
  CHECK(v.bottleneck == Bottleneck::kContention);
  CHECK(v.overlap == Approx(450.0 / 612));
  CHECK(contains(v.sentence, "compete for cores"));

  f.together = 330;  // 1 / (1/700 + 1/612) = 326.5
  f.data_wait = 0.46;
  v = judge_bench(f);
  CHECK(contains(v.sentence, "one after the other"));
  CHECK(contains(v.sentence, "46.0 % of the time is spent waiting for data"));
}

TEST_CASE("parts that never wait do not run one after the other", "[verdict]") {
  BenchFigures f = network_bound();
  f.copy = 0;
  f.loader = 700;
  f.together = 330;
  f.data_wait = 0.001;
  CHECK(contains(judge_bench(f).sentence, "compete for cores"));
}

TEST_CASE("other programs are named, not the loader's threads", "[verdict]") {
  BenchFigures f = network_bound();
  f.together = 300;
  f.other_cores = 1.2;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kContention);
  CHECK(contains(judge_bench(f).sentence, "other programs used 1.2 of 2 cores while this was measured"));
  CHECK_FALSE(contains(judge_bench(f).sentence, "threads"));
  f.other_cores = 0.1;
  CHECK_FALSE(contains(judge_bench(f).sentence, "other programs"));
  f.stolen_share = 0.2;
  CHECK(contains(judge_bench(f).sentence, "the hypervisor took 20.0 %"));
  f.together = 598;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kNetwork);
  CHECK(contains(judge_bench(f).sentence, "rates may be too low"));
}

TEST_CASE("other programs on cores above the quota take nothing", "[verdict]") {
  BenchFigures f = network_bound();
  f.other_cores = 10;
  CHECK(other_users(f) == "other programs used 10.0 of 2 cores");
  f.free_cores = 62;
  CHECK(other_users(f).empty());
  f.other_cores = 63;
  CHECK(other_users(f) == "other programs used 63.0 of 64 cores");
}

TEST_CASE("a loader that the CPU quota stops does not need more threads", "[verdict]") {
  BenchFigures f = loader_bound();
  f.loader_cores = 1.0;
  f.throttled_share = 0.4;
  CHECK(contains(judge_bench(f).sentence, "the CPU quota stopped threads in 40 % of its periods: raise the quota"));
  CHECK_FALSE(contains(judge_bench(f).sentence, "worker threads"));
  f.loader_cores = 1.96;  // all that the quota permits
  CHECK_FALSE(contains(judge_bench(f).sentence, "quota"));
  f = network_bound();
  f.throttled_share = 0.4;
  CHECK_FALSE(contains(judge_bench(f).sentence, "quota"));
}

TEST_CASE("loader and network are equally fast: what the consumer waited decides", "[verdict]") {
  BenchFigures f = loader_bound();  // with other programs on both cores
  f.loader = 1755;
  f.together = 1776;
  f.data_wait = 0;
  f.utilisation = 0.994;
  f.loader_cores = 0.4;
  f.other_cores = 1.6;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kNetwork);
  f.loader = 1830;
  f.together = 1650;
  f.data_wait = 0.072;
  const BenchVerdict v = judge_bench(f);
  CHECK(v.bottleneck == Bottleneck::kLoader);
  CHECK(contains(v.sentence,
                 "only 0.4 are busy; other programs used 1.6 of 2 cores while this was measured, so the "
                 "loader lacked cores: measure again when the machine is quiet"));
  CHECK_FALSE(contains(v.sentence, "threads"));
  f.copy = 1650;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kCopy);
}

TEST_CASE("overlap, waiting and verdict never contradict each other", "[verdict]") {
  for (const double loader : {50.0, 100.0, 400.0, 5000.0}) {
    for (const double network : {50.0, 110.0, 900.0}) {
      for (const double together : {20.0, 49.0, 60.0, 100.0, 400.0, 2000.0}) {
        for (const double wait : {0.0, 0.04, 0.3, 0.9}) {
          for (const double others : {0.0, 1.5}) {
            for (const double cores : {0.5, 1.9}) {
              BenchFigures f = loader_bound();
              f.loader = loader;
              f.network = network;
              f.together = together;
              f.data_wait = wait;
              f.utilisation = 1 - wait;
              f.other_cores = others;
              f.loader_cores = cores;
              const BenchVerdict v = judge_bench(f);
              const bool equal = std::max(loader, network) <= 1.15 * std::min(loader, network);
              CHECK((v.bottleneck == Bottleneck::kUnknown) == contradicts(f));
              CHECK(contradicts(f) == (v.overlap > 1.1));
              CHECK((v.bottleneck == Bottleneck::kContention) == (v.overlap < 0.85));
              if (v.bottleneck == Bottleneck::kNetwork) CHECK((equal ? wait < 0.05 : network < loader));
              if (v.bottleneck == Bottleneck::kLoader) CHECK((equal ? wait >= 0.05 : loader < network));
              CHECK(contains(v.sentence, "other programs") == (others > 0));
              if (others > 0) CHECK_FALSE(contains(v.sentence, "threads"));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a single measured part is never contention", "[verdict]") {
  BenchFigures f;
  f.network = 612;
  f.together = 300;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kNetwork);
  CHECK(contains(judge_bench(f).sentence, "the loader was not measured"));
}

TEST_CASE("missing measurements are named", "[verdict]") {
  CHECK(judge_bench({}).bottleneck == Bottleneck::kUnknown);
  CHECK(judge_bench({}).sentence == "nothing was measured");

  BenchFigures f;
  f.storage = 41200;
  CHECK(judge_bench(f).sentence == "only the storage was measured: 41 200 samples/s");

  f.loader = 2310;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kLoader);
  CHECK(contains(judge_bench(f).sentence, "no device was measured"));
  CHECK(judge_bench(f).overlap == 0);
}

TEST_CASE("NaN and infinite rates count as not measured", "[verdict]") {
  BenchFigures f = network_bound();
  f.copy = std::numeric_limits<double>::quiet_NaN();
  f.loader_cores = -1;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kNetwork);
  f.network = std::numeric_limits<double>::infinity();
  f.together = 0;
  CHECK(judge_bench(f).bottleneck == Bottleneck::kLoader);
}
