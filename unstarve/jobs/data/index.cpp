#include "unstarve/jobs/data/index.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/make_scan_index.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/observe/format.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/scan_index_files.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {
namespace {

using IndexClock = std::chrono::steady_clock;

constexpr std::uint64_t kIndexChunk = 16;  // records; a few milliseconds of photographs

// The outcome of a chunk of records.
struct IndexChunk {
  std::uint64_t built = 0, existing = 0, without = 0, corrupt = 0, bytes_built = 0, bytes_indexed = 0, bytes_read = 0;
  std::string first_corrupt;
};

std::string why_not_writable(const ScanIndexStore& store) {
  return store.note().empty() ? store.path().string() + ": not writable" : store.note();
}

class Worker {
 public:
  Worker(const Dataset& data, const SampleSet& samples, ScanIndexStore& store)
      : data_(data),
        samples_(samples),
        store_(store),
        image_field_(static_cast<std::size_t>(data.field_index(FieldKind::kEncodedImage))) {}

  void work(std::uint64_t begin, std::uint64_t end, IndexChunk& chunk) {
    chunk = {};
    for (std::uint64_t position = begin; position < end; ++position) {
      const std::uint64_t id = samples_.id(position);
      std::span<const std::uint8_t> built;
      try {
        built = index(id, chunk);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput) throw;
        if (chunk.corrupt++ == 0) chunk.first_corrupt = data_.location(id) + ": " + error.what();
      }
      if (built.empty()) continue;
      store_.put(id, built);
      if (!store_.writable()) throw Error(ErrorKind::kIo, "index: " + why_not_writable(store_));
      ++chunk.built;
      chunk.bytes_built += built.size();
      chunk.bytes_indexed += record_.values[image_field_].bytes.size();
    }
  }

 private:
  // The new index of the record, valid until the next call; empty if one exists or the image cannot have one.
  std::span<const std::uint8_t> index(std::uint64_t id, IndexChunk& chunk) {
    data_.read(id, record_);
    const std::span<const std::uint8_t> bytes = record_.values[image_field_].bytes;
    chunk.bytes_read += bytes.size();
    if (decoder_.open(bytes).encoding != Encoding::kJpeg) {
      ++chunk.without;
      return {};
    }
    (void)store_.find(id, found_);  // empty if there is none
    const std::span<const std::uint8_t> built = make_scan_index(decoder_, pixel_, found_);
    check_map(bytes);
    if (decoder_.index_use() == IndexUse::kUsed)
      ++chunk.existing;
    else if (built.empty())
      ++chunk.without;
    return built;
  }

  const Dataset& data_;
  const SampleSet& samples_;
  ScanIndexStore& store_;
  std::size_t image_field_;
  RecordBuffer record_;
  std::vector<std::uint8_t> found_;
  Decoder decoder_;
  Image pixel_;
};

void add(const IndexChunk& chunk, IndexResult& result) {
  result.built += chunk.built;
  result.existing += chunk.existing;
  result.without += chunk.without;
  if (result.corrupt == 0) result.first_corrupt = chunk.first_corrupt;
  result.corrupt += chunk.corrupt;
  result.bytes_built += chunk.bytes_built;
  result.bytes_indexed += chunk.bytes_indexed;
  result.bytes_read += chunk.bytes_read;
}

// Opens the index store for the records of `spec`.
std::shared_ptr<ScanIndexStore> open_store(const PipelineSpec& spec, const Dataset& data) {
  const auto [locations, why_none] = scan_index_files(spec);
  PackedIndexes packed = packed_indexes_of(data);
  for (const std::string& why : packed.not_used) emit_notice(why);
  std::uint64_t covered = 0;
  for (const ScanIndexPart& part : packed.parts) covered += part.records;
  if (locations.empty() && covered < data.size()) throw Error(ErrorKind::kArgument, "index: " + why_none);
  auto store = ScanIndexStore::open(locations, data.size(), 0, std::move(packed.parts));
  // A read-only store is sufficient if it contains all indexes.
  if (store->path().empty() && covered < data.size()) throw Error(ErrorKind::kIo, "index: " + why_not_writable(*store));
  return store;
}

}  // namespace

IndexResult run_index(const PipelineSpec& spec, int threads, const Progress& progress, std::stop_token stop) {
  const auto start = IndexClock::now();
  keep_indexes_next_to(spec.source.path);
  for (const SourceSpec& source : spec.mix) keep_indexes_next_to(source.path);
  const std::shared_ptr<const Dataset> data = open_sources(spec);
  if (data->field_index(FieldKind::kEncodedImage) < 0)
    throw Error(ErrorKind::kArgument, "index: the " + data->format() + " contains pixels; expected JPEG images");
  const std::shared_ptr<ScanIndexStore> store = open_store(spec, *data);
  if (threads == 0) threads = read_topology().usable();
  const std::shared_ptr<const SampleSet> samples = samples_of_sources(spec, *data, threads);
  IndexResult result;
  result.data = name_of_sources(spec);
  result.file = store->path();
  result.records = samples->size();
  result.all_records = data->size();

  OrderedWork work{(result.records + kIndexChunk - 1) / kIndexChunk, threads, 1};
  work.window = static_cast<std::uint64_t>(2 * work.threads);
  std::vector<IndexChunk> slots(work.window);
  ItemProgress reported(progress, result.records, "records");
  run_in_order(
      work,
      [&]() -> OrderedWorker {
        auto worker = std::make_shared<Worker>(*data, *samples, *store);
        return [&, worker](std::uint64_t item, std::size_t slot) {
          worker->work(item * kIndexChunk, std::min((item + 1) * kIndexChunk, result.records), slots[slot]);
        };
      },
      [&](std::uint64_t item, std::size_t slot) {
        add(slots[slot], result);
        reported.add(std::min((item + 1) * kIndexChunk, result.records) - item * kIndexChunk);
      },
      stop);
  result.seconds = std::chrono::duration<double>(IndexClock::now() - start).count();
  return result;
}

std::string to_json(const IndexResult& result) {
  const Json json = {{"data", result.data},
                     {"file", result.file.string()},
                     {"records", result.records},
                     {"all_records", result.all_records},
                     {"built", result.built},
                     {"existing", result.existing},
                     {"without", result.without},
                     {"corrupt", result.corrupt},
                     {"first_corrupt", result.first_corrupt},
                     {"bytes_built", result.bytes_built},
                     {"bytes_indexed", result.bytes_indexed},
                     {"bytes_read", result.bytes_read},
                     {"seconds", result.seconds}};
  return json_text(json, 2);
}

std::string to_text(const IndexResult& result) {
  std::string text = fmt::format("{}: {} records", printable(result.data), result.records);
  text += result.records < result.all_records
              ? fmt::format(" of {} (filter and take of the spec)\n", result.all_records)
              : "\n";
  text += fmt::format("  built      {}", result.built);
  if (result.built > 0) {
    text += ", " + format_bytes(result.bytes_built);
    if (result.bytes_indexed > 0)
      text += fmt::format(", {:.2f} % of their images,",
                          100 * static_cast<double>(result.bytes_built) / static_cast<double>(result.bytes_indexed));
    text += fmt::format(" in {:.1f} s: {} records/s", result.seconds,
                        format_rate(static_cast<double>(result.built) / std::max(result.seconds, 1e-3)));
  }
  text += "\n";
  text += fmt::format("  existing   {}\n", result.existing);
  if (result.without > 0)
    text += fmt::format("  none       {}: not JPEG, or JPEGs that do not support an index\n", result.without);
  if (result.corrupt > 0)
    text += fmt::format("  corrupt    {}, first: {}\n", result.corrupt, printable(result.first_corrupt));
  if (!result.file.empty()) text += "  saved in   " + printable(result.file.string()) + "\n";
  return text;
}

}  // namespace unstarve
