// The loader as used by a training loop: gets a batch, releases it, gets the next.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

constexpr int kSheetSide = 4;  // crops per row and column of the sheet

// Float32 NCHW pixels of one batch.
struct Pixels {
  const float* data;
  std::size_t width, height;
  [[nodiscard]] float at(std::size_t sample, std::size_t channel, std::size_t y, std::size_t x) const {
    return data[((sample * kChannels + channel) * height + y) * width + x];
  }
};

void write_sheet(const Pixels& pixels, const Normalisation& normalisation, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P6 " << kSheetSide * pixels.width << ' ' << kSheetSide * pixels.height << " 255\n";
  for (std::size_t row = 0; row < kSheetSide * pixels.height; ++row) {
    for (std::size_t column = 0; column < kSheetSide * pixels.width; ++column) {
      const std::size_t sample = row / pixels.height * kSheetSide + column / pixels.width;
      for (std::size_t c = 0; c < kChannels; ++c) {
        const float value = pixels.at(sample, c, row % pixels.height, column % pixels.width);
        const float level = 255 * (value * normalisation.std[c] + normalisation.mean[c]);
        file.put(static_cast<char>(static_cast<unsigned char>(std::lround(std::clamp(level, 0.0f, 255.0f)))));
      }
    }
  }
  file.close();
  if (!file) throw Error(ErrorKind::kIo, "write " + path + ": failed");
}

class LoaderSide final : public Side {
 public:
  explicit LoaderSide(const Job& job)
      : spec_(pipeline_of(job)),
        device_(open_device("cpu")),
        loader_(spec_, open_dataset(spec_.source.path, spec_.source.split), *device_, {}) {
    (void)next();
    // The first epoch builds the scan indexes that later epochs use.
    if (loader_.resources().scan_index)
      for (std::uint64_t i = 0; i < loader_.batches_per_epoch(); ++i) (void)next();
  }

  Block run(double seconds) override {
    using Clock = std::chrono::steady_clock;
    Block block;
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      block.samples += static_cast<std::int64_t>(next().samples());
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>& sheet) override {
    constexpr int kBatches = 4;
    std::array<double, kChannels> sum{}, squares{};
    std::set<std::int64_t> labels;
    std::set<std::uint64_t> ids;
    double count = 0;
    for (int i = 0; i < kBatches; ++i) {
      const Batch batch = next();
      const Pixels pixels{reinterpret_cast<const float*>(batch.pixels()), static_cast<std::size_t>(batch.size().width),
                          static_cast<std::size_t>(batch.size().height)};
      labels.insert(batch.labels().begin(), batch.labels().end());
      ids.insert(batch.ids().begin(), batch.ids().end());
      for (std::size_t s = 0; s < batch.samples(); ++s)
        for (std::size_t c = 0; c < kChannels; ++c)
          for (std::size_t y = 0; y < pixels.height; ++y)
            for (std::size_t x = 0; x < pixels.width; ++x) {
              const double value = pixels.at(s, c, y, x);
              sum[c] += value;
              squares[c] += value * value;
            }
      count += static_cast<double>(batch.samples() * pixels.width * pixels.height);
      if (i == 0 && sheet) write_sheet(pixels, spec_.output.normalisation, *sheet);
    }
    nlohmann::json mean, deviation;
    for (std::size_t c = 0; c < kChannels; ++c) {
      mean.push_back(sum[c] / count);
      deviation.push_back(std::sqrt(squares[c] / count - sum[c] * sum[c] / count / count));
    }
    const Size size = loader_.plan().sample_size();
    return {{"shape", {spec_.batch.size, 3, size.height, size.width}},
            {"mean", mean},
            {"deviation", deviation},
            {"labels", labels.size()},
            {"label_range", {*labels.begin(), *labels.rbegin()}},
            {"distinct_ids", ids.size()}};
  }

 private:
  Batch next() {
    std::optional<Batch> batch = loader_.next();
    if (!batch) throw Error(ErrorKind::kInternal, "bench: the endless loader has ended");
    return std::move(*batch);
  }

  PipelineSpec spec_;
  std::unique_ptr<Device> device_;
  Loader loader_;
};

}  // namespace

std::unique_ptr<Side> make_loader_side(const Job& job) { return std::make_unique<LoaderSide>(job); }

}  // namespace unstarve::bench
