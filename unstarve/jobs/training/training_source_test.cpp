#include "unstarve/jobs/training/training_source.h"

#include <catch2/catch.hpp>

#include "unstarve/device/device.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/testing/idle_trainer.h"

namespace unstarve {
namespace {

using Catch::Contains;

// A device with this free memory.
class SmallTrainer final : public testing::IdleTrainer {
 public:
  explicit SmallTrainer(std::size_t free_bytes) : free_bytes_(free_bytes) {}
  std::size_t free_device_bytes() override { return free_bytes_; }

 private:
  std::size_t free_bytes_;
};

PipelineSpec source_spec() {
  PipelineSpec spec;
  spec.source.path = "synthetic:classes=4,images=20,size=8,seed=3";
  spec.output = {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation};
  spec.batch = {5, LastBatch::kDrop};
  return spec;
}

struct SourceOf {
  std::vector<std::string> announced, notices;
  std::optional<ResidentImages> images;
  int threads = 0, batches = 0;

  SourceOf(const PipelineSpec& spec, Residence resident, std::size_t free_bytes = 1 << 20) {
    set_notice_sink([&](const std::string& text) { notices.push_back(text); });
    SmallTrainer trainer(free_bytes);
    const std::shared_ptr<const Dataset> dataset = open_sources(spec);
    const auto device = open_device("cpu");
    const ResumePosition position =
        resume_position_in(spec, *dataset, {choose_samples(spec, *dataset, 1), {}, {}}, {}, "");
    const MakeLoader make_loader = [&](const PipelineSpec& of, const auto& data, Loader::Options options) {
      return std::make_unique<Loader>(of, data, *device, std::move(options));
    };
    const std::function<void(const std::string&)> announce = [&](const std::string& text) {
      announced.push_back(text);
    };
    const Ranks ranks;
    try {
      const TrainingSource source =
          training_source(trainer, {resident, ranks, position, dataset, Consumer::kHost, make_loader, announce}, {});
      images = source.images();
      threads = source.threads();
      HostBatch batch;
      for (; batches < 2; ++batches) REQUIRE(source.batches().next(batch));
      CHECK(source.bad_samples(10).empty());
      CHECK(source.progress().samples == 10);
    } catch (...) {
      set_notice_sink({});
      throw;
    }
    set_notice_sink({});
  }
};

TEST_CASE("a small dataset stays on the device") {
  const SourceOf source(source_spec(), Residence::kAuto);
  REQUIRE(source.images);
  CHECK(source.images->images == 20);
  CHECK(source.images->bytes == 20 * 9 * 9 * 3);  // with a row and a column of the border
  CHECK(source.threads == 0);
  CHECK(source.notices.empty());
  REQUIRE(source.announced.size() == 1);
  CHECK_THAT(source.announced[0], Contains("resident: 20 images, 0.0 MB on the device"));
}

TEST_CASE("a loader makes the batches if images may not stay on the device") {
  const SourceOf off(source_spec(), Residence::kOff);
  CHECK_FALSE(off.images);
  CHECK(off.threads > 0);
  CHECK(off.notices.empty());
  PipelineSpec mixed = source_spec();
  mixed.batch_operations = {{"mixup", {}}};
  const SourceOf automatic(mixed, Residence::kAuto);
  CHECK_FALSE(automatic.images);
  REQUIRE(automatic.notices.size() == 1);
  CHECK_THAT(automatic.notices[0], Contains("a loader makes the batches: pipeline.batch_operations"));
}

TEST_CASE("images that need too much memory") {
  const std::size_t free_bytes = 20 * 8 * 8 * 3;  // of which a half may be used
  const SourceOf automatic(source_spec(), Residence::kAuto, free_bytes);
  CHECK_FALSE(automatic.images);
  CHECK(automatic.batches == 2);
  CHECK(automatic.notices.size() == 1);
  CHECK_THROWS_WITH(SourceOf(source_spec(), Residence::kOn, free_bytes),
                    Contains("half of the free memory. Use resident: off"));
}

}  // namespace
}  // namespace unstarve
