#include "unstarve/pipeline/read_ahead/read_ahead.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/core/random.h"
#include "unstarve/pipeline/delivery/exact_delivery.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/storage/formats/folder/image_folder.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

PipelineSpec ahead_spec(int batch, int reads, int threads = 3) {
  PipelineSpec spec = small_spec(batch, threads);
  spec.execution.read_ahead = reads;
  return spec;
}

// Copies its records into the buffer, and counts its calls.
class CountingSet final : public Dataset {
 public:
  explicit CountingSet(std::uint64_t count, std::size_t record_bytes = 100) : count_(count), bytes_(record_bytes) {}

  std::string format() const override { return "counting"; }
  std::uint64_t size() const override { return count_; }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = "record-" + std::to_string(id)}; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    reads.fetch_add(1);
    if (id == bad) throw Error(ErrorKind::kIo, "read " + location(id) + ": made to fail");
    if (together > 0) {
      std::unique_lock lock(mutex_);
      ++inside_;
      meet_.notify_all();
      // Waits for a minute only if the reads are not concurrent.
      if (!meet_.wait_for(lock, std::chrono::minutes(1), [this] { return inside_ >= together; })) lonely = true;
    }
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const std::int64_t end_ns = compute_ns > 0 ? thread_cpu_ns() + compute_ns : 0;
    while (compute_ns > 0 && thread_cpu_ns() < end_ns) {
    }
    const std::size_t bytes = larger_every > 0 && id % larger_every == 0 ? 64 * bytes_ : bytes_;
    record.storage.reserve_discard(bytes);
    record.storage.data()[0] = static_cast<std::uint8_t>(id);
    record.values.assign(1, {});
    record.values[0].bytes = {record.storage.data(), bytes};
    record.values[0].integer = static_cast<std::int64_t>(id);
  }

  std::uint64_t larger_every = 0;      // one in `larger_every` records is 64 times as large; 0: none
  std::chrono::microseconds pause{0};  // of every read
  std::int64_t compute_ns = 0;         // CPU time of every read
  int together = 0;                    // the first reads wait until this many are in progress
  std::uint64_t bad = ~std::uint64_t{0};
  mutable std::atomic<int> reads{0};
  mutable std::atomic<bool> lonely{false};

 private:
  std::uint64_t count_;
  std::size_t bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable meet_;
  mutable int inside_ = 0;
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}};
  std::vector<std::string> classes_;
};

TEST_CASE("read-ahead changes no bit of any batch, for any number of reads in flight") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const auto expected = run(ahead_spec(7, 0, 1), dataset, {{}, 3});
  for (int reads : {1, 2, 5, 64, 1024})
    for (int threads : {1, 4}) CHECK(run(ahead_spec(7, reads, threads), dataset, {{}, 3}) == expected);
  for (std::size_t at : {std::size_t{1}, std::size_t{9}, expected.size() - 1}) {
    const EpochPosition start = expected[at].position;
    CHECK(run(ahead_spec(7, 6), dataset, {start, 3 - start.epoch}) ==
          std::vector<Seen>(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
  PipelineSpec last = ahead_spec(7, 0);
  last.batch.last = LastBatch::kKeep;
  const auto kept = run(last, dataset, {{}, 3});
  last.execution.read_ahead = 9;
  CHECK(run(last, dataset, {{}, 3}) == kept);
}

TEST_CASE("bad samples are handled equally with and without read-ahead") {
  const auto dataset = std::make_shared<JpegSet>(60, std::set<std::uint64_t>{3, 17, 18, 44});
  for (OnError policy : {OnError::kSkip, OnError::kReplace}) {
    PipelineSpec spec = ahead_spec(7, 0);
    spec.errors.policy = policy;
    const auto expected = run(spec, dataset, {{}, 2});
    spec.execution.read_ahead = 10;
    CHECK(run(spec, dataset, {{}, 2}) == expected);
  }
}

TEST_CASE("a bad record in a batch larger than the window fails the run and does not block it") {
  const auto device = open_device("cpu");
  for (int reads : {1, 4, 30}) {
    const auto dataset = std::make_shared<JpegSet>(300, std::set<std::uint64_t>{150});
    Loader loader(ahead_spec(100, reads, 2), dataset, *device, {{}, 1});
    CHECK_THROWS_WITH(
        [&] {
          while (loader.next()) continue;
        }(),
        Catch::Matchers::Contains("file-150"));
  }
}

TEST_CASE("the specified number of reads is in flight") {
  const auto dataset = std::make_shared<CountingSet>(200);
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size());
  // Up to 4 concurrent reads have one thread each; for more, each thread reads a chunk, one record after another.
  dataset->together = 16;
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {64, kReadAheadBytes});
  RecordBuffer record;
  for (std::uint64_t batch = 0; batch < 20; ++batch)
    for (std::uint64_t index = 0; index < 10; ++index) {
      REQUIRE(ahead.take(0, batch, index, record));
      CHECK(record.values[0].integer == static_cast<std::int64_t>(order.epoch(0).id(batch, index)));
    }
  CHECK_FALSE(dataset->lonely);
  CHECK(dataset->reads == 200);
}

TEST_CASE("records in a ring stay within the byte limit") {
  constexpr std::size_t kRecord = 1 << 20;
  const auto dataset = std::make_shared<CountingSet>(300, kRecord);
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size());
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {16, 8 * kRecord});
  RecordBuffer record;
  std::uint64_t most = 0;
  for (std::uint64_t batch = 0; batch < 30; ++batch)
    for (std::uint64_t index = 0; index < 10; ++index) {
      REQUIRE(ahead.take(0, batch, index, record));
      // The first reads start before the size of any record is known.
      if (batch > 3) most = std::max(most, ahead.memory_bytes());
    }
  CHECK(most <= 8 * kRecord);
  CHECK(most >= kRecord);
}

TEST_CASE("buffers that were large once shrink again") {
  constexpr std::size_t kRecord = 10'000, kReads = 64;
  const auto dataset = std::make_shared<CountingSet>(6000, kRecord);
  dataset->larger_every = 16;
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size());
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {kReads, kReadAheadBytes});
  RecordBuffer record;
  std::uint64_t most = 0;
  for (std::uint64_t batch = 0; batch < 600; ++batch)
    for (std::uint64_t index = 0; index < 10; ++index) {
      REQUIRE(ahead.take(0, batch, index, record));
      most = std::max(most, ahead.memory_bytes());
    }
  // About one in 16 buffers is large at a time, rarely one in four; in the end every buffer was large once.
  CHECK(most <= 2 * kReads * 64 * kRecord / 4);
  CHECK(most >= kReads * kRecord);
}

TEST_CASE("with fewer reads in flight the ring has memory for fewer records") {
  constexpr std::size_t kRecord = 20'000, kReads = 64;
  const auto dataset = std::make_shared<CountingSet>(6000, kRecord);
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size());
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {kReads, kReadAheadBytes});
  RecordBuffer record;
  std::uint64_t taken = 0, most = 0;
  const auto take = [&](std::uint64_t count) {
    most = 0;
    for (const std::uint64_t end = taken + count; taken < end; ++taken) {
      REQUIRE(ahead.take(0, taken / 10, taken % 10, record));
      CHECK(record.values[0].integer == static_cast<std::int64_t>(order.epoch(0).id(taken / 10, taken % 10)));
      most = std::max(most, ahead.memory_bytes());
    }
  };
  take(1000);
  CHECK(most > kReads * kRecord);
  ahead.set_reads(8);
  take(4 * kReads);
  take(1000);
  CHECK(most < 17 * (kRecord + 4096));  // twice eight records, and the rounding of a buffer
  ahead.set_reads(kReads);
  take(3000);
  CHECK(most > kReads * kRecord);
}

TEST_CASE("an error of one record affects only that record") {
  const auto dataset = std::make_shared<CountingSet>(40);
  dataset->bad = 11;
  OrderSpec stored;
  stored.shuffle = false;
  const Order order(stored, BatchSpec{40, LastBatch::kDrop}, dataset->size());
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {8, kReadAheadBytes});
  RecordBuffer record;
  for (std::uint64_t index = 0; index < 40; ++index) {
    if (index == 11) {
      CHECK_THROWS_WITH(ahead.take(0, 0, index, record), Catch::Matchers::Contains("record-11: made to fail"));
    } else {
      CHECK(ahead.take(0, 0, index, record));
    }
  }
}

TEST_CASE("skipped records are not read, and close() wakes waiting threads") {
  const auto dataset = std::make_shared<CountingSet>(40);
  const Order order(OrderSpec{}, BatchSpec{40, LastBatch::kDrop}, dataset->size());
  RecordBuffer record;
  {
    ReadAhead ahead(dataset, RunOrder(order, {}, 1), {8, kReadAheadBytes},
                    [](std::uint64_t id) { return id % 2 == 0; });
    int taken = 0;
    for (std::uint64_t index = 0; index < 40; ++index) taken += ahead.take(0, 0, index, record) ? 1 : 0;
    CHECK(taken == 20);
    CHECK(dataset->reads == 20);
  }
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {8, kReadAheadBytes});
  std::jthread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ahead.close();
  });
  CHECK_FALSE(ahead.take(3, 0, 39, record));  // two epochs after the end of the run: never delivered
}

// The labels that a consumer receives if read-ahead and reading by the workers alternate. `seed` determines when they
// change.
std::vector<std::int64_t> read_in_turns(const std::shared_ptr<CountingSet>& dataset, const RunOrder& order,
                                        std::uint64_t seed, std::size_t most_batches) {
  constexpr std::size_t kBatch = 10;
  const auto device = open_device("cpu");
  SlotLayout layout;
  layout.samples = kBatch;
  layout.sample_bytes = layout.slot_bytes = 1;
  ExactDelivery delivery(order, layout, {.prefetch = 3}, *device);
  ReadAhead ahead(dataset, order, {8, kReadAheadBytes, false, true});
  std::mutex failures_mutex;
  std::string failures;
  const auto work = [&] {
    RecordBuffer record;
    while (const auto claim = delivery.claim(3)) {
      for (std::size_t i = claim->index; i < claim->index + claim->count; ++i) {
        const std::uint64_t id = order.of_epoch(claim->epoch).epoch(claim->epoch).id(claim->batch, i);
        std::int64_t label = -1;
        try {
          if (!claim->read_ahead || !ahead.take(claim->epoch, claim->batch, i, record)) dataset->read(id, record);
          label = record.values[0].integer;
        } catch (const Error& error) {
          // The error of the record that was made to fail, once per record.
          const std::lock_guard lock(failures_mutex);
          if (std::string(error.what()).find(dataset->location(id) + ":") == std::string::npos)
            failures += error.what();
        }
        claim->slot->arrays.labels[i] = label;
      }
      if (delivery.finish(*claim)) delivery.publish(*claim->slot);
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i) workers.emplace_back(work);
  std::jthread meddler([&](const std::stop_token& stop) {
    Random random(seed, 0, 0, 0);
    while (!stop.stop_requested()) {
      (void)delivery.begin_read_ahead(ahead);
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(400)));
      (void)delivery.end_read_ahead(ahead);
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
    }
  });
  std::vector<std::int64_t> labels;
  for (std::size_t batches = 0; batches < most_batches; ++batches) {
    Slot* const slot = delivery.take();
    if (!slot) break;
    labels.insert(labels.end(), slot->arrays.labels.begin(), slot->arrays.labels.end());
    delivery.release(*slot);
  }
  meddler = {};
  delivery.close();
  ahead.close();
  workers.clear();
  CHECK(failures.empty());
  return labels;
}

TEST_CASE("read-ahead that stops and starts at any time delivers each record once, and each error for its record") {
  const auto dataset = std::make_shared<CountingSet>(1000);
  dataset->bad = 123;
  const RunOrder order(Order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size()), {}, 3);
  std::vector<std::int64_t> expected;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch)
    for (std::uint64_t sample = 0; sample < 1000; ++sample) {
      const std::uint64_t id = order.of_epoch(epoch).epoch(epoch).id(sample / 10, sample % 10);
      expected.push_back(id == dataset->bad ? -1 : static_cast<std::int64_t>(id));
    }
  for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(read_in_turns(dataset, order, seed, 1000) == expected);
  // Ended early.
  for (std::size_t batches = 0; batches < 40; batches += 3) {
    const auto labels = read_in_turns(dataset, order, batches, batches);
    CHECK(labels == std::vector<std::int64_t>(expected.begin(), expected.begin() + 10 * static_cast<long>(batches)));
  }
}

TEST_CASE("paused readers still read the records before the pause, hold no memory, and continue later") {
  constexpr std::size_t kRecord = 20'000;
  const auto dataset = std::make_shared<CountingSet>(1000, kRecord);
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, dataset->size());
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {8, kReadAheadBytes});
  RecordBuffer record;
  const auto take = [&](std::uint64_t begin, std::uint64_t end) {
    for (; begin < end; ++begin) {
      REQUIRE(ahead.take(0, begin / 10, begin % 10, record));
      CHECK(record.values[0].integer == static_cast<std::int64_t>(order.epoch(0).id(begin / 10, begin % 10)));
    }
  };
  CHECK_FALSE(ahead.resume(0));  // the readers are not paused
  take(0, 50);
  ahead.pause(100);  // after the end of the ring
  CHECK_FALSE(ahead.resume(120));
  ahead.pause(60);  // already paused
  take(50, 100);
  CHECK(ahead.memory_bytes() == 0);
  const int reads = dataset->reads;
  CHECK(reads == 100);
  REQUIRE(ahead.resume(500));
  take(500, 600);
  const auto wait_for = [](const auto& done) {
    for (int i = 0; i < 60'000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(done());
  };
  wait_for([&] { return dataset->reads == reads + 116; });  // the ring is full, or the last reads are in progress
  ahead.pause(600);
  wait_for([&] { return ahead.memory_bytes() == 0; });
  CHECK(dataset->reads == reads + 116);
  REQUIRE(ahead.resume(600));
  take(600, 1000);
}

TEST_CASE("time that readers are awake is distinguished from time that they sleep") {
  if (!thread_sleeps()) {
    WARN("SKIPPED, this kernel does not count how often a thread sleeps");
    return;
  }
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, 200);
  const auto profile = [&](int pause_us) {
    const auto dataset = std::make_shared<CountingSet>(200);
    dataset->pause = std::chrono::microseconds(pause_us);
    ReadAhead ahead(dataset, RunOrder(order, {}, 1), {4, kReadAheadBytes});
    RecordBuffer record;
    for (std::uint64_t i = 0; i < 200; ++i) REQUIRE(ahead.take(0, i / 10, i % 10, record));
    return ahead.profile();
  };
  // Pauses far longer than the waits for a busy CPU.
  const StageProfile slept = profile(10'000), awake = profile(0);
  CHECK(slept.awake_ns < slept.busy_ns / 2);
  CHECK(awake.awake_ns > awake.busy_ns / 2);
  CHECK(awake.awake_ns <= awake.busy_ns);
}

// Keeps the calling thread, and those that it starts, on one CPU.
class OneCpu {
 public:
  OneCpu() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_;
};

TEST_CASE("in a call in which a reader slept, its wait for a busy CPU is not sleep") {
  if (!thread_sleeps()) {
    WARN("SKIPPED, this kernel does not count how often a thread sleeps");
    return;
  }
  const OneCpu pinned;
  std::jthread competitor([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
    }
  });
  const Order order(OrderSpec{}, BatchSpec{10, LastBatch::kDrop}, 40);
  const auto dataset = std::make_shared<CountingSet>(40);
  dataset->pause = std::chrono::microseconds(50);
  dataset->compute_ns = 10'000'000;
  ReadAhead ahead(dataset, RunOrder(order, {}, 1), {1, kReadAheadBytes});
  RecordBuffer record;
  for (std::uint64_t i = 0; i < 40; ++i) REQUIRE(ahead.take(0, i / 10, i % 10, record));
  const StageProfile profile = ahead.profile();
  REQUIRE(profile.busy_ns > profile.cpu_ns);
  CHECK(profile.awake_ns - profile.cpu_ns > (profile.busy_ns - profile.cpu_ns) / 2);
}

TEST_CASE("a pixel cache avoids the reads of the second epoch, and read-ahead uses the cache of encoded records") {
  for (CacheWhat what : {CacheWhat::kPixels, CacheWhat::kEncoded}) {
    const auto dataset = std::make_shared<JpegSet>(60);
    PipelineSpec spec = ahead_spec(7, 0);
    const auto expected = run(spec, dataset, {{}, 3});
    spec.cache.what = what;
    spec.execution.read_ahead = 12;
    CHECK(run(spec, dataset, {{}, 3}) == expected);
  }
}

TEST_CASE("data in the page cache are read ahead only on request") {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  for (int i = 0; i < 20; ++i) {
    Image image({40, 40});
    std::fill_n(image.data(), image.bytes(), static_cast<std::uint8_t>(9 * i));
    const auto bytes = encode_jpeg(image.view(), 85, ChromaSampling::k420);
    std::ofstream(folder.path() / "a" / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  const auto dataset = std::make_shared<ImageFolder>(folder.path().string());
  CHECK(dataset->reads_in_flight() == 0);
  CHECK(plan_run(ahead_spec(4, -1), dataset, {2}).execution.read_ahead == 0);
  CHECK_THROWS_WITH(plan_run(ahead_spec(4, -2), dataset, {2}), Catch::Matchers::Contains("execution.read_ahead: -2"));
  CHECK(run(ahead_spec(4, 16), dataset, {{}, 2}) == run(ahead_spec(4, 0), dataset, {{}, 2}));
}

}  // namespace
}  // namespace unstarve
