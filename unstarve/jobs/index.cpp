#include "unstarve/jobs/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/core/topology.h"
#include "unstarve/jobs/common/make_scan_index.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/observe/format.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/scan_index_files.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kChunk = 16;  // records: some milliseconds of photographs
constexpr auto kTellEvery = std::chrono::milliseconds(100);

// What became of some records.
struct Chunk {
  std::uint64_t made = 0, there = 0, without = 0, corrupt = 0, bytes_made = 0, bytes_indexed = 0, bytes_read = 0;
  std::string first_corrupt;
};

std::string why_not_writable(const ScanIndexStore& store) {
  return store.note().empty() ? store.place().string() + ": it cannot be written" : store.note();
}

class Worker {
 public:
  Worker(const Dataset& data, const SampleSet& samples, ScanIndexStore& store)
      : data_(data),
        samples_(samples),
        store_(store),
        image_field_(static_cast<std::size_t>(data.field_index(FieldKind::kEncodedImage))) {}

  void work(std::uint64_t begin, std::uint64_t end, Chunk& chunk) {
    chunk = {};
    for (std::uint64_t place = begin; place < end; ++place) {
      const std::uint64_t id = samples_.id(place);
      std::span<const std::uint8_t> made;
      try {
        made = index(id, chunk);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo) throw;
        if (chunk.corrupt++ == 0) chunk.first_corrupt = data_.location(id) + ": " + error.what();
      }
      if (made.empty()) continue;
      store_.put(id, made);
      if (!store_.writable()) throw Error(ErrorKind::kIo, "index: " + why_not_writable(store_));
      ++chunk.made;
      chunk.bytes_made += made.size();
      chunk.bytes_indexed += record_.values[image_field_].bytes.size();
    }
  }

 private:
  // The index that is to be kept, valid until the next call; empty where there is one, or can be none.
  std::span<const std::uint8_t> index(std::uint64_t id, Chunk& chunk) {
    data_.read(id, record_);
    const std::span<const std::uint8_t> bytes = record_.values[image_field_].bytes;
    chunk.bytes_read += bytes.size();
    if (decoder_.open(bytes).encoding != Encoding::kJpeg) {
      ++chunk.without;
      return {};
    }
    (void)store_.find(id, found_);  // empty where there is none
    const std::span<const std::uint8_t> made = make_scan_index(decoder_, pixel_, found_);
    check_map(bytes);
    if (decoder_.index_use() == IndexUse::kUsed)
      ++chunk.there;
    else if (made.empty())
      ++chunk.without;
    return made;
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

void add(const Chunk& chunk, IndexingResult& result) {
  result.made += chunk.made;
  result.there += chunk.there;
  result.without += chunk.without;
  if (result.corrupt == 0) result.first_corrupt = chunk.first_corrupt;
  result.corrupt += chunk.corrupt;
  result.bytes_made += chunk.bytes_made;
  result.bytes_indexed += chunk.bytes_indexed;
  result.bytes_read += chunk.bytes_read;
}

// Of the data of `spec`, for their records.
std::shared_ptr<ScanIndexStore> open_store(const PipelineSpec& spec, const Dataset& data) {
  const auto [places, why_none] = scan_index_files(spec);
  BroughtIndexes brought = brought_indexes(data);
  for (const std::string& why : brought.not_used) emit_notice(why);
  std::uint64_t covered = 0;
  for (const ScanIndexPart& part : brought.parts) covered += part.records;
  if (places.empty() && covered < data.size()) throw Error(ErrorKind::kArgument, "index: " + why_none);
  auto store = ScanIndexStore::open(places, data.size(), 0, std::move(brought.parts));
  // One that can only be read may hold all there is to make.
  if (store->place().empty() && covered < data.size())
    throw Error(ErrorKind::kIo, "index: " + why_not_writable(*store));
  return store;
}

}  // namespace

IndexingResult run_indexing(const PipelineSpec& spec, int threads, const Progress& progress, std::stop_token stop) {
  const auto start = Clock::now();
  const std::shared_ptr<const Dataset> data = open_sources(spec);
  if (data->field_index(FieldKind::kEncodedImage) < 0)
    throw Error(ErrorKind::kArgument, "index: the " + data->format() + " holds pixels, expected JPEG images");
  const std::shared_ptr<ScanIndexStore> store = open_store(spec, *data);
  if (threads == 0) threads = read_topology().usable();
  const std::shared_ptr<const SampleSet> samples = samples_of_sources(spec, *data, threads);
  IndexingResult result;
  result.data = name_of_sources(spec);
  result.place = store->place();
  result.records = samples->size();
  result.all_records = data->size();

  OrderedWork work{(result.records + kChunk - 1) / kChunk, threads, 1};
  work.window = static_cast<std::uint64_t>(2 * work.threads);
  std::vector<Chunk> slots(work.window);
  Clock::time_point told{};
  run_in_order(
      work,
      [&]() -> OrderedWorker {
        auto worker = std::make_shared<Worker>(*data, *samples, *store);
        return [&, worker](std::uint64_t item, std::size_t slot) {
          worker->work(item * kChunk, std::min((item + 1) * kChunk, result.records), slots[slot]);
        };
      },
      [&](std::uint64_t item, std::size_t slot) {
        add(slots[slot], result);
        const auto now = Clock::now();
        const std::uint64_t done = std::min((item + 1) * kChunk, result.records);
        if (!progress || (now - told < kTellEvery && done < result.records)) return;
        told = now;
        const double seconds = std::max(std::chrono::duration<double>(now - start).count(), 1e-3);
        progress(fmt::format("{} of {} records, {}/s", done, result.records,
                             format_rate(static_cast<double>(done) / seconds)),
                 static_cast<double>(done) / static_cast<double>(result.records));
      },
      stop);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::string to_json(const IndexingResult& result) {
  const nlohmann::ordered_json json = {{"data", result.data},
                                       {"place", result.place.string()},
                                       {"records", result.records},
                                       {"all_records", result.all_records},
                                       {"made", result.made},
                                       {"there", result.there},
                                       {"without", result.without},
                                       {"corrupt", result.corrupt},
                                       {"first_corrupt", result.first_corrupt},
                                       {"bytes_made", result.bytes_made},
                                       {"bytes_indexed", result.bytes_indexed},
                                       {"bytes_read", result.bytes_read},
                                       {"seconds", result.seconds}};
  // File names need not be UTF-8, JSON must be: what is not becomes U+FFFD.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string to_text(const IndexingResult& result) {
  std::string text = fmt::format("{}: {} records", printable(result.data), result.records);
  text += result.records < result.all_records
              ? fmt::format(" of {}, by filter and take of the spec\n", result.all_records)
              : "\n";
  text += fmt::format("  made       {}, {}", result.made, format_bytes(result.bytes_made));
  if (result.bytes_indexed > 0)
    text += fmt::format(", {:.2f} % of their images,",
                        100 * static_cast<double>(result.bytes_made) / static_cast<double>(result.bytes_indexed));
  text += fmt::format(" in {:.1f} s: {} records/s\n", result.seconds,
                      format_rate(static_cast<double>(result.records) / std::max(result.seconds, 1e-3)));
  text += fmt::format("  there      {}\n", result.there);
  if (result.without > 0)
    text += fmt::format("  without    {}: no JPEG, or one that is not decoded by an index\n", result.without);
  if (result.corrupt > 0)
    text += fmt::format("  corrupt    {}, the first: {}\n", result.corrupt, printable(result.first_corrupt));
  if (!result.place.empty()) text += "  kept in    " + printable(result.place.string()) + "\n";
  return text;
}

}  // namespace unstarve
