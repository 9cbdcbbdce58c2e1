#include "unstarve/pipeline/loader/loader.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <unistd.h>

#include "unstarve/codecs/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/check_spec.h"
#include "unstarve/pipeline/loader/loader_fixtures.h"
#include "unstarve/pipeline/loader/sample_worker.h"
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
  whole.decode.crop_only = false;
  CHECK(run(small_spec(20), dataset, {{}, 2}) == run(whole, dataset, {{}, 2}));
  PipelineSpec centre = small_spec(20);
  centre.operations = {{"center_crop", {{"size", {32}}}}};
  PipelineSpec centre_whole = centre;
  centre_whole.decode.crop_only = false;
  CHECK(run(centre, dataset, {{}, 1}) == run(centre_whole, dataset, {{}, 1}));
  // Larger than any image: filled up around the edges.
  centre.operations = centre_whole.operations = {{"center_crop", {{"size", {130}}}}};
  CHECK(run(centre, dataset, {{}, 1}) == run(centre_whole, dataset, {{}, 1}));
}

TEST_CASE("any position can be resumed") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto expected = run(small_spec(6), dataset, {{}, 2});
  for (std::size_t at = 0; at < expected.size(); ++at) {
    const Position start = expected[at].position;
    const auto rest = run(small_spec(6), dataset, {start, 2 - start.epoch});
    CHECK(rest == std::vector<Seen>(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
}

TEST_CASE("each epoch sees every sample once, with its label") {
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

TEST_CASE("stored pixels go the same way as encoded images") {
  const auto dataset = open_dataset("synthetic:classes=10,images=50,size=32,seed=1");
  PipelineSpec spec;
  spec.operations = training_operations(32);
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {16, LastBatch::kDrop};
  spec.execution = {1, 0, false};
  const auto expected = run(spec, dataset, {{}, 2});
  REQUIRE(expected.size() == 6);
  CHECK(expected[0].pixels.size() == 16 * 32 * 32 * 3);
  spec.execution = {4, 3, true};
  CHECK(run(spec, dataset, {{}, 2}) == expected);
}

TEST_CASE("the fail policy delivers the good batches, then throws with the sample's place") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{25});
  PipelineSpec spec = small_spec(8);
  spec.order.shuffle = false;
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  for (int batch = 0; batch < 3; ++batch) CHECK(loader.next()->samples() == 8);
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("file-25"));
  CHECK_FALSE(loader.next());
}

TEST_CASE("the skip policy shortens the batch and counts") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{0, 9, 15});
  PipelineSpec spec = small_spec(8);
  spec.order.shuffle = false;
  spec.errors.policy = OnError::kSkip;
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 2});
  std::vector<std::size_t> counts;
  while (auto batch = loader.next()) {
    counts.push_back(batch->samples());
    CHECK(batch->pixel_bytes() == batch->samples() * 48 * 48 * 3 * 4);
    for (std::size_t i = 0; i < batch->samples(); ++i)
      CHECK(batch->labels()[i] == static_cast<std::int64_t>(batch->ids()[i]));
  }
  CHECK(counts == std::vector<std::size_t>{7, 6, 8, 8, 8, 7, 6, 8, 8, 8});
  CHECK(loader.bad_count() == 3);
  REQUIRE(loader.bad_samples().size() == 3);
  CHECK(loader.bad_samples()[1].place.file == "file-9");
  CHECK_THAT(loader.bad_samples()[1].reason, Catch::Contains("file-9: "));

  // What remains is what a run without the bad ones has: same pixels for the same sample.
  PipelineSpec good = spec;
  good.errors.policy = OnError::kFail;
  const auto all = run(good, std::make_shared<JpegSet>(40), {{}, 1});
  const auto some = run(spec, dataset, {{}, 1});
  const std::size_t sample = 48 * 48 * 3 * 4;
  CHECK(std::memcmp(some[0].pixels.data(), all[0].pixels.data() + sample, 7 * sample) == 0);
}

TEST_CASE("the replace policy takes the next good sample, for any number of threads") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{8, 9, 39});
  PipelineSpec spec = small_spec(8, 1, 0);
  spec.errors.policy = OnError::kReplace;
  const auto expected = run(spec, dataset, {{}, 2});
  REQUIRE(expected.size() == 10);
  std::multiset<std::uint64_t> ids;
  for (std::size_t b = 0; b < 5; ++b) ids.insert(expected[b].ids.begin(), expected[b].ids.end());
  CHECK(ids.count(10) == 3);
  CHECK(ids.count(0) == 2);
  CHECK(ids.count(8) + ids.count(9) + ids.count(39) == 0);
  spec.execution = {7, 2, true};
  CHECK(run(spec, dataset, {{}, 2}) == expected);
}

TEST_CASE("more bad samples than the limit fail the run under any policy") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 12; ++id) bad.insert(id);
  PipelineSpec spec = small_spec(10);
  spec.errors = {OnError::kSkip, 5};
  const auto dataset = std::make_shared<JpegSet>(40, bad);
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 2}), Catch::Contains("6 bad samples, more than the limit of 5"));
  spec.errors.limit = 0;
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 2}), Catch::Contains("1 bad sample, more than the limit of 0"));
}

TEST_CASE("what too many bad samples say does not depend on how many workers meet one") {
  // Reads of the first two, which are bad, end together.
  class TogetherSet final : public JpegSet {
   public:
    TogetherSet() : JpegSet(8, {0, 1}) {}
    void read(std::uint64_t id, RecordBuffer& record) const override {
      if (id < 2) {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
        for (met_ |= 1 << id; met_ != 3 && std::chrono::steady_clock::now() < patience;) std::this_thread::yield();
      }
      JpegSet::read(id, record);
    }

   private:
    mutable std::atomic<int> met_{0};
  };
  PipelineSpec spec = small_spec(1, 2);
  spec.order.shuffle = false;
  spec.errors = {OnError::kSkip, 0};
  for (int round = 0; round < 20; ++round)
    CHECK_THROWS_WITH(run(spec, std::make_shared<TogetherSet>(), {{}, 1}), Catch::StartsWith("1 bad sample, "));
}

TEST_CASE("a data set without one good sample is an error, not a hang") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 10; ++id) bad.insert(id);
  PipelineSpec spec = small_spec(5);
  spec.errors.policy = OnError::kReplace;
  CHECK_THROWS_WITH(run(spec, std::make_shared<JpegSet>(10, bad), {{}, 1}), Catch::Contains("none of the first 10"));
}

TEST_CASE("closing in mid-epoch, at every moment, leaves nothing running") {
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

TEST_CASE("close() wakes a consumer that waits") {
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

TEST_CASE("a consumer that holds every batch is told so instead of waiting for ever") {
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

// Hands out ever more samples, and remembers how many reads were going on at the same time.
class CountingSet final : public Dataset {
 public:
  std::string format() const override { return "counting"; }
  std::uint64_t size() const override { return 1000; }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordPlace place(std::uint64_t id) const override { return {.file = std::to_string(id)}; }
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

TEST_CASE("where slots may grow a consumer keeps what it likes, and gives the memory back") {
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
  CHECK(loader.memory_bytes() == usual + slot);  // that of one who holds two
}

TEST_CASE("waiting tells whether a batch is there") {
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

TEST_CASE("batch operations are the same for any number of threads, and after a resume") {
  const auto dataset = std::make_shared<JpegSet>(60, std::set<std::uint64_t>{}, 60);
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kUint8, ElementType::kBfloat16, ElementType::kFloat16}) {
    PipelineSpec spec = small_spec(7, 1, 0);
    spec.output.type = type;
    spec.batch_operations = {{"label_smoothing", {}}, {"mixup", {{"probability", {0.5}}}}, {"cutmix", {}}};
    const auto expected = run(spec, dataset, {{}, 2});
    REQUIRE(expected.size() == 16);
    for (const Seen& seen : expected) CHECK(seen.targets.size() == 7 * 60);
    CHECK(expected[0].targets != expected[1].targets);
    spec.execution = {4, 3, true};
    CHECK(run(spec, dataset, {{}, 2}) == expected);
    CHECK(run(spec, dataset, {expected[5].position, 2}) == std::vector<Seen>(expected.begin() + 5, expected.end()));
  }
}

TEST_CASE("targets are one-hot of the labels, of the good samples alone") {
  const auto dataset = std::make_shared<JpegSet>(21, std::set<std::uint64_t>{4, 9}, 21);
  PipelineSpec spec = small_spec(7);
  spec.batch_operations = {{"one_hot", {}}};
  spec.errors.policy = OnError::kSkip;
  std::size_t samples = 0;
  for (const Seen& seen : run(spec, dataset, {{}, 1})) {
    REQUIRE(seen.targets.size() == seen.labels.size() * 21);
    for (std::size_t i = 0; i < seen.labels.size(); ++i, ++samples)
      for (std::size_t c = 0; c < 21; ++c)
        CHECK(seen.targets[i * 21 + c] == (static_cast<std::int64_t>(c) == seen.labels[i] ? 1.0f : 0.0f));
  }
  CHECK(samples == 19);
}

TEST_CASE("batch operations without classes, or with a label beyond them, are refused") {
  PipelineSpec spec = small_spec(7);
  spec.batch_operations = {{"mixup", {}}};
  const auto device = open_device("cpu");
  CHECK_THROWS_WITH(Loader(spec, std::make_shared<JpegSet>(21), *device, {}), Catch::Matchers::Contains("no classes"));
  Loader loader(spec, std::make_shared<JpegSet>(21, std::set<std::uint64_t>{}, 5), *device, {{}, 1});
  CHECK_THROWS_WITH(loader.next(), Catch::Matchers::Contains("expected 0 to 4"));
  spec.batch_operations = {{"mixup", {{"alpha", {-1}}}}};
  CHECK_THROWS_WITH(check_spec(spec), Catch::Matchers::Contains("batch_operations[0]"));
}

TEST_CASE("work runs ahead of the consumer by exactly the prefetch depth") {
  const auto device = open_device("cpu");
  for (int prefetch : {0, 1, 3}) {
    const auto dataset = std::make_shared<CountingSet>();
    PipelineSpec spec;
    spec.batch = {10, LastBatch::kDrop};
    spec.execution = {2, prefetch, false};
    Loader loader(spec, dataset, *device, {});
    for (int taken = 0; taken < 4; ++taken) {
      const int expected = 1 + 10 * (taken + prefetch);  // planning reads one sample
      // The workers must reach the mark, and then stay on it.
      for (int i = 0; i < 5000 && dataset->reads < expected; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      CHECK(dataset->reads == expected);
      REQUIRE(loader.next());
    }
  }
}

TEST_CASE("a source that sleeps is served by as many workers as there are") {
  // Not a timing test: with n workers, n reads overlap, which the source's own clock shows.
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
  CHECK(eight < one / 2);  // 8 times less work in sequence; half is far from any scheduling noise
}

TEST_CASE("specs that do not fit the data are refused before anything runs") {
  const auto dataset = std::make_shared<JpegSet>(10);
  PipelineSpec spec = small_spec(4);
  spec.operations = {{"no_such_operation", {}}};
  CHECK_THROWS_WITH(run(spec, dataset, {}), Catch::Contains("operations[0]") && Catch::Contains("no_such_operation"));
  spec = small_spec(4);
  spec.operations.clear();  // images of varied sizes cannot form a batch
  spec.order.shuffle = false;
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Catch::Contains("pixels come out of the operations"));
  spec = small_spec(4);
  spec.execution.threads = -1;
  CHECK_THROWS_AS(run(spec, dataset, {}), Error);
  CHECK_THROWS_AS(run(small_spec(4), dataset, {{0, 2}, 1}), Error);  // an epoch has two batches: 0 and 1
}

TEST_CASE("reduced decoding is used where the crop is at least twice the target") {
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
  spec.decode.reduced_scale = true;
  const auto reduced = run(spec, dataset, {{}, 1});
  fs::remove_all(folder);
  REQUIRE(exact[0].pixels.size() == reduced[0].pixels.size());
  double difference = 0;
  for (std::size_t i = 0; i < exact[0].pixels.size(); ++i)
    difference += std::abs(exact[0].pixels[i] - reduced[0].pixels[i]);
  CHECK(exact[0].pixels != reduced[0].pixels);                          // it was taken,
  CHECK(difference / static_cast<double>(exact[0].pixels.size()) < 6);  // and shows nearly the same
}

TEST_CASE("the profile counts what passed") {
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

// JPEG files that count how often they are read.
class CountedJpegs final : public JpegSet {
 public:
  using JpegSet::JpegSet;
  void read(std::uint64_t id, RecordBuffer& record) const override {
    ++reads;
    JpegSet::read(id, record);
  }
  mutable std::atomic<int> reads{0};
};

TEST_CASE("a cache changes no bit of any batch, and the second epoch reads nothing") {
  constexpr std::uint64_t kSamples = 40;
  const auto folder = fs::temp_directory_path() / ("unstarve-cache-test-" + std::to_string(::getpid()));
  for (const bool evaluation : {false, true}) {
    PipelineSpec spec = small_spec(8);
    if (evaluation) spec.operations = evaluation_operations(48);
    Loader::Options three_epochs;
    three_epochs.epochs = 3;
    const auto expected = run(spec, std::make_shared<JpegSet>(kSamples), three_epochs);
    for (const CacheSpec& cache : {CacheSpec{CacheWhat::kEncoded, "", 10}, CacheSpec{CacheWhat::kPixels, "", 100},
                                   CacheSpec{CacheWhat::kPixels, folder.string(), 100}}) {
      spec.cache = cache;
      const auto data = std::make_shared<CountedJpegs>(kSamples);
      CHECK(run(spec, data, three_epochs) == expected);
      // Where epochs meet, a sample may be wanted again while another worker is still at it; with one worker it cannot.
      // One more to learn the first image's size.
      CHECK(data->reads >= static_cast<int>(kSamples) + 1);
      CHECK(data->reads < 2 * static_cast<int>(kSamples));
      PipelineSpec alone = spec;
      alone.execution.threads = 1;
      if (!cache.folder.empty()) fs::remove_all(folder);
      const auto once = std::make_shared<CountedJpegs>(kSamples);
      CHECK(run(alone, once, three_epochs) == expected);
      CHECK(once->reads == static_cast<int>(kSamples) + 1);
      // Another process, or a later run: the file is there already.
      if (!cache.folder.empty()) {
        const auto later = std::make_shared<CountedJpegs>(kSamples);
        CHECK(run(spec, later, three_epochs) == expected);
        CHECK(later->reads == 1);
      }
    }
  }
  fs::remove_all(folder);
}

TEST_CASE("a cache too small for the data set keeps a part, and the batches stay the same") {
  PipelineSpec spec = small_spec(8);
  const auto expected = run(spec, std::make_shared<JpegSet>(300), {{}, 2});
  spec.cache = {CacheWhat::kPixels, "", 1};
  const auto data = std::make_shared<CountedJpegs>(300);
  CHECK(run(spec, data, {{}, 2}) == expected);
  CHECK(data->reads < 2 * 300);
  CHECK(data->reads > 300);
}

TEST_CASE("a cache that makes no sense is refused with the node's name") {
  const auto data = std::make_shared<JpegSet>(4);
  PipelineSpec spec = small_spec(2);
  spec.cache = {CacheWhat::kPixels, "", 0};
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("cache.limit_mb"));
  spec.cache = {CacheWhat::kEncoded, "somewhere", 1};
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("cache.folder"));
}

TEST_CASE("more bad samples than the rate allows fail the run, once the rate means something") {
  std::set<std::uint64_t> bad;
  for (std::uint64_t id = 0; id < 3000; id += 20) bad.insert(id);  // 5 %
  const auto data = std::make_shared<JpegSet>(3000, bad);
  PipelineSpec spec = small_spec(10, 2);
  spec.errors = {OnError::kSkip, 100'000, 0.10};
  CHECK_NOTHROW(run(spec, data, {{}, 1}));
  spec.errors.rate = 0.02;
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("more than the limit of 2 %"));
  spec.errors.rate = 0;
  CHECK_THROWS_WITH(run(spec, data, {{}, 1}), Catch::Contains("errors.rate"));
}

}  // namespace
}  // namespace unstarve
