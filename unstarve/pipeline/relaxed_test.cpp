// Relaxed order: what overtakes what, and that nothing is lost or given twice. Stragglers are reads that wait until the
// test lets them go.
#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/loader_fixtures.h"
#include "unstarve/pipeline/progress.h"
#include "unstarve/pipeline/reorder_window.h"

namespace unstarve {
namespace {

// JPEG files of which some are held back; with release() they can be read.
class HeldSet final : public Dataset {
 public:
  HeldSet(std::uint64_t count, std::set<std::uint64_t> held, std::set<std::uint64_t> bad = {})
      : inner_(count, std::move(bad)), held_(std::move(held)) {}
  std::string format() const override { return inner_.format(); }
  std::uint64_t size() const override { return inner_.size(); }
  const std::vector<Field>& fields() const override { return inner_.fields(); }
  const std::vector<std::string>& classes() const override { return inner_.classes(); }
  std::uint64_t stored_bytes() const override { return 0; }
  std::string location(std::uint64_t id) const override { return inner_.location(id); }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    {
      std::unique_lock lock(mutex_);
      if (held_.contains(id)) ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_.contains(id); });
    }
    inner_.read(id, record);
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
  JpegSet inner_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<std::uint64_t> held_;
  mutable int waiting_ = 0;
};

PipelineSpec relaxed_spec(int batch, int threads = 3, int prefetch = 2, int read_ahead = 0) {
  PipelineSpec spec = small_spec(batch, threads, prefetch);
  spec.batch.drop_last = false;
  spec.execution.order = ExecutionOrder::kRelaxed;
  spec.execution.read_ahead = read_ahead;
  return spec;
}

// The id that stands at a place of an epoch's order.
std::uint64_t id_at(const PipelineSpec& spec, std::uint64_t samples, std::uint32_t epoch, std::uint64_t place) {
  const Order order(spec.order, spec.batch, samples);
  return order.epoch(epoch).id_at(place);
}

using Pixels = std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint8_t>>;

// Adds a batch's samples by (epoch, id); each once.
void collect(Pixels& pixels, const Seen& seen) {
  const std::size_t bytes = seen.pixels.size() / seen.ids.size();
  for (std::size_t i = 0; i < seen.ids.size(); ++i) {
    const auto begin = seen.pixels.begin() + static_cast<std::ptrdiff_t>(i * bytes);
    CHECK(seen.labels[i] == static_cast<std::int64_t>(seen.ids[i]));
    CHECK(pixels
              .emplace(std::pair{seen.position.epoch, seen.ids[i]},
                       std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(bytes)))
              .second);
  }
}

Pixels collected(const std::vector<Seen>& batches) {
  Pixels pixels;
  for (const Seen& seen : batches) collect(pixels, seen);
  return pixels;
}

TEST_CASE("relaxed order gives every epoch the samples and pixels of the exact one") {
  const auto dataset = std::make_shared<JpegSet>(61);
  for (const bool drop_last : {true, false}) {
    PipelineSpec exact = small_spec(7, 2);
    exact.batch.drop_last = drop_last;
    const auto expected = run(exact, dataset, {{}, 3});
    for (const int threads : {1, 4}) {
      for (const int prefetch : {0, 1, 3}) {
        for (const int reads : {0, 5}) {
          PipelineSpec spec = relaxed_spec(7, threads, prefetch, reads);
          spec.batch.drop_last = drop_last;
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

TEST_CASE("samples that are ready overtake one that hangs, and only the last batch waits for it") {
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

TEST_CASE("nothing overtakes by more than the window") {
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

TEST_CASE("a straggler that hangs stops the run at the window's end, not before") {
  constexpr std::uint64_t kSamples = kLeastWindow + 1000;
  PipelineSpec spec = relaxed_spec(8, 2, 2);
  spec.operations = {{"center_crop", {{"size", {4}}}}};
  const std::uint64_t straggler = id_at(spec, kSamples, 0, 0);
  REQUIRE(straggler != 0);
  const auto dataset = std::make_shared<HeldSet>(kSamples, std::set{straggler});
  const auto device = open_device("cpu");
  Loader loader(spec, dataset, *device, {{}, 1});
  std::uint64_t before = 0;
  // The window holds the straggler and kLeastWindow - 1 others: whole batches of them are given.
  for (; before + 8 <= kLeastWindow - 1; before += 8) REQUIRE(loader.next());
  const Progress progress = loader.progress();
  CHECK(progress.samples == 0);
  CHECK(progress.ahead.size() <= kLeastWindow);
  CHECK(std::ranges::count(progress.ahead, true) == static_cast<std::ptrdiff_t>(before));
  CHECK_FALSE(loader.wait(std::chrono::milliseconds(0)));
  dataset->release();
  while (const auto batch = loader.next()) before += batch->samples();
  CHECK(before == kSamples);
}

TEST_CASE("a run is resumed with the rest, at any batch, by any number of ranks, with stragglers under way") {
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
    const Progress progress = loader.progress();
    dataset->release();
    const Position at = position_after({&progress, 1}, spec.order, spec.batch, kSamples);
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
        part.batch.drop_last = true;
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

}  // namespace
}  // namespace unstarve
