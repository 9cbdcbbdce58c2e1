// Relaxed order: which samples bypass others, and that none is lost or delivered twice. Stragglers are reads that wait
// until the test releases them, or that sleep at random.
#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/delivery/reorder_window.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

// JPEG files; reads of some of them block until release().
class HeldSet final : public JpegSet {
 public:
  HeldSet(std::uint64_t count, std::set<std::uint64_t> held, std::set<std::uint64_t> bad = {})
      : JpegSet(count, std::move(bad)), held_(std::move(held)) {}
  void read(std::uint64_t id, RecordBuffer& record) const override {
    {
      std::unique_lock lock(mutex_);
      if (held_.contains(id)) ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_.contains(id); });
    }
    JpegSet::read(id, record);
  }

  void release() {
    std::lock_guard lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }
  void wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<std::uint64_t> held_;
  mutable int waiting_ = 0;
};

PipelineSpec relaxed_spec(int batch, int threads = 3, int prefetch = 2, int read_ahead = 0) {
  PipelineSpec spec = small_spec(batch, threads, prefetch);
  spec.batch.last = LastBatch::kKeep;
  spec.execution.order = ExecutionOrder::kRelaxed;
  spec.execution.read_ahead = read_ahead;
  return spec;
}

// The id at a position of an epoch's order.
std::uint64_t id_at(const PipelineSpec& spec, std::uint64_t samples, std::uint32_t epoch, std::uint64_t position) {
  const Order order(spec.order, spec.batch, samples);
  return order.epoch(epoch).id_at(position);
}

using Pixels = std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint8_t>>;

// Adds the samples of a batch by (epoch, id). Checks that each occurs once and that a label equals its id.
void collect(Pixels& pixels, const Seen& seen, bool labels_are_ids = true) {
  const std::size_t bytes = seen.pixels.size() / seen.ids.size();
  for (std::size_t i = 0; i < seen.ids.size(); ++i) {
    const auto begin = seen.pixels.begin() + static_cast<std::ptrdiff_t>(i * bytes);
    if (labels_are_ids) CHECK(seen.labels[i] == static_cast<std::int64_t>(seen.ids[i]));
    CHECK(pixels
              .emplace(std::pair{seen.position.epoch, seen.ids[i]},
                       std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(bytes)))
              .second);
  }
}

Pixels collected(const std::vector<Seen>& batches, bool labels_are_ids = true) {
  Pixels pixels;
  for (const Seen& seen : batches) collect(pixels, seen, labels_are_ids);
  return pixels;
}

TEST_CASE("an epoch in relaxed order has the samples and pixels of the exact order") {
  const auto dataset = std::make_shared<JpegSet>(61);
  for (const bool drop_last : {true, false}) {
    PipelineSpec exact = small_spec(7, 2);
    exact.batch.last = drop_last ? LastBatch::kDrop : LastBatch::kKeep;
    const auto expected = run(exact, dataset, {{}, 3});
    for (const int threads : {1, 4}) {
      for (const int prefetch : {0, 1, 3}) {
        for (const int reads : {0, 5}) {
          PipelineSpec spec = relaxed_spec(7, threads, prefetch, reads);
          spec.batch.last = drop_last ? LastBatch::kDrop : LastBatch::kKeep;
          const auto seen = run(spec, dataset, {{}, 3});
          REQUIRE(seen.size() == expected.size());
          for (std::size_t i = 0; i < seen.size(); ++i) {
            CHECK(seen[i].position == expected[i].position);
            CHECK(seen[i].ids.size() == expected[i].ids.size());
          }
          CHECK(collected(seen) == collected(expected));
        }
      }
    }
  }
}

TEST_CASE("ready samples bypass one that blocks, and only the last batch waits for it") {
  constexpr std::uint64_t kSamples = 60;
  for (const int reads : {0, 3}) {
    PipelineSpec spec = relaxed_spec(6, 2, 2, reads);
    spec.operations = {{"center_crop", {{"size", {48}}}}};
    const std::uint64_t straggler = id_at(spec, kSamples, 0, 1);
    REQUIRE(straggler != 0);  // planning reads sample 0
    const auto dataset = std::make_shared<HeldSet>(kSamples, std::set{straggler});
    const auto device = open_device("cpu");
    Loader loader(spec, dataset, *device, {{}, 1});
    Pixels pixels;
    for (int i = 0; i < 9; ++i) {
      const auto batch = loader.next();
      REQUIRE(batch);
      CHECK(batch->samples() == 6);
      CHECK(std::ranges::count(batch->ids(), straggler) == 0);
      collect(pixels, see(*batch));
    }
    CHECK_FALSE(loader.wait(std::chrono::milliseconds(0)));
    dataset->release();
    const auto last = loader.next();
    REQUIRE(last);
    CHECK(std::ranges::count(last->ids(), straggler) == 1);
    CHECK(last->last_of_epoch());
    collect(pixels, see(*last));
    CHECK(pixels.size() == kSamples);
    CHECK_FALSE(loader.next());
  }
}

TEST_CASE("with a source that sleeps at random, stragglers are bypassed and every epoch has each sample once") {
  // One read in twenty takes a hundred times as long as the others.
  const auto dataset = open_dataset("sleep:us=200,straggle_every=20,straggle_ms=20,images=400,size=8");
  PipelineSpec spec = small_spec(16, 8);
  spec.operations = {{"pad_crop", {{"size", {8}}}}};
  const auto expected = run(spec, dataset, {{}, 2});
  spec.execution.order = ExecutionOrder::kRelaxed;
  const auto seen = run(spec, dataset, {{}, 2});
  REQUIRE(seen.size() == expected.size());
  CHECK(collected(seen, false).size() == 800);
  CHECK(collected(seen, false) == collected(expected, false));
  std::size_t as_in_order = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) as_in_order += seen[i].ids == expected[i].ids ? 1 : 0;
  CHECK(as_in_order < seen.size());
}

TEST_CASE("samples are reordered within the window only") {
  ReorderWindow window(10);
  CHECK(window.holds(9));
  CHECK_FALSE(window.holds(10));
  window.settle(3);
  window.settle(1);
  CHECK(window.first() == 0);
  CHECK(window.ahead() == std::vector<bool>{false, true, false, true});
  window.settle(0);
  CHECK(window.first() == 2);
  CHECK(window.ahead() == std::vector<bool>{false, true});
  CHECK(window.holds(11));
  window.settle(11);
  window.settle(2);
  CHECK(window.first() == 4);
  for (std::uint64_t number = 4; number < 11; ++number) window.settle(number);
  CHECK(window.first() == 12);
  CHECK(window.ahead().empty());
}

TEST_CASE("a straggler that blocks stops the run at the end of the window, not before") {
  constexpr std::uint64_t kSamples = kLeastWindow + 1000;
  PipelineSpec spec = relaxed_spec(8, 2, 2);
  spec.operations = {{"center_crop", {{"size", {4}}}}};
  const std::uint64_t straggler = id_at(spec, kSamples, 0, 0);
  REQUIRE(straggler != 0);
  const auto dataset = std::make_shared<HeldSet>(kSamples, std::set{straggler});
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  std::uint64_t before = 0;
  // The window contains the straggler and kLeastWindow - 1 others, which are delivered in full batches.
  for (; before + 8 <= kLeastWindow - 1; before += 8) REQUIRE(loader.next());
  const RankProgress progress = loader.progress();
  CHECK(progress.samples == 0);
  CHECK(progress.used.size() <= kLeastWindow);
  CHECK(std::ranges::count(progress.used, true) == static_cast<std::ptrdiff_t>(before));
  CHECK_FALSE(loader.wait(std::chrono::milliseconds(0)));
  dataset->release();
  while (const auto batch = loader.next()) before += batch->samples();
  CHECK(before == kSamples);
}

TEST_CASE(
    "a run resumes with the remaining samples at any batch, with any number of ranks and with stragglers in progress") {
  constexpr std::uint64_t kSamples = 50;
  const PipelineSpec spec = relaxed_spec(4, 3, 2);
  const auto device = open_device("cpu");
  const auto whole = collected(run(spec, std::make_shared<JpegSet>(kSamples), {{}, 1}));
  for (std::uint64_t taken = 1; taken < 12; ++taken) {
    const std::set stragglers{id_at(spec, kSamples, 0, 0), id_at(spec, kSamples, 0, 5)};
    REQUIRE_FALSE(stragglers.contains(0));
    const auto dataset = std::make_shared<HeldSet>(kSamples, stragglers);
    Pixels pixels;
    Loader loader(spec, dataset, *device, {{}, 1});
    for (std::uint64_t i = 0; i < taken; ++i) collect(pixels, see(*loader.next()));
    const RankProgress progress = loader.progress();
    dataset->release();
    const EpochPosition at = position_after({&progress, 1}, spec.order, spec.batch, kSamples);
    CHECK(at.offset == 0);
    CHECK(at.used.size() > taken * 4);
    for (int world = 1; world < 4; ++world) {
      Pixels rest = pixels;
      std::uint64_t seen = 0;
      for (int rank = 0; rank < world; ++rank) {
        PipelineSpec part = spec;
        part.order.world = world;
        part.order.rank = rank;
        part.batch.size = 1;
        part.batch.last = LastBatch::kDrop;
        for (const Seen& batch : run(part, std::make_shared<JpegSet>(kSamples), {at, 1})) {
          collect(rest, batch);
          seen += batch.ids.size();
        }
      }
      const std::uint64_t left = kSamples - pixels.size();
      CHECK(seen == left - left % static_cast<std::uint64_t>(world));
      if (world == 1) CHECK(rest == whole);
    }
  }
}

TEST_CASE("the skip policy shortens the batch of the bad sample") {
  const std::set<std::uint64_t> bad{3, 11, 30};
  PipelineSpec spec = relaxed_spec(7, 3);
  spec.errors.policy = OnError::kSkip;
  const auto seen = run(spec, std::make_shared<JpegSet>(40, bad), {{}, 2});
  CHECK(seen.size() == 2 * 6);
  const Pixels pixels = collected(seen);
  CHECK(pixels.size() == 2 * 37);
  for (const std::uint64_t id : bad) CHECK_FALSE(pixels.contains({0, id}));
}

TEST_CASE("the replace policy puts the next good sample at the position of a bad one") {
  PipelineSpec spec = relaxed_spec(7, 3);
  spec.errors.policy = OnError::kReplace;
  std::multiset<std::uint64_t> ids;
  for (const Seen& seen : run(spec, std::make_shared<JpegSet>(40, std::set<std::uint64_t>{8, 9}), {{}, 1}))
    ids.insert(seen.ids.begin(), seen.ids.end());
  CHECK(ids.size() == 40);
  CHECK(ids.count(10) == 3);
  CHECK(ids.count(8) + ids.count(9) == 0);
}

TEST_CASE("a bad sample fails the run after the good batches, and is not counted as used") {
  for (const int reads : {0, 4}) {
    PipelineSpec spec = relaxed_spec(4, 2, 2, reads);
    const std::uint64_t bad = id_at(spec, 40, 0, 20);
    REQUIRE(bad != 0);
    const auto device = open_device("cpu");
    Loader loader(spec, std::make_shared<JpegSet>(40, std::set{bad}), *device, {{}, 1});
    Pixels pixels;
    const auto take_all = [&] {
      while (const auto batch = loader.next()) collect(pixels, see(*batch));
    };
    CHECK_THROWS_WITH(take_all(), Catch::Contains("file-" + std::to_string(bad)));
    CHECK_FALSE(loader.next());
    const RankProgress progress = loader.progress();
    const EpochPosition at = position_after({&progress, 1}, spec.order, spec.batch, 40);
    // Except for the bad sample, the delivered and the remaining samples are the epoch.
    for (const Seen& seen : run(spec, std::make_shared<JpegSet>(40), {at, 1})) collect(pixels, seen);
    CHECK(pixels.size() == 40);
  }
}

TEST_CASE("a loader can be closed while a straggler blocks") {
  for (const int reads : {0, 3}) {
    PipelineSpec spec = relaxed_spec(4, 2, 2, reads);
    const std::uint64_t straggler = id_at(spec, 40, 0, 2);
    REQUIRE(straggler != 0);
    const auto dataset = std::make_shared<HeldSet>(40, std::set{straggler});
    const auto device = open_device("cpu");
    std::optional<Batch> kept;
    {
      Loader loader(spec, dataset, *device, {});
      kept = loader.next();
      dataset->wait_for_waiting(1);
      loader.close();
      CHECK_FALSE(loader.next());
      dataset->release();  // the destructor waits for reads in progress
    }
    CHECK(kept->samples() == 4);
  }
}

TEST_CASE("short epochs follow each other while one is unfinished, and never mix") {
  constexpr std::uint64_t kSamples = 6;
  PipelineSpec spec = relaxed_spec(2, 2, 4);
  spec.order.seed = 1;
  const std::uint64_t straggler = id_at(spec, kSamples, 0, 3);
  REQUIRE(straggler != 0);
  const auto dataset = std::make_shared<HeldSet>(kSamples, std::set{straggler});
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 3});
  std::vector<Seen> seen;
  for (int i = 0; i < 2; ++i) seen.push_back(see(*loader.next()));
  // The third batch waits for the straggler, regardless of later samples.
  CHECK_FALSE(loader.wait(std::chrono::milliseconds(0)));
  dataset->release();
  while (const auto batch = loader.next()) seen.push_back(see(*batch));
  CHECK(seen.size() == 9);
  CHECK(collected(seen).size() == 3 * kSamples);
}

TEST_CASE("states of different runs are rejected") {
  const OrderSpec order;
  const BatchSpec batch{4, LastBatch::kKeep};
  const RankProgress first{{0, 0, 0, {}}, 4, {}};
  const auto join = [&](const std::vector<RankProgress>& ranks) { return position_after(ranks, order, batch, 40); };
  CHECK_THROWS_WITH(join({}), Catch::Contains("no rank"));
  CHECK_THROWS_WITH(join({first, {{1, 0, 0, {}}, 4, {}}}), Catch::Contains("rank 1 is in epoch 1"));
  CHECK_THROWS_WITH(join({{{0, 0, 0, {}}, 41, {}}}), Catch::Contains("its part of the epoch has 40"));
  CHECK_THROWS_WITH(join({{{0, 0, 0, {}}, 39, {false, true}}}), Catch::Contains("39 samples and 2 later ones"));
  CHECK(join({first, first}) == EpochPosition{0, 0, 8, {}});
  CHECK(join({first, {{0, 0, 0, {}}, 8, {}}}) ==
        EpochPosition{0, 0, 8, {false, false, false, false, true, true, true, true}});
  CHECK(join({{{2, 0, 0, {}}, 40, {}}}) == EpochPosition{3, 0, 0, {}});
}

}  // namespace
}  // namespace unstarve
