#include "unstarve/pipeline/order/sample_facts.h"

#include <algorithm>
#include <chrono>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Records per task: a few milliseconds of work.
constexpr std::size_t kPerTask = 64;
constexpr int kMostThreads = 64;

constexpr std::chrono::milliseconds kCancelCheckEvery{100};

// Calls each(decoder, buffer, i) for i of 0 .. count - 1 on several threads; ignores Error.
template <class Each>
void for_all(std::size_t count, int threads, const Check& check, const Each& each) {
  if (count == 0) return;
  const auto tasks = static_cast<int>((count + kPerTask - 1) / kPerTask);
  ThreadPool pool(std::clamp(threads, 1, std::min(tasks, kMostThreads)));
  for (std::size_t first = 0; first < count; first += kPerTask) {
    pool.submit([&, first, stop = pool.stop_token()] {
      Decoder decoder;
      RecordBuffer record;
      for (std::size_t i = first; i < std::min(count, first + kPerTask) && !stop.stop_requested(); ++i) {
        try {
          each(decoder, record, i);
        } catch (const Error&) {
          continue;  // the error policy applies when the record is loaded
        }
      }
    });
  }
  while (!pool.wait_for(kCancelCheckEvery))
    if (check) check();
  pool.wait();
}

}  // namespace

int threads_for_facts(const PipelineSpec& spec) { return spec.execution.initial_threads(read_topology().usable()); }

std::vector<std::optional<std::int64_t>> SampleFacts::labels(std::span<const std::uint32_t> ids) const {
  std::vector<std::optional<std::int64_t>> labels(ids.size());
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    labels[i] = dataset_.known_label(ids[i]);
    if (!labels[i]) unknown.push_back(i);
  }
  const int field = dataset_.field_index(FieldKind::kLabel);
  if (unknown.empty() || field < 0) return labels;
  read_ += unknown.size();
  for_all(unknown.size(), std::max(threads_, dataset_.reads_in_flight()), check_,
          [&](Decoder&, RecordBuffer& record, auto i) {
            dataset_.read(ids[unknown[i]], record);
            labels[unknown[i]] = record.values[static_cast<std::size_t>(field)].integer;
          });
  return labels;
}

std::vector<std::optional<ImageFacts>> SampleFacts::images(std::span<const std::uint32_t> ids) const {
  std::vector<std::optional<ImageFacts>> images(ids.size());
  const int encoded = dataset_.field_index(FieldKind::kEncodedImage);
  const int field = encoded >= 0 ? encoded : dataset_.field_index(FieldKind::kPixels);
  if (field < 0) return images;
  read_ += ids.size();
  for_all(ids.size(), std::max(threads_, dataset_.reads_in_flight()), check_,
          [&](Decoder& decoder, RecordBuffer& record, auto i) {
            dataset_.read(ids[i], record);
            const Value& value = record.values[static_cast<std::size_t>(field)];
            if (encoded >= 0) {
              images[i] = {decoder.open(value.bytes).size, value.bytes.size()};
            } else {
              const Size size = value.pixels.size();
              images[i] = {size, std::uint64_t{kChannels} * static_cast<std::uint64_t>(size.width) *
                                     static_cast<std::uint64_t>(size.height)};
            }
          });
  return images;
}

std::vector<std::optional<Size>> SampleFacts::sizes(std::span<const std::uint32_t> ids) const {
  std::vector<std::optional<Size>> sizes(ids.size());
  std::vector<std::uint32_t> unknown;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sizes[i] = dataset_.known_size(ids[i]);
    if (!sizes[i]) unknown.push_back(ids[i]);
  }
  if (unknown.empty()) return sizes;
  const auto read = images(unknown);
  for (std::size_t i = 0, next = 0; i < ids.size(); ++i) {
    if (sizes[i]) continue;
    if (read[next]) sizes[i] = read[next]->size;
    ++next;
  }
  return sizes;
}

void SampleFacts::fail(std::uint32_t id) const {
  RecordBuffer record;
  dataset_.read(id, record);
}

}  // namespace unstarve
