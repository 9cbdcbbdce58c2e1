// Entropy decoding of whole photographs in memory: our decoder produces rows of coefficients, libjpeg-turbo skips all
// lines but the last.
//
// libjpeg-turbo has no function for entropy decoding only. Skipping lines is the closest: it decodes and discards the
// coefficients, except for the last row of blocks, which is decoded to pixels (skipping to the end would not decode at
// all). Our side stores the coefficients and clears them, row by row, which is more work. Both sides parse the header
// with libjpeg.
//
// With the index, each row of MCUs is decoded from its own point, and points are verified. For a whole image the index
// saves nothing.
#include <memory>
#include <string>
#include <vector>

#include "bench/ours/files_side.h"
#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/common/image_arena.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_errors.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_memory.h"
#include "unstarve/codecs/jpeg/libjpeg/read_baseline.h"
#include "unstarve/codecs/jpeg/scan_reader.h"
#include "unstarve/core/error.h"

namespace unstarve::bench {
namespace {

// A libjpeg decompressor that reuses its memory for all images, like our JpegDecoder.
class Decompressor {
 public:
  Decompressor() {
    cinfo_.err = install(failure_);
    jpeg_create_decompress(&cinfo_);
    serve_jpeg_memory_from(arena_, cinfo_);
  }
  ~Decompressor() { jpeg_destroy_decompress(&cinfo_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Parses the header for our decoder; returns false for a file that it does not support.
  [[nodiscard]] bool read(const std::vector<std::uint8_t>& file, BaselineImage& image) {
    run(file, false);
    return read_baseline(cinfo_, file, image);
  }
  // Skips all lines but the last.
  void skip_lines(const std::vector<std::uint8_t>& file) { run(file, true); }

 private:
  void run(const std::vector<std::uint8_t>& file, bool lines) {
    file_ = &file;
    lines_ = lines;
    if (!guarded_call(failure_.jump, step, this)) throw jpeg_error(failure_, "bench");
  }

  static void step(void* context) {
    auto& self = *static_cast<Decompressor*>(context);
    jpeg_decompress_struct& cinfo = self.cinfo_;
    jpeg_abort_decompress(&cinfo);
    forget_tables(cinfo);
    cinfo.src = nullptr;  // was freed with the memory of the previous image
    jpeg_mem_src(&cinfo, self.file_->data(), self.file_->size());
    jpeg_read_header(&cinfo, TRUE);
    if (!self.lines_) return;
    cinfo.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&cinfo);
    JSAMPARRAY line = cinfo.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&cinfo), JPOOL_IMAGE,
                                              cinfo.output_width * static_cast<unsigned>(cinfo.output_components),
                                              static_cast<JDIMENSION>(1));
    if (cinfo.output_height > 1) jpeg_skip_scanlines(&cinfo, cinfo.output_height - 1);
    jpeg_read_scanlines(&cinfo, line, 1);
    jpeg_finish_decompress(&cinfo);
  }

  JpegFailure failure_{};
  jpeg_decompress_struct cinfo_{};
  ImageArena arena_;
  const std::vector<std::uint8_t>* file_ = nullptr;
  bool lines_ = false;
};

// Both sides use the files that our decoder supports.
class BaselineFilesSide : public FilesSide {
 public:
  explicit BaselineFilesSide(const Job& job) : FilesSide(job) {
    for (int i = 0; i < threads_; ++i) headers_.push_back(std::make_unique<Decompressor>());
    BaselineImage image;
    std::erase_if(files_, [&](const auto& file) { return !headers_.front()->read(file, image); });
    if (files_.empty()) throw Error(ErrorKind::kInput, "bench: no baseline JPEG in " + job.at("data").dump());
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) {
      decode(thread, advance(thread) % files_.size());
      return 1;
    });
  }

 protected:
  virtual void decode(int thread, std::size_t file) = 0;

  std::vector<std::unique_ptr<Decompressor>> headers_;  // one per thread
};

class EntropySide final : public BaselineFilesSide {
 public:
  explicit EntropySide(const Job& job) : BaselineFilesSide(job) {
    for (int i = 0; i < threads_; ++i) workers_.push_back(std::make_unique<Worker>());
    if (job.at("index").get<bool>()) indexes_ = scan_indexes();
    (void)run(0.1);
  }

 private:
  struct Worker {
    BaselineImage image;
    ScanIndex index;
    ScanReader reader;
  };

  void decode(int thread, std::size_t file) override {
    Worker& worker = *workers_[static_cast<std::size_t>(thread)];
    const BaselineImage& image = worker.image;
    bool ok = headers_[static_cast<std::size_t>(thread)]->read(files_[file], worker.image);
    const BaselinePlan plan = plan_baseline(image);
    ok = ok && worker.reader.open(image, plan);
    if (indexes_.empty()) {
      ok = ok && worker.reader.start();
    } else {
      ok = ok && worker.index.read(indexes_[file], image);
      worker.reader.start_with_index(worker.index);
    }
    for (int row = 0; row < plan.rows && ok; ++row) {
      ok = worker.reader.read_row(row);
      for (int c = 0; c < image.components; ++c)
        for (int y = 0; y < (c == 0 ? image.vertical : 1); ++y) worker.reader.blocks(c, y).clear();
    }
    if (!ok) throw Error(ErrorKind::kInternal, "bench: image " + std::to_string(file) + " was not entropy-decoded");
  }

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<std::uint8_t>> indexes_;
};

class SkippedLinesSide final : public BaselineFilesSide {
 public:
  explicit SkippedLinesSide(const Job& job) : BaselineFilesSide(job) { (void)run(0.1); }

 private:
  void decode(int thread, std::size_t file) override {
    headers_[static_cast<std::size_t>(thread)]->skip_lines(files_[file]);
  }
};

}  // namespace

std::unique_ptr<Side> make_entropy_side(const Job& job) { return std::make_unique<EntropySide>(job); }
std::unique_ptr<Side> make_libjpeg_skip_side(const Job& job) { return std::make_unique<SkippedLinesSide>(job); }

}  // namespace unstarve::bench
