// Operations alone, on decoded photographs in memory: compared with libraries of image operations.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

class OperationsSide final : public Side {
 public:
  explicit OperationsSide(const Job& job)
      : spec_(pipeline_from_yaml(job.at("operations"), "bench")), storer_(spec_.output) {
    for (const OpSpec& operation : spec_.operations) operations_.push_back(make_operation(operation));
    const auto dataset = open_dataset(job.at("data"));
    const int field = dataset->field_index(FieldKind::kEncodedImage);
    if (field < 0) throw Error(ErrorKind::kArgument, "bench: operations requires a dataset of encoded images");
    const std::uint64_t count = std::min(job.at("images").get<std::uint64_t>(), dataset->size());
    const int side = job.value("side", 0);  // input size; 0: the original size
    RecordBuffer record;
    Decoder decoder;
    Scratch scratch;
    const Storer pixels({ElementType::kUint8, Layout::kNhwc, {}});
    for (std::uint64_t i = 0; i < count; ++i) {
      dataset->read(i * dataset->size() / count, record);
      decoder.open(record.values.at(static_cast<std::size_t>(field)).bytes);
      Image decoded;
      decoder.decode({}, decoded);
      Frame frame(decoded.view());
      if (side > 0) resize_bilinear(frame, {side, side}, scratch);
      Image& image = images_.emplace_back(frame.size());
      pixels.store(frame, image.data());
    }
    workers_.resize(job.value("threads", 1));
    (void)run(0.1);
  }

  Block run(double seconds) override {
    return run_threads(static_cast<int>(workers_.size()), seconds,
                       [this](int thread) { return operate(workers_[static_cast<std::size_t>(thread)]); });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    Worker& worker = workers_.front();
    (void)operate(worker);
    nlohmann::json seen{{"images", images_.size()}, {"size", {worker.size.height, worker.size.width}}};
    if (spec_.output.type == ElementType::kUint8) {
      const std::span values(worker.out.data(), storer_.sample_bytes(worker.size));
      seen["mean"] = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    return seen;
  }

 private:
  struct Worker {
    std::uint64_t done = 0;
    Scratch scratch;
    AlignedBytes out;
    Size size;
  };

  // Processes one image into a reused buffer.
  int operate(Worker& worker) {
    Frame frame(images_[worker.done % images_.size()].view());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      Random random(1, 0, worker.done, static_cast<std::uint32_t>(i));
      frame.crop(operations_[i]->select(frame.size(), random));
      operations_[i]->apply(frame, random, worker.scratch);
    }
    worker.size = frame.size();
    worker.out.reserve_discard(storer_.sample_bytes(worker.size));
    storer_.store(frame, worker.out.data());
    ++worker.done;
    return 1;
  }

  PipelineSpec spec_;
  Storer storer_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::deque<Image> images_;
  std::deque<Worker> workers_;
};

}  // namespace

std::unique_ptr<Side> make_operations_side(const Job& job) { return std::make_unique<OperationsSide>(job); }

}  // namespace unstarve::bench
