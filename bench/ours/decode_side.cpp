// Photographs in memory: our decoder produces a random crop, libjpeg-turbo all pixels.
#include <memory>
#include <vector>

#include "bench/ours/files_side.h"
#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/resize/resize_rows.h"

namespace unstarve::bench {
namespace {

// Decodes one random resized crop of 224 x 224 per file, the same in every round.
class CropSide final : public FilesSide {
 public:
  explicit CropSide(const Job& job)
      : FilesSide(job), crop_(make_operation({"random_resized_crop", {{"size", {224}}}})) {
    for (int i = 0; i < threads_; ++i) workers_.push_back(std::make_unique<Worker>());
    if (job.at("index").get<bool>()) indexes_ = scan_indexes();
    (void)run(0.1);
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) { return decode(thread); });
  }

 private:
  struct Worker {
    Decoder decoder;
    Image decoded;
    Scratch scratch;
  };

  int decode(int thread) {
    Worker& worker = *workers_[static_cast<std::size_t>(thread)];
    const std::size_t i = advance(thread);
    Random random(0, 0, i, 0);
    DecodeRequest request;
    const ImageHeader header = worker.decoder.open(files_[i]);
    request.crop = crop_->select(header.size, random);
    if (!indexes_.empty()) request.index = indexes_[i];
    ResizeRows rows([this](Size size) { return whole_resize(size, crop_->only_resizes(size).value()); },
                    header.orientation, worker.scratch);
    const bool resized = worker.decoder.decode(request, rows, worker.decoded);
    if (!request.index.empty() && worker.decoder.index_use() != IndexUse::kUsed)
      throw Error(ErrorKind::kInternal, "bench: the index of an image was not used");
    if (resized) return 1;
    Frame frame(worker.decoded.view());
    crop_->apply(frame, random, worker.scratch);
    return 1;
  }

  std::unique_ptr<Operation> crop_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<std::uint8_t>> indexes_;
};

class LibjpegSide final : public FilesSide {
 public:
  explicit LibjpegSide(const Job& job) : FilesSide(job) {
    for (int i = 0; i < threads_; ++i) {
      workers_.push_back(std::make_unique<Worker>());
      workers_.back()->decoder.use_own_decoder(false);
    }
    (void)run(0.1);
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) {
      Worker& worker = *workers_[static_cast<std::size_t>(thread)];
      const Size size = worker.decoder.open(files_[advance(thread)]).size;
      worker.decoder.decode({1, {0, 0, size.width, size.height}}, worker.decoded);
      return 1;
    });
  }

 private:
  struct Worker {
    JpegDecoder decoder;
    Image decoded;
  };
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<Side> make_decode_crop_side(const Job& job) { return std::make_unique<CropSide>(job); }
std::unique_ptr<Side> make_libjpeg_side(const Job& job) { return std::make_unique<LibjpegSide>(job); }

}  // namespace unstarve::bench
