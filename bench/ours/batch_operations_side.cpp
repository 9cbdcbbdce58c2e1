// Batch operations alone: the cost per image of mixing and its targets.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve::bench {
namespace {

class BatchOperationsSide final : public Side {
 public:
  explicit BatchOperationsSide(const Job& job)
      : spec_(pipeline_from_yaml(job.at("operations"), "bench")),
        pixels_(job.at("batch").get<std::size_t>() * job.at("side").get<std::size_t>() *
                job.at("side").get<std::size_t>() * kChannels),
        targets_(job.at("batch").get<std::size_t>() * job.at("classes").get<std::size_t>()),
        labels_(job.at("batch").get<std::size_t>()) {
    for (const OpSpec& operation : spec_.batch_operations) operations_.push_back(make_batch_operation(operation));
    Random random(1, 0, 0, 0);
    for (float& value : pixels_) value = static_cast<float>(random.uniform());
    std::iota(labels_.begin(), labels_.end(), std::int64_t{0});
    const int side = job.at("side");
    batch_ = {reinterpret_cast<std::uint8_t*>(pixels_.data()),
              labels_.size(),
              {side, side},
              ElementType::kFloat32,
              Layout::kNchw,
              targets_,
              job.at("classes").get<std::size_t>()};
  }

  Block run(double seconds) override {
    return run_threads(1, seconds, [this](int) { return operate(); });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    (void)operate();
    const double sum = std::accumulate(pixels_.begin(), pixels_.end(), 0.0);
    return {{"samples", batch_.samples},
            {"classes", batch_.classes},
            {"mean", sum / static_cast<double>(pixels_.size())},
            {"target", *std::max_element(targets_.begin(), targets_.end())}};
  }

 private:
  int operate() {
    write_one_hot(labels_, batch_.classes, targets_);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      Random random(1, 0, done_, static_cast<std::uint32_t>(i));
      operations_[i]->apply(batch_, random);
    }
    ++done_;
    return static_cast<int>(batch_.samples);
  }

  PipelineSpec spec_;
  std::vector<std::unique_ptr<BatchOperation>> operations_;
  std::vector<float> pixels_, targets_;
  std::vector<std::int64_t> labels_;
  BatchPixels batch_;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<Side> make_batch_operations_side(const Job& job) { return std::make_unique<BatchOperationsSide>(job); }

}  // namespace unstarve::bench
