// Writes a report of recorded figures for the browser tests: sample_report OUT [hostile]
//
// `hostile` makes the same report with names that try to be markup, overlong words and figures that are not finite.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>

#include "unstarve/observe/report.h"

using namespace unstarve;

namespace {

struct Measured {
  int batch;
  double memory_gb, rate;
};

LedgerEntry entry(const char* name, const char* change, Verdict verdict, const Measured& measured,
                  RatioInterval ratio) {
  LedgerEntry e;
  e.name = name;
  e.change = change;
  e.verdict = verdict;
  e.batch = measured.batch;
  e.memory_bytes = static_cast<std::size_t>(measured.memory_gb * 1024 * 1024 * 1024);
  e.samples_per_s = measured.rate;
  e.step_ms = measured.rate > 0 ? measured.batch * 1e3 / measured.rate : 0;
  e.ratio = ratio;
  return e;
}

LedgerEntry absent(const char* name, const char* reason) {
  LedgerEntry e;
  e.name = name;
  e.verdict = Verdict::kNotApplicable;
  e.reason = reason;
  return e;
}

struct Range {
  double low, high;
};

Profile profile(int batch, double rate, double seconds, std::vector<StepPart> step, const Range& utilisation) {
  Profile p;
  p.wall_ns = static_cast<std::int64_t>(seconds * 1e9);
  p.samples = static_cast<std::int64_t>(rate * seconds);
  p.batches = p.samples / batch;
  p.step = std::move(step);
  for (int i = 1; i <= static_cast<int>(seconds); ++i) {
    const double wave = 0.5 + 0.5 * std::sin(i * 1.7) * std::cos(i * 0.6);
    p.utilisation.push_back({static_cast<double>(i), utilisation.low + (utilisation.high - utilisation.low) * wave});
  }
  return p;
}

ReportSection training() {
  ReportSection s;
  s.ledger.title = "Training on cpu, resnet18 at 32 px";
  auto& all = s.ledger.entries;
  all.push_back(
      entry("plain settings", "batch 32, float32, NCHW, one worker thread", Verdict::kBase, {32, 0.61, 273}, {}));
  all.push_back(entry("batch size", "batch 32 -> 128", Verdict::kKept, {128, 0.94, 341}, {1.25, 1.22, 1.28, 8}));
  all.back().affects_learning = true;
  all.back().loss_before = 2.301;
  all.back().loss_after = 2.318;
  all.push_back(
      entry("mixed precision", "float32 -> bfloat16", Verdict::kKept, {128, 0.62, 492}, {1.44, 1.42, 1.46, 9}));
  all.back().affects_learning = true;
  all.back().loss_before = 2.318;
  all.back().loss_after = 2.317;
  all.push_back(entry("channels-last", "NCHW -> NHWC", Verdict::kReverted, {128, 0.63, 482}, {0.98, 0.96, 1.0, 8}));
  all.push_back(entry("optimiser implementation", "per-parameter -> fused SGD", Verdict::kKept, {128, 0.62, 522},
                      {1.06, 1.03, 1.09, 7}));
  all.push_back(absent("uint8 over the bus", "the device is the host: there is no bus to cross"));
  all.push_back(absent("pinned memory", "the device is the host: there is no copy to speed up"));
  all.push_back(entry("worker threads", "1 -> 2", Verdict::kUndecided, {128, 0.64, 548}, {1.05, 0.94, 1.17, 4}));
  all.back().reason = "time ran out after 4 of 6 pairs";
  all.push_back(entry("prefetch depth", "0 -> 2 batches", Verdict::kKept, {128, 0.66, 614}, {1.18, 1.12, 1.24, 8}));
  all.push_back(absent("asynchronous copy", "the device is the host: there is no copy to speed up"));
  all.push_back(entry("operator threads", "", Verdict::kUndecided, {}, {}));
  all.back().reason = "6 pairs take about 5 s, but no time is left; increase --minutes";
  all.push_back(entry("tuned settings", "", Verdict::kFinal, {128, 0.66, 614}, {2.25, 2.17, 2.33, 8}));
  s.verdict =
      "the network is the bottleneck; the loader can feed 3.8 such devices, and 1 core of 2 would be enough for one";
  s.before = profile(32, 273, 24,
                     {{"wait", 41.2, 39.8, 61.0},
                      {"copy", 0.9, 0.8, 1.4},
                      {"forward", 24.1, 23.8, 27.0},
                      {"backward", 44.0, 43.5, 49.1},
                      {"optimiser", 7.0, 6.9, 8.1}},
                     {0.52, 0.72});
  s.after = profile(128, 614, 26,
                    {{"wait", 4.1, 2.2, 14.0},
                     {"copy", 2.9, 2.8, 4.4},
                     {"forward", 70.1, 69.8, 77.0},
                     {"backward", 124.0, 122.5, 139.1},
                     {"optimiser", 7.2, 7.1, 8.3}},
                    {0.91, 0.99});
  return s;
}

ReportSection feeding() {
  ReportSection s;
  s.ledger.title = "Feeding emulated:h100-resnet50 from JPEG photographs";
  auto& all = s.ledger.entries;
  all.push_back(
      entry("plain settings", "one worker thread, no prefetch, full decode", Verdict::kBase, {64, 0.21, 212}, {}));
  all.push_back(entry("worker threads", "1 -> 2", Verdict::kKept, {64, 0.24, 418}, {1.97, 1.93, 2.01, 8}));
  all.push_back(entry("prefetch depth", "0 -> 2 batches", Verdict::kKept, {64, 0.29, 447}, {1.07, 1.05, 1.09, 8}));
  all.push_back(
      entry("crop-only decoding", "whole image -> crop", Verdict::kKept, {64, 0.29, 803}, {1.80, 1.74, 1.86, 8}));
  all.push_back(entry("reduced decoding scale", "1/1 -> 1/2 where the crop allows", Verdict::kKept, {64, 0.28, 1264},
                      {1.57, 1.52, 1.62, 8}));
  all.back().approximate = true;
  all.push_back(absent("mixed precision", "an emulated accelerator computes nothing"));
  all.push_back(entry("defaults", "", Verdict::kFinal, {64, 0.28, 1230}, {5.80, 5.62, 5.98, 8}));
  s.verdict =
      "the loader is the bottleneck: decode takes 71 % of its time; it can feed 0.71 such devices, and about "
      "3 cores would keep one busy (2 usable here)";
  s.before = profile(64, 212, 20, {{"wait", 266, 262, 301}, {"compute", 36, 36, 36}}, {0.10, 0.14});
  s.after = profile(64, 1230, 20, {{"wait", 16.2, 14.9, 26.0}, {"compute", 35.8, 35.8, 35.9}}, {0.61, 0.74});
  s.before->stages = {{"read", 4240, 110'000'000, 486'000'000},
                      {"decode", 4240, 16'400'000'000, 3'000'000'000},
                      {"augment", 4240, 2'300'000'000, 638'000'000},
                      {"store", 4240, 600'000'000, 2'552'000'000}};
  s.after->stages = {{"read", 24600, 640'000'000, 2'820'000'000},
                     {"decode", 24600, 27'300'000'000, 9'000'000'000},
                     {"augment", 24600, 8'500'000'000, 3'700'000'000},
                     {"store", 24600, 2'100'000'000, 3'700'000'000},
                     {"wait", 24600, 900'000'000, 0}};
  return s;
}

CurveSection curves() {
  CurveSection s;
  s.title = "Learning rates of resnet18";
  s.verdict = "learning rate 0.0123: the smoothed loss falls most steeply there";
  s.tiles = {{"0.0123", "steepest descent"}, {"0.0307", "a tenth of the rate at the minimum"}};
  s.notes = {"every tenth rate is shown"};
  Curve losses{"loss", CurveLook::kDots, {}}, smoothed{"smoothed loss", CurveLook::kLine, {}};
  Curve slope{"slope", CurveLook::kDashed, {}};
  for (int i = 0; i <= 60; ++i) {
    const double x = -6 + i * 0.1, y = 2.3 - 1 / (1 + std::exp(-(x + 2) / 0.3)) + std::exp(4 * (x + 0.6));
    smoothed.points.push_back({std::pow(10, x), y});
    losses.points.push_back({std::pow(10, x), i == 60 ? 40 : y + 0.1 * std::sin(17 * i)});
    if (i > 5) slope.points.push_back({std::pow(10, x), -std::exp(-(x + 2) * (x + 2))});
  }
  s.charts.push_back({"Loss after each update",
                      "learning rate",
                      CurveAxis::kDecades,
                      CurveUnit::kNumber,
                      false,
                      {losses, smoothed},
                      {{"steepest descent", 0.0123}, {"a tenth of the minimum", 0.0307}}});
  s.charts.push_back({"Slope", "learning rate", CurveAxis::kDecades, CurveUnit::kNumber, false, {slope}, {}});
  Curve rate{"loader and trainer", CurveLook::kLine, {}}, memory{"peak memory", CurveLook::kLine, {}};
  for (int i = 0; i < 9; ++i) {
    const double batch = 1 << i, of = 600 * batch / (batch + 10);
    rate.points.push_back({batch, of, of * 0.96, of * 1.05});
    memory.points.push_back({batch, (1 << 29) + batch * (1 << 24)});
  }
  s.charts.push_back({"Samples per second",
                      "samples per batch",
                      CurveAxis::kDoublings,
                      CurveUnit::kNumber,
                      true,
                      {rate},
                      {{"knee", 128}}});
  s.charts.push_back(
      {"Peak memory", "samples per batch", CurveAxis::kDoublings, CurveUnit::kGigabyte, true, {memory}, {}});
  const Curve front{"Pareto front",
                    CurveLook::kLine,
                    {{2, 0.6}, {3, 0.65}, {40, 0.76}},
                    {"small_0.35", "small_0.5", "large"},
                    {1.7e6, 2e6, 26e6}};
  // The label of the last point has no room next to the right edge, that of the first one none to the right.
  const Curve others{
      "other networks", CurveLook::kDots, {{2.01, 0.599}, {52, 0.7}}, {"small_0.34", "largest"}, {1.6e6, 30e6}};
  s.charts.push_back({"Accuracy over latency",
                      "latency, ms",
                      CurveAxis::kDecades,
                      CurveUnit::kPercent,
                      false,
                      {front, others},
                      {},
                      1.5,
                      55,
                      0.5,
                      0.8});
  s.findings = {{"the loader has one worker", "it is busy for 99 % of the time", "num_workers=4", "up to 2.00 times"},
                {"writing logs stops the training", "7 % of the time", "log less often", ""}};
  s.bars = {{"Rates",
             "samples/s",
             {{"storage", "540 000 [0, 600 000]", {{"", 540000}}, 0, 600000},
              {"loader", "410 [400, 420]", {{"", 410}}, 400, 420},
              {"copy", "90", {{"", 90}}}},
             "",
             0,
             900},
            {"Parts of a step",
             "ms",
             {{"mean", "30 ms", {{"kernel", 20}, {"loader", 8}, {"communication", 2}}},
              {"slowest tenth", "50 ms", {{"kernel", 20}, {"loader", 30}}}},
             "a mark",
             25}};
  s.timelines = {{"Timeline of 2 typical steps",
                  0.02,
                  {"main thread", "device 0, stream 7"},
                  {"__next__", "forward", "conv2d", "gemm"},
                  {"loader", "operator", "kernel"},
                  {0, 0.01},
                  {{0, 0, 0, 0, 0.004},
                   {0, 1, 1, 0.004, 0.005},
                   {0, 2, 1, 0.005, 0.001},
                   {0, 0, 0, 0.01, 0.004},
                   {0, 1, 1, 0.014, 0.005},
                   {1, 3, 2, 0.006, 0.003},
                   {1, 3, 2, 0.016, 0.003}}}};
  s.flames = {{"Flame graph",
               {"all",
                "",
                1,
                {{"load", "train.py:12", 0.6, {{"decode", "codec.py:7", 0.35, {}}, {"resize", "codec.py:9", 0.2, {}}}},
                 {"train", "train.py:14", 0.4, {{"forward", "torch/nn/functional.py:3", 0.3, {}}}}}}}};
  s.tables = {{"All rates", {"rate", "loss", "remark"}, {{"0.01", "2.1", ""}, {"0.02", "1.9", "lowest"}}, true}};
  return s;
}

Comparison comparison() {
  Comparison c;
  c.headline =
      "4.56 [4.15, 5.01] times the images per second of torch's DataLoader with torchvision, 2 workers, normalised in "
      "the main process; from the second epoch on 6.02 [5.65, 6.42] times";
  c.command = "python -m unstarve.comparison photos/ --pairs 6 --seconds 1.5";
  c.setup = "640 photographs, float32 batches of 64 as torch tensors; 2 cores, medians of 6 blocks of 1.5 s";
  c.loaders = {{"unstarve", "", 4143, {}, {}},
               {"unstarve, from the second epoch on", "", 5151, {}, {}},
               {"torch's DataLoader with Pillow", "4 workers, prefetch 4", 653, RatioInterval{6.77, 5.56, 8.25, 6},
                RatioInterval{8.96, 8.08, 9.93, 6}},
               {"torch's DataLoader with torchvision", "2 workers", 914, RatioInterval{4.56, 4.15, 5.01, 6},
                RatioInterval{6.02, 5.65, 6.42, 6}}};
  return c;
}

Report sample() {
  Report r;
  r.title = "unstarve demo photos/";
  r.command = "unstarve demo photos/ --device cpu --minutes 3 --report report.html";
  r.comparison = comparison();
  r.created = "2026-11-21T08:00:00Z";
  r.version = "0.1.0";
  r.machine.cpu_model = "AMD EPYC 9575F 64-Core Processor";
  r.machine.topology.online = 8;
  r.machine.topology.affinity = 8;
  r.machine.topology.quota = 2.5;
  r.machine.instruction_sets = {"sse4_2", "avx", "f16c", "fma", "avx2", "avx512", "avx_vnni", "avx512_bf16"};
  r.machine.memory_bytes = std::uint64_t{64} << 30;
  r.machine.memory_limit_bytes = std::uint64_t{16} << 30;
  r.machine.memory_available_bytes = std::uint64_t{10} << 30;
  r.machine.last_level_cache_bytes = std::uint64_t{32} << 20;
  r.machine.shm_bytes = std::uint64_t{64} << 20;
  r.machine.transparent_huge_pages = "madvise";
  r.machine.kernel = "6.8.0-41-generic";
  r.machine.hypervisor = "Amazon EC2 m8a.2xlarge";
  r.sections = {training(), feeding()};
  r.curves = {curves()};
  r.sections[0].command = "unstarve tune thumbnails/ --device cpu --minutes 1.5";
  r.sections[1].command = "unstarve tune photos/ --device emulated:h100-resnet50 --minutes 1.5";
  return r;
}

void make_hostile(Report& r) {
  const std::string attack =
      "</script><script>document.title='owned'</script>"
      "<img src=x onerror=\"document.title='owned'\">";
  const std::string overlong(300, 'w');
  r.title += attack;
  r.command += attack + overlong;
  r.machine.cpu_model = attack + overlong;
  r.left_out = {attack, overlong};
  Comparison& c = *r.comparison;
  for (std::string* text : {&c.headline, &c.command, &c.setup, &c.loaders[2].name, &c.loaders[2].settings})
    *text += attack + overlong;
  c.left_out = {attack + overlong};
  ReportSection& s = r.sections[0];
  s.ledger.title += attack;
  s.verdict += attack + overlong;
  s.ledger.entries[1].name = attack;
  s.ledger.entries[2].name = overlong;
  s.ledger.entries[3].change = attack;
  s.ledger.entries[5].reason = attack + overlong;
  s.ledger.entries[6].name = "not UTF-8: \xff\xfe";
  s.ledger.entries[7].ratio = {1.05, 0, std::numeric_limits<double>::infinity(), 1};
  s.before->step[0].name = attack;
  s.after->utilisation.resize(1);
  CurveSection& curves = r.curves[0];
  for (std::string* text : {&curves.title,
                            &curves.verdict,
                            &curves.tiles[0].value,
                            &curves.tiles[0].label,
                            &curves.notes[0],
                            &curves.charts[0].title,
                            &curves.charts[0].x_title,
                            &curves.charts[0].curves[1].name,
                            &curves.charts[0].marks[0].name,
                            &curves.timelines[0].title,
                            &curves.timelines[0].lanes[0],
                            &curves.timelines[0].names[0],
                            &curves.timelines[0].kinds[0],
                            &curves.bars[0].title,
                            &curves.bars[0].unit,
                            &curves.bars[0].bars[0].name,
                            &curves.bars[0].bars[0].figure,
                            &curves.bars[1].bars[0].parts[0].name,
                            &curves.bars[1].mark_name,
                            &curves.findings[0].title,
                            &curves.findings[0].change,
                            &curves.flames[0].title,
                            &curves.flames[0].root.children[0].name,
                            &curves.flames[0].root.children[0].detail,
                            &curves.tables[0].caption,
                            &curves.tables[0].rows[0][2]})
    *text += attack + overlong;
  curves.charts[1].curves[0].points[3].y = std::numeric_limits<double>::quiet_NaN();
  curves.bars[0].bars[1].parts[0].value = std::numeric_limits<double>::infinity();
  curves.charts[2].curves[0].points.resize(1);
  curves.charts[3].curves.clear();
  curves.charts[4].curves[0].labels[1] += attack + overlong;
  curves.charts[4].curves[0].points[2].x = std::numeric_limits<double>::infinity();
  curves.charts[4].curves[0].areas[0] = std::numeric_limits<double>::quiet_NaN();
  r.sections.push_back({});  // nothing was measured
  r.sections.back().before = Profile{};
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 3 || (count == 3 && std::strcmp(words[2], "hostile") != 0)) {
    std::fprintf(stderr, "usage: %s OUT [hostile]\n", words[0]);
    return 2;
  }
  try {
    Report report = sample();
    if (count == 3) make_hostile(report);
    write_report(report, words[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sample_report: %s\n", error.what());
    return 3;
  }
  return 0;
}
