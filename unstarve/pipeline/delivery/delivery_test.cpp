// The conformance suite of deliveries, and their use of slots.
#include "unstarve/pipeline/delivery/delivery.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/delivery/exact_delivery.h"
#include "unstarve/pipeline/delivery/relaxed_delivery.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kDeliveryBatch = 10;
constexpr std::size_t kSlotBytes = 1000;
constexpr std::uint64_t kNoId = ~std::uint64_t{0};
const BatchSpec kKeepLast{static_cast<int>(kDeliveryBatch), LastBatch::kKeep};

enum class Kind { kExact, kRelaxed };

std::unique_ptr<Delivery> make_delivery(Kind kind, const RunOrder& order, const SlotLimits& limits = {}) {
  static const std::unique_ptr<Device> device = open_device("cpu");
  SlotLayout layout;
  layout.samples = kDeliveryBatch;
  layout.sample_bytes = 100;
  layout.slot_bytes = kSlotBytes;
  layout.numbered = kind == Kind::kRelaxed;
  if (kind == Kind::kExact) return std::make_unique<ExactDelivery>(order, layout, limits, *device);
  return std::make_unique<RelaxedDelivery>(order, layout, limits, 64, *device);
}

// Makes and writes the samples of one claim, of which sample `bad` fails. False if there is no claim.
bool work_once(Delivery& delivery, const RunOrder& order, std::uint64_t bad = kNoId) {
  std::optional<Claim> claim = delivery.claim(3);
  if (!claim) return false;
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < claim->count; ++i)
    ids.push_back(order.of_epoch(claim->epoch).epoch(claim->epoch).id(claim->batch, claim->index + i));
  if (claim->slot == nullptr) delivery.place(*claim);
  std::optional<Error> failure;
  std::size_t failure_index = 0;
  for (std::size_t i = 0; i < claim->count; ++i) {
    claim->slot->arrays.ids[claim->slot_index + i] = ids[i];
    if (ids[i] != bad) continue;
    failure = Error(ErrorKind::kInput, "bad sample");
    failure_index = claim->slot_index + i;
  }
  if (!delivery.finish(*claim, std::move(failure), failure_index)) return true;
  claim->slot->delivered.samples = claim->slot->batch.samples;
  delivery.publish(*claim->slot);
  return true;
}

struct Taken {
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;
  std::multiset<std::uint64_t> ids;
  bool last_of_epoch = false;
  bool failed = false;
};

// Takes up to `most` batches, filled by three threads.
std::vector<Taken> take_batches(Delivery& delivery, const RunOrder& order, std::size_t most = 1000,
                                std::uint64_t bad = kNoId) {
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([&] {
      while (work_once(delivery, order, bad)) continue;
    });
  std::vector<Taken> taken;
  while (taken.size() < most) {
    Slot* const slot = delivery.take();
    if (slot == nullptr) break;
    const auto samples = static_cast<std::ptrdiff_t>(slot->batch.samples);
    const std::vector<std::uint64_t>& ids = slot->arrays.ids;
    taken.push_back({slot->batch.epoch,
                     slot->batch.index,
                     {ids.begin(), ids.begin() + samples},
                     slot->batch.last_of_epoch,
                     slot->fill.failure().has_value()});
    delivery.release(*slot);
  }
  delivery.close();
  return taken;
}

std::multiset<std::uint64_t> all_ids(const std::vector<Taken>& taken) {
  std::multiset<std::uint64_t> ids;
  for (const Taken& batch : taken) ids.insert(batch.ids.begin(), batch.ids.end());
  return ids;
}

std::multiset<std::uint64_t> epoch_ids(std::uint64_t samples, int epochs = 1) {
  std::multiset<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < samples; ++id)
    for (int epoch = 0; epoch < epochs; ++epoch) ids.insert(id);
  return ids;
}

TEST_CASE("delivery: a run without samples ends immediately") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  const RunOrder order(Order({}, kKeepLast, 30), {0, 0, 30, {}}, 1);  // only the end of epoch 0
  const auto delivery = make_delivery(kind, order);
  CHECK_FALSE(delivery->claim(3));
  CHECK(delivery->wait(std::chrono::milliseconds(0)));
  CHECK(delivery->peek() == nullptr);
  CHECK(delivery->take() == nullptr);
  CHECK(delivery->all_held() == 0);
}

TEST_CASE("delivery: every epoch has each sample once, in batches in order") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  for (const std::uint64_t samples : {1, 10, 14, 95})
    for (const int prefetch : {0, 1, 4})
      for (const int epochs : {1, 3}) {
        CAPTURE(samples, prefetch, epochs);
        const RunOrder order(Order({}, kKeepLast, samples), {}, static_cast<std::uint32_t>(epochs));
        const auto delivery = make_delivery(kind, order, {.prefetch = prefetch});
        const std::vector<Taken> taken = take_batches(*delivery, order);
        const std::uint64_t batches = (samples + kDeliveryBatch - 1) / kDeliveryBatch;
        REQUIRE(taken.size() == batches * static_cast<std::uint64_t>(epochs));
        for (std::size_t i = 0; i < taken.size(); ++i) {
          CHECK(taken[i].epoch == i / batches);
          CHECK(taken[i].batch == i % batches);
          CHECK(taken[i].last_of_epoch == (taken[i].batch + 1 == batches));
          CHECK(taken[i].ids.size() == std::min(kDeliveryBatch, samples - taken[i].batch * kDeliveryBatch));
        }
        CHECK(all_ids(taken) == epoch_ids(samples, epochs));
      }
}

TEST_CASE("delivery: samples that fill up the last batch of all ranks stay in it, after the real ones") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  OrderSpec spec;
  spec.world = 2;
  spec.rank = 1;
  const Order epoch(spec, kKeepLast, 25);  // 20 in the first batches, then 3 for rank 0 and 2 with a filler for rank 1
  const RunOrder order(epoch, {}, 2);
  const std::vector<Taken> taken = take_batches(*make_delivery(kind, order), order);
  REQUIRE(taken.size() == 4);
  CHECK(taken[1].ids.size() == 3);
  CHECK(epoch.real_samples(1) == 2);
  CHECK(taken[1].ids.contains(epoch.epoch(0).id(1, 2)));
  CHECK(taken[3].ids.contains(epoch.epoch(1).id(1, 2)));
}

TEST_CASE("delivery: a run can be restored after every batch") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  constexpr std::uint64_t kSamples = 47;
  const OrderSpec spec;
  const Order epoch(spec, kKeepLast, kSamples);
  for (std::size_t taken = 0; taken <= 10; ++taken) {
    CAPTURE(taken);
    const RunOrder order(epoch, {}, 2);
    const auto delivery = make_delivery(kind, order);
    auto ids = all_ids(take_batches(*delivery, order, taken));
    const RankProgress progress = delivery->progress();
    const EpochPosition at = position_after({&progress, 1}, spec, kKeepLast, kSamples);
    const RunOrder rest_order(epoch, at, 2 - at.epoch);
    if (at.epoch < 2) ids.merge(all_ids(take_batches(*make_delivery(kind, rest_order), rest_order)));
    CHECK(ids == epoch_ids(kSamples, 2));
  }
}

TEST_CASE("delivery: a failed batch is delivered, but does not count as progress") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  OrderSpec spec;
  spec.shuffle = false;
  const RunOrder order(Order(spec, kKeepLast, 40), {}, 1);
  const auto delivery = make_delivery(kind, order);
  std::vector<Taken> taken = take_batches(*delivery, order, 1000, 3);
  REQUIRE(taken.size() == 4);
  const auto failed = std::find_if(taken.begin(), taken.end(), [](const Taken& batch) { return batch.failed; });
  REQUIRE(failed != taken.end());
  CHECK(failed->ids.contains(3));
  CHECK(std::count_if(taken.begin(), taken.end(), [](const Taken& batch) { return batch.failed; }) == 1);
}

TEST_CASE("delivery: the failure at the lowest index is kept") {
  const RunOrder order(Order({}, kKeepLast, 40), {}, 1);
  const auto delivery = make_delivery(Kind::kExact, order);
  const auto first = delivery->claim(5), second = delivery->claim(5);
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(delivery->finish(*second, Error(ErrorKind::kInput, "later"), 7));
  CHECK(delivery->finish(*first, Error(ErrorKind::kInput, "earlier"), 4));
  delivery->publish(*first->slot);
  REQUIRE(delivery->peek() != nullptr);
  CHECK(std::string(delivery->peek()->fill.failure()->what()) == "earlier");
}

TEST_CASE("delivery: close() wakes workers and the consumer, and nothing is delivered afterwards") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  const RunOrder order(Order({}, kKeepLast, 100), {}, 0);
  const auto delivery = make_delivery(kind, order, {.prefetch = 1});
  {
    std::jthread consumer([&] { CHECK(delivery->take() == nullptr); });
    std::jthread worker([&] {
      while (delivery->claim(1)) continue;  // nothing is finished, so that both wait
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    delivery->close();
  }
  CHECK_FALSE(delivery->claim(1));
  CHECK(delivery->take() == nullptr);
  CHECK(delivery->peek() == nullptr);
}

// Fills the next batch.
void fill(Delivery& delivery) {
  for (std::uint64_t samples = 0; samples < kDeliveryBatch;) {
    std::optional<Claim> claim = delivery.claim(kDeliveryBatch);
    REQUIRE(claim);
    if (claim->slot == nullptr) delivery.place(*claim);
    samples += claim->count;
    if (!delivery.finish(*claim)) continue;
    claim->slot->delivered.samples = claim->slot->batch.samples;
    delivery.publish(*claim->slot);
  }
}

TEST_CASE("delivery: requesting a batch while all slots are held is an error unless slots are added") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  const RunOrder order(Order({}, kKeepLast, 1000), {}, 0);
  const auto fixed = make_delivery(kind, order), grows = make_delivery(kind, order, {.grow = true});
  for (int i = 0; i < 4; ++i) {
    fill(*fixed);
    REQUIRE(fixed->take() != nullptr);
  }
  CHECK_THROWS_WITH(fixed->take(),
                    "all 4 batch buffers are held by the consumer. Release one before requesting the "
                    "next batch.");
  for (int i = 0; i < 20; ++i) {
    CHECK(grows->all_held() == 0);
    (void)grows->wait(std::chrono::milliseconds(0));  // requests, which adds a slot
    fill(*grows);
    REQUIRE(grows->take() != nullptr);
  }
  CHECK(grows->memory_bytes() >= 20 * kSlotBytes);
}

TEST_CASE("delivery: at the maximum, a consumer that holds every slot waits until it releases one") {
  const Kind kind = GENERATE(Kind::kExact, Kind::kRelaxed);
  const RunOrder order(Order({}, kKeepLast, 1000), {}, 0);
  const auto delivery = make_delivery(kind, order, {.prefetch = 1, .grow = true, .max_slots = 4});
  std::vector<Slot*> held;
  for (int i = 0; i < 4; ++i) {
    CHECK(delivery->all_held() == 0);
    (void)delivery->wait(std::chrono::milliseconds(0));
    fill(*delivery);
    held.push_back(delivery->take());
    REQUIRE(held.back() != nullptr);
  }
  CHECK(delivery->all_held() == 4);
  CHECK_FALSE(delivery->wait(std::chrono::milliseconds(0)));
  CHECK(delivery->memory_bytes() == 4 * kSlotBytes);
  delivery->release(*held.back());
  CHECK(delivery->all_held() == 0);
  fill(*delivery);
  CHECK(delivery->take() != nullptr);
}

TEST_CASE("delivery: prefetch can be raised and lowered during the run") {
  const RunOrder order(Order({}, kKeepLast, 1000), {}, 0);
  const auto delivery = make_delivery(Kind::kExact, order, {.max_prefetch = 6});
  CHECK(delivery->memory_bytes() == 4 * kSlotBytes);
  delivery->set_prefetch(6);
  CHECK(delivery->memory_bytes() == 4 * kSlotBytes);  // the consumer adds slots
  CHECK_FALSE(delivery->wait(std::chrono::milliseconds(0)));
  CHECK(delivery->memory_bytes() == 8 * kSlotBytes);
  for (int i = 0; i < 7; ++i) fill(*delivery);  // six in addition to the requested one
  std::uint64_t next = 0;
  const auto take = [&] {
    Slot* const slot = delivery->take();
    REQUIRE(slot);
    CHECK(slot->batch.index == next++);
    delivery->release(*slot);
  };
  delivery->set_prefetch(1);
  for (int i = 0; i < 7; ++i) take();
  CHECK(delivery->memory_bytes() == 3 * kSlotBytes);
  for (int i = 0; i < 20; ++i) {
    fill(*delivery);
    take();
  }
  CHECK(delivery->memory_bytes() == 3 * kSlotBytes);
}

}  // namespace
}  // namespace unstarve
