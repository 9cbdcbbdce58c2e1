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

std::string make(const std::filesystem::path& folder, std::uint64_t images, int size, const Progress& progress,
                 double from, double to) {
  SynthOptions options;
  options.images = images;
  options.size = size;
  options.seed = kSeed;
  (void)run_synth(folder, options, [&](std::uint64_t done, std::uint64_t total) {
    if (progress)
      progress("generating " + folder.string(),
               from + (to - from) * static_cast<double>(done) / static_cast<double>(total));
  });
  return folder.string();
}

}  // namespace

std::vector<TuneResult> run_demo(const DemoOptions& options, const Progress& progress) {
  std::filesystem::create_directories(options.folder);
  const double middle = (1 + kMakingShare) / 2;
  const std::string thumbnails = !options.thumbnails.empty() ? options.thumbnails
                                                             : make(options.folder / "thumbnails", kThumbnails,
                                                                    kThumbnailSize, progress, 0, kMakingShare / 3);
  const std::string photographs = !options.photographs.empty()
                                      ? options.photographs
                                      : make(options.folder / "photographs", kPhotographs, kPhotographSize, progress,
                                             kMakingShare / 3, kMakingShare);
  const auto tune = [&](const std::string& data, const std::string& device) {
    return TuneOptions{default_settings({data, ""}, *open_dataset(data), {"", device}), device, options.minutes / 2};
  };
  const TuneOptions train = tune(thumbnails, options.device), feed = tune(photographs, options.accelerator);

  const auto part = [&](double from, double to) -> Progress {
    if (!progress) return {};
    return [&progress, from, to](std::string_view what, double share) { progress(what, from + (to - from) * share); };
  };
  std::vector<TuneResult> results;
  results.push_back(run_tune(train, part(kMakingShare, middle)));
  results.push_back(run_tune(feed, part(middle, 1)));
  return results;
}

}  // namespace unstarve
