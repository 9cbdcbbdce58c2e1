#include "unstarve/jobs/demo.h"

#include "unstarve/jobs/synth.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

// Large enough to measure, quick to generate (about ten seconds on two cores); the photographs fit into the page cache.
constexpr std::uint64_t kThumbnails = 8192, kPhotographs = 640, kSeed = 1;
constexpr int kThumbnailSize = 32, kPhotographSize = 500;
// Share of the progress bar for generating both datasets.
constexpr double kMakingShare = 0.08;

// `data`, or the folder of a generated dataset if it is empty.
std::string existing_or_generated(const std::string& data, const SynthOptions& options,
                                  const std::filesystem::path& folder, const Progress& progress) {
  if (!data.empty()) return data;
  (void)run_synth(folder, options, progress);
  return folder.string();
}

}  // namespace

std::vector<TuneResult> run_demo(const DemoOptions& options, const Progress& progress) {
  const auto part = [&](double from, double to) -> Progress {
    if (!progress) return {};
    return [&progress, from, to](std::string_view what, double share) { progress(what, from + (to - from) * share); };
  };
  std::filesystem::create_directories(options.folder);
  const double middle = (1 + kMakingShare) / 2;
  const std::string thumbnails =
      existing_or_generated(options.thumbnails, {.images = kThumbnails, .size = kThumbnailSize, .seed = kSeed},
                            options.folder / "thumbnails", part(0, kMakingShare / 3));
  const std::string photographs =
      existing_or_generated(options.photographs, {.images = kPhotographs, .size = kPhotographSize, .seed = kSeed},
                            options.folder / "photographs", part(kMakingShare / 3, kMakingShare));
  const auto tune = [&](const std::string& data, const std::string& device) {
    return TuneOptions{default_settings({data, ""}, *open_dataset(data), {"", device}), device, options.minutes / 2};
  };
  // Both datasets are opened before the first run, so that a wrong path is found early.
  const TuneOptions train = tune(thumbnails, options.device), feed = tune(photographs, options.accelerator);
  std::vector<TuneResult> results;
  results.push_back(run_tune(train, part(kMakingShare, middle)));
  results.push_back(run_tune(feed, part(middle, 1)));
  return results;
}

}  // namespace unstarve
