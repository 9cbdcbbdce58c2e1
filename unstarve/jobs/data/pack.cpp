#include "unstarve/jobs/data/pack.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/core/version.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/jobs/pack/pack_folder.h"
#include "unstarve/jobs/pack/pack_image.h"
#include "unstarve/jobs/pack/pack_plan.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/scan_index_file.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/source/source_options.h"
#include "unstarve/storage/writer_formats.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using PackClock = std::chrono::steady_clock;

constexpr std::uint64_t kPackChunk = 8;  // records; a few milliseconds of photographs
// Records packed to estimate the packed size: the mean of 64 is within 10 % of the total mean, and the estimate of a
// small dataset packs less than a twentieth of it.
constexpr std::uint64_t kEstimateRecords = 64, kLeastEstimateRecords = 16, kEstimatePart = 64;

void check_options(const PackOptions& options) {
  const auto reject = [](const std::string& what) { throw Error(ErrorKind::kArgument, "pack: " + what); };
  if (options.resize < 0) reject(fmt::format("resize {}; expected a side length in pixels", options.resize));
  if (options.quality < 0 || options.quality > 100)
    reject(fmt::format("quality {}; expected 1 to 100", options.quality));
  if (!(options.shard_mb > 0)) reject(fmt::format("shard size of {} MB; expected more than 0", options.shard_mb));
  if (options.threads < 0) reject(fmt::format("{} threads; expected 0 or more", options.threads));
  if (options.part.of < 1 || options.part.number > options.part.of)
    reject("invalid part; expected i/n with i from 0 to n");
}

// The output must not become part of the input.
void reject_inside(const std::string& source, const fs::path& folder) {
  std::error_code failed;
  if (is_url(source) || !fs::is_directory(source, failed)) return;
  const fs::path outer = fs::weakly_canonical(source, failed), inner = fs::weakly_canonical(folder, failed);
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  if (end == outer.end() || (std::next(end) == outer.end() && end->empty()))
    throw Error(ErrorKind::kArgument, "pack: " + folder.string() + " is inside " + source +
                                          ": the output would be read as data. Use a folder outside of it");
}

// The source as it appears in record locations: without the secret parts of a URL, and with the trailing '/' of a
// bucket folder.
std::string source_of_keys(const std::string& source, const Dataset& data) {
  if (!is_url(source)) return source;
  std::string name = shown_name(source.substr(0, options_at(source)));
  if (!name.ends_with('/') && data.record_location(0).file.starts_with(name + "/")) name += '/';
  return name;
}

std::string options_json(const PackOptions& options, const PackPlan& plan) {
  std::string split;
  for (const SplitShare& share : options.splits)
    split += fmt::format("{}{}={}", split.empty() ? "" : ",", share.name, share.share);
  Json options_text{{"resize", options.resize},
                    {"quality", options.quality},
                    {"shard_mb", options.shard_mb},
                    {"shuffle", options.shuffle},
                    {"seed", options.seed},
                    {"split", split},
                    {"source_split", options.source_split},
                    {"exclude", plan.excluded()}};
  if (options.scan_index) options_text["scan_index"] = true;
  return json_text(options_text);
}

std::string source_json(const Dataset& data, const PackPlan& plan) {
  return json_text(Json{{"format", data.format()},
                        {"records", data.size()},
                        {"fingerprint", fmt::format("{:016x}", plan.fingerprint())}});
}

// A packed or skipped record, passed from a worker to the writer.
struct Piece {
  PackedRecord packed;
  std::optional<QuarantineEntry> skipped;
};

// Consecutive records of one shard.
struct PackChunk {
  std::size_t shard = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// A shard that is being written.
struct OpenShard {
  std::unique_ptr<PackFile> file;
  std::unique_ptr<RecordWriter> writer;
  std::string index_file;
  ScanIndexBuilder scan_index;
  ShardEntry entry;
};

// Writes packed chunks, in order, to shards. A shard is synced to disk while the next one is written.
class ShardWriter {
 public:
  ShardWriter(const PackPlan& plan, const WriterFormat& format, const std::vector<std::string>& classes,
              const PackFolder& folder, PackResult& result)
      : plan_(plan),
        split_names_(plan.split_names()),
        format_(format),
        classes_(classes),
        folder_(folder),
        result_(result) {}

  void append(const PackChunk& chunk, std::vector<Piece>& pieces) {
    const PlannedShard& shard = plan_.shards()[chunk.shard];
    if (chunk.begin == shard.begin) begin(shard);
    for (std::uint64_t position = chunk.begin; position < chunk.end; ++position) {
      Piece& piece = pieces[static_cast<std::size_t>(position - chunk.begin)];
      if (piece.skipped) {
        open_->entry.skipped.push_back(std::move(*piece.skipped));
        continue;
      }
      open_->writer->append(piece.packed.out);
      check_map(piece.packed.out.image);  // after the writer has read it
      open_->scan_index.add(piece.packed.scan_index);
      ++open_->entry.records;
    }
    if (chunk.end == shard.end) end();
  }
  // Waits until every shard is published.
  void finish() { closer_.wait(); }

 private:
  void begin(const PlannedShard& shard) {
    open_ = std::make_shared<OpenShard>();
    open_->file = folder_.begin(shard.stem + format_.extension);
    open_->writer = format_.make(*open_->file, classes_);
    open_->entry.split = split_names_[shard.split];
    if (format_.index_extension[0] != '\0') open_->index_file = shard.stem + format_.index_extension;
  }
  void end() {
    open_->writer->finish();
    open_->entry.shard = open_->file->sum();
    result_.records_made += open_->entry.records;
    result_.bytes_made += open_->entry.shard.bytes;
    ++result_.shards_made;
    closer_.wait();
    closer_.submit([this, shard = std::move(open_)] {
      std::string index, scan_index;
      if (!shard->index_file.empty()) {
        index = shard->writer->index();
        shard->entry.index = sum_of(shard->index_file, index);
      }
      if (!shard->scan_index.empty()) {
        scan_index = shard->scan_index.file(shard->entry.shard.bytes);
        shard->entry.scan_index = sum_of(scan_index_path(shard->entry.shard.file), scan_index);
      }
      folder_.publish(*shard->file, shard->entry, index, scan_index);
    });
  }

  const PackPlan& plan_;
  const std::vector<std::string> split_names_;
  const WriterFormat& format_;
  const std::vector<std::string>& classes_;
  const PackFolder& folder_;
  PackResult& result_;
  std::shared_ptr<OpenShard> open_;
  ThreadPool closer_{1};  // last: its thread ends before the other members
};

class Packing {
 public:
  Packing(const std::string& source, const PackOptions& options, std::stop_token stop)
      : options_(options),
        stop_(std::move(stop)),
        format_(find_writer_format(options.format)),
        data_(open_dataset(source, options.source_split)),
        keys_(source_of_keys(source, *data_)),
        plan_(*data_, keys_, options),
        threads_(threads()) {
    (void)PackImage(*data_, keys_, options);  // throws for data that cannot be packed, before files are created
    plan_.cut(bytes_per_record(), options.shard_mb * 1e6);
  }

  PackResult run(const fs::path& path, const Progress& progress) {
    PackResult result;
    result.manifest = manifest();
    PackFolder folder(path, result.manifest, plan_.shards().size());
    const auto start = PackClock::now();
    write(folder, progress, result);
    std::vector<std::string> files;
    for (const PlannedShard& shard : plan_.shards()) files.push_back(file_of(shard));
    result.complete = folder.complete(files);
    for (const std::string& file : files) {
      if (std::optional<ShardEntry> entry = folder.finished(file)) result.manifest.shards.push_back(std::move(*entry));
    }
    result.shards_total = files.size();
    result.excluded = plan_.excluded();
    result.exclude_entries = plan_.exclude_entries();
    result.seconds = std::chrono::duration<double>(PackClock::now() - start).count();
    return result;
  }

 private:
  [[nodiscard]] int threads() const {
    if (options_.threads > 0) return options_.threads;
    const int usable = read_topology().usable();
    return PackImage::decodes(*data_, options_) ? usable : 4 * usable;  // waiting for a disk needs no CPU
  }

  [[nodiscard]] std::string file_of(const PlannedShard& shard) const { return shard.stem + format_.extension; }

  // The properties that identify the pack, without shards.
  [[nodiscard]] PackManifest manifest() const {
    return {kVersion,
            format_.name,
            options_json(options_, plan_),
            source_json(*data_, plan_),
            data_->classes(),
            plan_.split_names(),
            {}};
  }

  // Packs a few records to estimate their size. Damaged records are ignored here and reported when they are packed.
  [[nodiscard]] double bytes_per_record() {
    const std::uint64_t sample = std::clamp(plan_.records() / kEstimatePart, kLeastEstimateRecords, kEstimateRecords);
    const std::vector<std::uint64_t> ids = plan_.spread(sample);
    const OrderedWork work{ids.size(), threads_, static_cast<std::uint64_t>(2 * threads_)};
    std::vector<Piece> slots(work.window);
    CountingSink sink;
    const std::unique_ptr<RecordWriter> writer = format_.make(sink, data_->classes());
    std::uint64_t records = 0;
    const auto make_worker = [&]() -> OrderedWorker {
      auto image = std::make_shared<PackImage>(*data_, keys_, options_);
      return [&, image](std::uint64_t item, std::size_t slot) { make(*image, ids[item], slots[slot], true); };
    };
    run_in_order(
        work, make_worker,
        [&](std::uint64_t item, std::size_t slot) {
          if (slots[slot].skipped) return;
          slots[slot].packed.out.number = item;
          writer->append(slots[slot].packed.out);
          check_map(slots[slot].packed.out.image);
          ++records;
        },
        stop_);
    writer->finish();
    return records == 0 ? 0 : static_cast<double>(sink.position()) / static_cast<double>(records);
  }

  // The records of this part's unfinished shards.
  [[nodiscard]] std::vector<PackChunk> chunks(const PackFolder& folder, PackResult& result) const {
    std::vector<PackChunk> all;
    const std::vector<PlannedShard>& shards = plan_.shards();
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (i % options_.part.of != options_.part.number % options_.part.of) continue;
      if (folder.finished(file_of(shards[i]))) {
        ++result.shards_found;
        continue;
      }
      for (std::uint64_t at = shards[i].begin; at < shards[i].end; at += kPackChunk)
        all.push_back({i, at, std::min(at + kPackChunk, shards[i].end)});
    }
    return all;
  }

  void write(const PackFolder& folder, const Progress& progress, PackResult& result) {
    const std::vector<PackChunk> all = chunks(folder, result);
    const OrderedWork work{all.size(), threads_, static_cast<std::uint64_t>(2 * threads_ + 2)};
    std::vector<std::vector<Piece>> slots(work.window);
    for (std::vector<Piece>& pieces : slots) pieces.resize(kPackChunk);
    std::uint64_t records = 0;
    for (const PackChunk& chunk : all) records += chunk.end - chunk.begin;
    ItemProgress done(progress, records, "records");
    ShardWriter writer(plan_, format_, data_->classes(), folder, result);
    const auto make_worker = [&]() -> OrderedWorker {
      auto image = std::make_shared<PackImage>(*data_, keys_, options_);
      return [&, image](std::uint64_t item, std::size_t slot) { make_chunk(*image, all[item], slots[slot]); };
    };
    run_in_order(
        work, make_worker,
        [&](std::uint64_t item, std::size_t slot) {
          writer.append(all[item], slots[slot]);
          done.add(all[item].end - all[item].begin);
        },
        stop_);
    writer.finish();
  }

  void make_chunk(PackImage& image, const PackChunk& chunk, std::vector<Piece>& pieces) const {
    const std::size_t split = plan_.shards()[chunk.shard].split;
    for (std::uint64_t position = chunk.begin; position < chunk.end; ++position) {
      Piece& piece = pieces[static_cast<std::size_t>(position - chunk.begin)];
      make(image, plan_.id(split, position), piece, options_.skip_damaged);
      piece.packed.out.number = position;
    }
  }

  void make(PackImage& image, std::uint64_t id, Piece& piece, bool skip) const {
    piece.skipped.reset();
    try {
      image.make(id, piece.packed);
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      if (!skip)
        throw Error(error.kind(),
                    fmt::format("pack: {}; use --on-error skip to leave out damaged records", error.what()));
      piece.skipped = skipped_record(data_->record_location(id), error.what());
    }
  }

  // Contains nothing that depends on the location of the source on this machine.
  [[nodiscard]] QuarantineEntry skipped_record(const RecordLocation& location, std::string reason) const {
    const std::string prefix = to_string(location) + ": ";
    const std::size_t at = reason.find(prefix);
    if (at != std::string::npos) reason = reason.substr(at + prefix.size());
    QuarantineEntry entry = quarantine_entry(location, std::move(reason));
    entry.file = keys_.relative(entry.file);
    return entry;
  }

  const PackOptions& options_;
  std::stop_token stop_;
  const WriterFormat& format_;
  std::shared_ptr<const Dataset> data_;
  PackKeys keys_;
  PackPlan plan_;
  int threads_;
};

}  // namespace

PackResult run_pack(const std::string& source, const fs::path& folder, const PackOptions& options,
                    const Progress& progress, std::stop_token stop) {
  check_options(options);
  if (folder.empty()) throw Error(ErrorKind::kArgument, "pack: the folder name is empty");
  reject_url_as_folder("pack", folder);
  reject_inside(source, folder);
  if (progress) progress("opening " + shown_name(source), 0);
  return Packing(source, options, std::move(stop)).run(folder, progress);
}

}  // namespace unstarve
