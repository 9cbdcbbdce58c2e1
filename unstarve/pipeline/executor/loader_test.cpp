#include "unstarve/pipeline/executor/loader.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <unistd.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

TEST_CASE("batches are bit-equal for any number of threads and any prefetch") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const auto expected = run(small_spec(7, 1, 0), dataset, {{}, 3});
  REQUIRE(expected.size() == 3 * (60 / 7));
  for (int threads : {1, 2, 5, 16})
    for (int prefetch : {0, 1, 4}) CHECK(run(small_spec(7, threads, prefetch), dataset, {{}, 3}) == expected);
}

TEST_CASE("decoding only the crop changes no pixel") {
  const auto dataset = std::make_shared<JpegSet>(60);
  PipelineSpec whole = small_spec(20);
  whole.passes["crop_into_decode"] = false;
  CHECK(run(small_spec(20), dataset, {{}, 2}) == run(whole, dataset, {{}, 2}));
  PipelineSpec centre = small_spec(20);
  centre.operations = {{"center_crop", {{"size", {32}}}}};
  PipelineSpec centre_whole = centre;
  centre_whole.passes["crop_into_decode"] = false;
  CHECK(run(centre, dataset, {{}, 1}) == run(centre_whole, dataset, {{}, 1}));
  // Larger than any image, which is then padded.
  centre.operations = centre_whole.operations = {{"center_crop", {{"size", {130}}}}};
  CHECK(run(centre, dataset, {{}, 1}) == run(centre_whole, dataset, {{}, 1}));
}

TEST_CASE("any position can be resumed") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto expected = run(small_spec(6), dataset, {{}, 2});
  for (std::size_t at = 0; at < expected.size(); ++at) {
    const EpochPosition start = expected[at].position;
    const auto rest = run(small_spec(6), dataset, {start, 2 - start.epoch});
    CHECK(rest == std::vector<Seen>(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
}

TEST_CASE("each epoch contains every sample once, with its label") {
  const auto dataset = std::make_shared<JpegSet>(30);
  PipelineSpec spec = small_spec(7);
  spec.batch.last = LastBatch::kKeep;
  std::map<std::uint32_t, std::set<std::uint64_t>> ids;
  for (const Seen& seen : run(spec, dataset, {{}, 2})) {
    for (std::size_t i = 0; i < seen.ids.size(); ++i) {
      CHECK(seen.labels[i] == static_cast<std::int64_t>(seen.ids[i]));
      CHECK(ids[seen.position.epoch].insert(seen.ids[i]).second);
    }
  }
  CHECK(ids.size() == 2);
  CHECK(ids[0].size() == 30);
  CHECK(ids[1].size() == 30);
}

TEST_CASE("stored pixels are processed like encoded images") {
  const auto dataset = open_dataset("synthetic:classes=10,images=50,size=32,seed=1");
  PipelineSpec spec;
  spec.operations = training_operations(32, {32, 32});
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {16, LastBatch::kDrop};
  spec.execution = {1, 0, false};
  const auto expected = run(spec, dataset, {{}, 2});
  REQUIRE(expected.size() == 6);
  CHECK(expected[0].pixels.size() == 16 * 32 * 32 * 3);
  spec.execution = {4, 3, true};
  CHECK(run(spec, dataset, {{}, 2}) == expected);
}

TEST_CASE("closing at any moment of an epoch ends all threads") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto device = open_device("cpu");
  for (int taken = 0; taken < 8; ++taken) {
    Loader loader(small_spec(4, 4, 3), dataset, *device, {});
    for (int i = 0; i < taken; ++i) REQUIRE(loader.next());
  }
  // A batch may outlive its loader.
  std::optional<Batch> kept;
  {
    Loader loader(small_spec(4), dataset, *device, {});
    kept = loader.next();
  }
  CHECK(kept->samples() == 4);
  kept.reset();
}

TEST_CASE("close() wakes a waiting consumer") {
  const auto dataset = open_dataset("sleep:ms=20,images=100,size=32");
  const auto device = open_device("cpu");
  PipelineSpec spec;
  spec.batch = {100, LastBatch::kDrop};
  spec.execution = {1, 1, false};
  Loader loader(spec, dataset, *device, {});
  std::jthread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    loader.close();
  });
  CHECK_FALSE(loader.next());
}

TEST_CASE("a consumer that holds every slot gets an error instead of waiting forever") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto device = open_device("cpu");
  Loader loader(small_spec(4, 2, 1), dataset, *device, {});
  std::vector<Batch> held;
  const auto hold_more = [&] {
    for (int i = 0; i < 4; ++i) held.push_back(*loader.next());
  };
  CHECK_THROWS_WITH(hold_more(), Catch::Contains("held by the consumer"));
  CHECK(held.size() == 3);
  held.clear();
  CHECK(loader.next());
}

// Provides any number of samples, and records the number of concurrent reads.
class CountedReads final : public Dataset {
 public:
  std::string format() const override { return "counting"; }
  std::uint64_t size() const override { return 1000; }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = std::to_string(id)}; }
  void read(std::uint64_t, RecordBuffer& record) const override {
    ++reads;
    record.values.resize(1);
    record.values[0].pixels = image_.view();
  }
  mutable std::atomic<int> reads{0};

 private:
  Image image_ = [] {
    Image image({8, 8});
    std::memset(image.data(), 1, image.bytes());
    return image;
  }();
  std::vector<Field> fields_{{"image", FieldKind::kPixels}};
  std::vector<std::string> classes_;
};

TEST_CASE("with growing slots a consumer may hold any number, and the memory is freed afterwards") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const auto expected = run(small_spec(5), dataset, {{}, 2});
  const auto device = open_device("cpu");
  Loader loader(small_spec(5), dataset, *device, {{}, 2, true});
  const std::size_t usual = loader.memory_bytes(), slot = usual / 3;
  std::vector<Batch> kept;
  while (auto batch = loader.next()) kept.push_back(std::move(*batch));
  REQUIRE(kept.size() == expected.size());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(see(kept[i]) == expected[i]);
  CHECK(loader.memory_bytes() >= kept.size() * kept[0].pixel_bytes());
  kept.clear();
  CHECK(loader.memory_bytes() == usual + slot);  // that of a consumer that holds two
}

TEST_CASE("wait() returns whether a batch is available") {
  const auto dataset = open_dataset("sleep:ms=200,images=10,size=32");
  PipelineSpec spec = small_spec(1, 1);
  spec.operations.clear();
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  CHECK_FALSE(loader.wait(std::chrono::milliseconds(1)));
  while (!loader.wait(std::chrono::milliseconds(50))) continue;
  CHECK(loader.next());
  loader.close();
  CHECK(loader.wait(std::chrono::milliseconds(0)));
  CHECK_FALSE(loader.next());
}

TEST_CASE("workers prefetch exactly the specified number of batches") {
  const auto device = open_device("cpu");
  for (int prefetch : {0, 1, 3}) {
    const auto dataset = std::make_shared<CountedReads>();
    PipelineSpec spec;
    spec.batch = {10, LastBatch::kDrop};
    spec.execution = {2, prefetch, false};
    Loader loader(spec, dataset, *device, {.check_data = false});
    for (int taken = 0; taken < 4; ++taken) {
      const int expected = 1 + 10 * (taken + prefetch);  // planning reads one sample
      // The workers must reach this number and not exceed it.
      for (int i = 0; i < 5000 && dataset->reads < expected; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      CHECK(dataset->reads == expected);
      REQUIRE(loader.next());
    }
  }
}

TEST_CASE("all workers read concurrently from a source that sleeps") {
  // Not a timing test: with n workers, n reads overlap, as measured by the clock of the source.
  const auto dataset = open_dataset("sleep:ms=20,images=64,size=32");
  const auto device = open_device("cpu");
  PipelineSpec spec;
  spec.batch = {16, LastBatch::kDrop};
  const auto wall_ms = [&](int threads) {
    spec.execution = {threads, 0, false};
    Loader loader(spec, dataset, *device, {{}, 1});
    const auto start = steady_clock().now_ns();
    while (loader.next()) {
    }
    return (steady_clock().now_ns() - start) / 1'000'000;
  };
  const auto one = wall_ms(1), eight = wall_ms(8);
  CHECK(one >= 64 * 20);
  CHECK(eight >= 8 * 20);
  CHECK(eight < one / 2);  // 8 times less sequential work; half is far above scheduling noise
}

TEST_CASE("specs that do not fit the data are rejected before the run starts") {
  const auto dataset = std::make_shared<JpegSet>(10);
  PipelineSpec spec = small_spec(4);
  spec.operations = {{"no_such_operation", {}}};
  CHECK_THROWS_WITH(run(spec, dataset, {}), Catch::Contains("operations[0]") && Catch::Contains("no_such_operation"));
  spec = small_spec(4);
  spec.operations.clear();  // images of different sizes cannot form a batch
  spec.order.shuffle = false;
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Catch::Contains("images of different sizes, 111x111 (file-0)"));
  spec = small_spec(4);
  spec.execution.threads = -1;
  CHECK_THROWS_AS(run(spec, dataset, {}), Error);
  CHECK_THROWS_AS(run(small_spec(4), dataset, {{0, 2}, 1}), Error);  // an epoch has two batches: 0 and 1
}

TEST_CASE("decoding at a reduced scale is used if the crop is at least twice the target") {
  const auto photo = [] {
    Image image({400, 300});
    for (int y = 0; y < 300; ++y)
      for (int x = 0; x < 400 * 3; ++x) image.row(y)[x] = static_cast<std::uint8_t>((x / 5 + y) & 255);
    return image;
  }();
  const fs::path folder = fs::temp_directory_path() / ("unstarve-loader-" + std::to_string(::getpid()));
  fs::create_directories(folder / "only");
  const auto bytes = encode_jpeg(photo.view(), 95);
  std::ofstream(folder / "only" / "1.jpg", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  PipelineSpec spec = small_spec(1);
  spec.operations = {{"resize", {{"size", {75}}}}, {"center_crop", {{"size", {64}}}}};
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  const auto dataset = open_dataset(folder.string());
  const auto exact = run(spec, dataset, {{}, 1});
  spec.passes["scale_into_decode"] = true;
  const auto reduced = run(spec, dataset, {{}, 1});
  fs::remove_all(folder);
  REQUIRE(exact[0].pixels.size() == reduced[0].pixels.size());
  double difference = 0;
  for (std::size_t i = 0; i < exact[0].pixels.size(); ++i)
    difference += std::abs(exact[0].pixels[i] - reduced[0].pixels[i]);
  CHECK(exact[0].pixels != reduced[0].pixels);                          // the reduced scale was used,
  CHECK(difference / static_cast<double>(exact[0].pixels.size()) < 6);  // and the result is similar
}

TEST_CASE("the profile counts the processed samples") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto device = open_device("cpu");
  Loader loader(small_spec(8), dataset, *device, {{}, 2});
  while (loader.next()) {
  }
  const Profile profile = loader.profile();
  CHECK(profile.samples == 80);
  CHECK(profile.batches == 10);
  CHECK(profile.loader_threads == 3);
  REQUIRE(profile.stages.size() == 5);
  CHECK(profile.stages[1].name == "decode");
  CHECK(profile.stages[1].samples == 80);
  CHECK(profile.stages[1].busy_ns > 0);
  CHECK(profile.stages[3].bytes == 80 * 48 * 48 * 3 * 4);
}

}  // namespace
}  // namespace unstarve
