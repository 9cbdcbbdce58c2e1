#include "unstarve/jobs/demo.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "unstarve/core/json.h"
#include "unstarve/jobs/data/synth.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"
#include "unstarve/storage/open.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

// Large enough to measure, quick to generate (about ten seconds on two cores); the photographs fit into the page cache.
constexpr std::uint64_t kThumbnails = 8192, kPhotographs = 640, kSeed = 1;
constexpr int kThumbnailSize = 32, kPhotographSize = 500;
// Of the emulated accelerator, whose time per sample does not depend on it: with its own batch of 400, a step of the
// plain settings takes 1.5 s on two cores, and a minute is too short for comparisons.
constexpr int kFeedBatch = 64;
// Shares of the progress bar for generating both datasets, and for these and the comparison.
constexpr double kMakingShare = 0.05, kCompareShare = 0.4;
// Length of a block of the comparison per minute of tuning, within limits.
constexpr double kBlockPerMinute = 0.5, kShortestPeerBlock = 0.1, kLongestPeerBlock = 3;

// `data`, or the folder of a generated dataset if it is empty.
std::string existing_or_generated(const std::string& data, const SynthOptions& options,
                                  const std::filesystem::path& folder, const Progress& progress) {
  if (!data.empty()) return data;
  (void)run_synth(folder, options, progress);
  return folder.string();
}

// "" or why this program cannot train.
std::string why_no_training() {
  const LibtorchFacts facts = libtorch_facts();
  if (!facts.version.empty()) return "";
  return facts.problem.empty() ? "this build has no libtorch; expected a build with libtorch. Run: make wheel"
                               : facts.problem;
}

}  // namespace

DemoResult run_demo(const DemoOptions& options, const Progress& progress) {
  const auto part = [&](double from, double to) -> Progress {
    if (!progress) return {};
    return [&progress, from, to](std::string_view what, double share) { progress(what, from + (to - from) * share); };
  };
  const double middle = (1 + kCompareShare) / 2;
  const std::string photographs =
      existing_or_generated(options.photographs, {.images = kPhotographs, .size = kPhotographSize, .seed = kSeed},
                            options.folder / "photographs", part(0, kMakingShare / 2));
  const std::string thumbnails =
      existing_or_generated(options.thumbnails, {.images = kThumbnails, .size = kThumbnailSize, .seed = kSeed},
                            options.folder / "thumbnails", part(kMakingShare / 2, kMakingShare));
  const auto tune = [&](const std::string& data, const std::string& device) {
    return TuneOptions{default_settings({data, ""}, *open_dataset(data), {"", device}), device, options.minutes / 2,
                       true};
  };
  DemoResult result;
  const auto run = [&](const std::string& data, const TuneOptions& with, const Progress& shown) {
    result.ladders.push_back(run_tune(with, shown));
    std::string command = fmt::format("unstarve tune {} --device {}", shell_quoted(data), with.device);
    if (with.device == options.accelerator) command += fmt::format(" --batch {}", with.settings.pipeline.batch.size);
    result.commands.push_back(command + fmt::format(" --minutes {:g}", with.minutes));
  };
  // Both datasets are opened before the first run, so that a wrong path is found early.
  const TuneOptions train = tune(thumbnails, options.device);
  TuneOptions feed = tune(photographs, options.accelerator);
  feed.settings.pipeline.batch.size = std::min(feed.settings.pipeline.batch.size, kFeedBatch);
  const double block = std::clamp(kBlockPerMinute * options.minutes, kShortestPeerBlock, kLongestPeerBlock);
  result.comparison = run_comparison(photographs, block, part(kMakingShare, kCompareShare));
  if (const std::string reason = why_no_training(); reason.empty()) {
    run(thumbnails, train, part(kCompareShare, middle));
  } else {
    result.left_out.push_back("training run left out: " + reason);
  }
  run(photographs, feed, part(middle, 1));
  return result;
}

Report report_of(const DemoResult& result, const std::string& command) {
  Report report = report_of(result.ladders, "unstarve demo", command);
  report.comparison = result.comparison.comparison;
  report.left_out = result.left_out;
  for (std::size_t i = 0; i < result.commands.size(); ++i) report.sections[i].command = result.commands[i];
  return report;
}

std::string to_text(const DemoResult& result, int width) {
  std::string text = result.comparison.text + "\n";
  for (const std::string& reason : result.left_out) text += reason + "\n\n";
  for (std::size_t i = 0; i < result.ladders.size(); ++i)
    text += to_text(result.ladders[i], width) + "command: " + result.commands[i] + "\n\n";
  return text;
}

std::string to_json(const DemoResult& result) {
  Json json{{"comparison", parse_ordered_json(result.comparison.json)},
            {"ladders", Json::array()},
            {"left_out", Json::array()}};
  for (const std::vector<std::string>& reasons : {result.comparison.comparison.left_out, result.left_out})
    for (const std::string& reason : reasons) json["left_out"].push_back(reason);
  for (const TuneResult& ladder : result.ladders) json["ladders"].push_back(parse_ordered_json(to_json(ladder)));
  return json_text(json);
}

}  // namespace unstarve
