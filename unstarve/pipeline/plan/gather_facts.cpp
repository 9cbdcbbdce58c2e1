#include "unstarve/pipeline/plan/gather_facts.h"

#include <algorithm>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/host.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/plan/scan_index_files.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/content_stamp.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Samples that are tried for a readable image before the data is rejected.
constexpr std::uint64_t kProbes = 100;

const Value& image_of(const RecordBuffer& record, const DataFacts& facts) {
  return record.values[static_cast<std::size_t>(facts.image_field)];
}

FirstImage find_first_image(const RunData& data, const DataFacts& facts, int max_pixels) {
  RecordBuffer record;
  Decoder decoder;
  std::string reason;
  const std::uint64_t probes = std::min(data.samples->size(), kProbes);
  for (std::uint64_t position = 0; position < probes; ++position) {
    const std::uint64_t id = data.samples->id(position);
    try {
      data.dataset->read(id, record);
      const Value& value = image_of(record, facts);
      FirstImage first{id, {}};
      if (facts.encoded)
        first.header = decoder.open(value.bytes, max_pixels);
      else
        first.header.size = value.pixels.size();
      return first;
    } catch (const Error& error) {
      if (!reason.empty()) continue;
      reason = error.what();
      const std::string location = data.dataset->location(id);
      if (reason.find(location) == std::string::npos) reason = location + ": " + reason;
    }
  }
  throw input_error("none of the first {} samples can be read; the first: {}", probes, reason);
}

template <class Work>
bool failed(const Work& work) {
  try {
    work();
    return false;
  } catch (const Error&) {
    return true;
  }
}

// Samples spread over the data; unreadable ones are left to the error policy.
LargestSample find_largest(const RunData& data, const DataFacts& facts, int max_pixels) {
  constexpr std::uint64_t kLookedAt = 64, kConcurrent = 16;  // concurrent, for data on a server
  LargestSample largest;
  Decoder decoder;
  const std::uint64_t samples = data.samples->size(), looked_at = std::min(samples, kLookedAt);
  const auto look = [&](const RecordBuffer& record) {
    const Value& value = image_of(record, facts);
    const Size size = facts.encoded ? decoder.open(value.bytes, max_pixels).size : value.pixels.size();
    // Mapped bytes take no memory of the record's.
    largest.record_bytes = std::max<std::uint64_t>(largest.record_bytes, record.storage.capacity());
    if (std::int64_t{size.width} * size.height > std::int64_t{largest.image.width} * largest.image.height)
      largest.image = size;
  };
  std::vector<RecordBuffer> records(kConcurrent);
  for (std::uint64_t first = 0; first < looked_at; first += kConcurrent) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = first; i < std::min(first + kConcurrent, looked_at); ++i)
      ids.push_back(data.samples->id(i * samples / looked_at));
    const bool together = !failed([&] { data.dataset->read_many(ids, std::span(records).first(ids.size())); });
    for (std::size_t i = 0; i < ids.size(); ++i)
      (void)failed([&] {
        if (!together) data.dataset->read(ids[i], records[i]);
        look(records[i]);
      });
  }
  return largest;
}

bool may_use_scan_index(const PipelineSpec& spec, const DataFacts& facts) {
  return facts.encoded && !spec.operations.empty() && spec.cache.what != CacheWhat::kPixels;
}

void find_index_files(const PipelineSpec& spec, ScanIndexFacts& facts) {
  ScanIndexFiles files = scan_index_files(spec);
  facts.files = std::move(files.candidates);
  facts.why_no_file = std::move(files.why_none);
  if (facts.files.empty()) return;
  const auto exists = [](const std::filesystem::path& file) {
    std::error_code failed;
    return std::filesystem::exists(file, failed);
  };
  const auto found = std::find_if(facts.files.begin(), facts.files.end(), exists);
  facts.shown_file = found == facts.files.end() ? facts.files.front() : *found;
}

CacheFileFacts cache_file_facts(const Dataset& dataset, const std::string& folder) {
  CacheFileFacts facts;
  if (folder.empty()) return facts;
  facts.known_by_path = dataset.known_by_path();
  if (facts.known_by_path) facts.content = content_stamp(dataset);
  if (is_on_network(folder)) facts.host = host_name();
  return facts;
}

}  // namespace

DataFacts gather_facts(const PipelineSpec& spec, RunData& data) {
  const Dataset& dataset = *data.dataset;
  DataFacts facts;
  facts.format = dataset.format();
  facts.records = dataset.size();
  facts.stored_bytes = dataset.stored_bytes();
  facts.samples = data.samples->size();
  facts.classes = dataset.classes().size();
  facts.image_field = dataset.field_index(FieldKind::kEncodedImage);
  facts.encoded = facts.image_field >= 0;
  if (!facts.encoded) facts.image_field = dataset.field_index(FieldKind::kPixels);
  if (facts.image_field < 0) throw input_error("{} has no image field, and a pipeline needs one", facts.format);
  facts.label_field = spec.declines_labels() ? -1 : dataset.field_index(FieldKind::kLabel);
  facts.first = find_first_image(data, facts, spec.decode.max_pixels);
  for (const Size& size : data.samples->sizes) {
    facts.largest_output.width = std::max(facts.largest_output.width, size.width);
    facts.largest_output.height = std::max(facts.largest_output.height, size.height);
  }
  if (spec.execution.memory_limit_mb > 0) facts.largest = find_largest(data, facts, spec.decode.max_pixels);
  if (spec.execution.read_ahead < 0) {
    facts.reads_in_flight = dataset.reads_in_flight();
    facts.most_reads_in_flight = dataset.most_reads_in_flight();
  }
  if (may_use_scan_index(spec, facts)) {
    data.packed_indexes = packed_indexes_of(dataset);
    for (const ScanIndexPart& part : data.packed_indexes.parts) facts.scan_index.packed_records += part.records;
    facts.scan_index.not_used = data.packed_indexes.not_used;
    find_index_files(spec, facts.scan_index);
  }
  facts.cache_file = cache_file_facts(dataset, spec.cache.folder);
  return facts;
}

}  // namespace unstarve
