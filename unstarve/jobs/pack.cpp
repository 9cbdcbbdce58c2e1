#include "unstarve/jobs/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/core/topology.h"
#include "unstarve/core/version.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/jobs/pack/pack_folder.h"
#include "unstarve/jobs/pack/pack_image.h"
#include "unstarve/jobs/pack/pack_plan.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/scan_index_file.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/writer_formats.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kChunk = 8;  // records; a few milliseconds of photographs
// Records packed to estimate the packed size: the mean of 64 is within 10 % of the total mean, and the estimate of a
// small dataset packs less than a twentieth of it.
constexpr std::uint64_t kEstimateRecords = 64, kLeastEstimateRecords = 16, kEstimatePart = 64;
constexpr auto kReportEvery = std::chrono::milliseconds(100);

void check(const PackOptions& options) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::kArgument, "pack: " + what); };
  if (options.resize < 0) refuse(fmt::format("resize {}; expected a side length in pixels", options.resize));
  if (options.quality < 0 || options.quality > 100)
    refuse(fmt::format("quality {}; expected 1 to 100", options.quality));
  if (!(options.shard_mb > 0)) refuse(fmt::format("shard size of {} MB; expected more than 0", options.shard_mb));
  if (options.threads < 0) refuse(fmt::format("{} threads; expected 0 or more", options.threads));
  if (options.part.of < 1 || options.part.number > options.part.of)
    refuse("invalid part; expected i/n with i from 0 to n");
}

// The output must not become part of the input.
void refuse_inside(const std::string& source, const fs::path& folder) {
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
  std::string name = shown_name(source.substr(0, source.find('#')));
  if (!name.ends_with('/') && data.record_location(0).file.starts_with(name + "/")) name += '/';
  return name;
}

bool is_damage(const Error& error) {
  return error.kind() == ErrorKind::kInput || error.kind() == ErrorKind::kIo || error.kind() == ErrorKind::kMemory;
}

// Counts written bytes, for the estimate.
class CountingSink final : public ByteSink {
 public:
  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override { bytes_ += bytes.size(); }
  [[nodiscard]] std::uint64_t position() const noexcept override { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

std::string options_json(const PackOptions& options, const PackPlan& plan) {
  std::string split;
  for (const SplitShare& share : options.splits)
    split += fmt::format("{}{}={}", split.empty() ? "" : ",", share.name, share.share);
  nlohmann::ordered_json json{{"resize", options.resize},
                              {"quality", options.quality},
                              {"shard_mb", options.shard_mb},
                              {"shuffle", options.shuffle},
                              {"seed", options.seed},
                              {"split", split},
                              {"source_split", options.source_split},
                              {"exclude", plan.excluded()}};
  if (options.scan_index) json["scan_index"] = true;
  return json.dump();
}

std::string source_json(const Dataset& data, const PackPlan& plan) {
  return nlohmann::ordered_json{
      {"format", data.format()}, {"records", data.size()}, {"fingerprint", fmt::format("{:016x}", plan.fingerprint())}}
      .dump();
}

// A packed or skipped record, passed from a worker to the writer.
struct Piece {
  PackedRecord packed;
  std::optional<QuarantineEntry> skipped;
};

// Consecutive records of one shard.
struct Chunk {
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

class Packing {
 public:
  Packing(const std::string& source, const fs::path& folder, const PackOptions& options, const Progress& progress,
          std::stop_token stop)
      : options_(options),
        progress_(progress),
        stop_(std::move(stop)),
        format_(find_writer_format(options.format)),
        data_(open_dataset(source, options.source_split)),
        keys_(source_of_keys(source, *data_)),
        plan_(*data_, keys_, options),
        threads_(threads()) {
    (void)PackImage(*data_, keys_, options);  // refuses data that cannot be packed before creating files
    plan_.cut(bytes_per_record(), options.shard_mb * 1e6);
    PackManifest made;
    made.version = kVersion;
    made.format = format_.name;
    made.options = options_json(options, plan_);
    made.source = source_json(*data_, plan_);
    made.classes = data_->classes();
    made.split_names = plan_.split_names();
    folder_.emplace(folder, std::move(made), plan_.shards().size());
  }

  PackResult run() {
    const auto start = Clock::now();
    choose();
    write_all();
    result_.complete = folder_->complete(all_files());
    result_.shards_in_all = plan_.shards().size();
    result_.excluded = plan_.excluded();
    result_.exclude_entries = plan_.exclude_entries();
    fill_manifest();
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(result_);
  }

 private:
  [[nodiscard]] int threads() const {
    if (options_.threads > 0) return options_.threads;
    const int usable = read_topology().usable();
    return PackImage::decodes(*data_, options_) ? usable : 4 * usable;  // waiting for a disk needs no CPU
  }

  [[nodiscard]] std::string file_of(const PlannedShard& shard) const { return shard.stem + format_.extension; }

  [[nodiscard]] std::vector<std::string> all_files() const {
    std::vector<std::string> files;
    for (const PlannedShard& shard : plan_.shards()) files.push_back(file_of(shard));
    return files;
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

  // Selects the shards to write.
  void choose() {
    const std::vector<PlannedShard>& shards = plan_.shards();
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (i % options_.part.of != options_.part.number % options_.part.of) continue;
      if (folder_->finished(file_of(shards[i]))) {
        ++result_.shards_found;
        continue;
      }
      records_to_make_ += shards[i].end - shards[i].begin;
      for (std::uint64_t at = shards[i].begin; at < shards[i].end; at += kChunk) {
        chunks_.push_back({i, at, std::min(at + kChunk, shards[i].end)});
      }
    }
  }

  void write_all() {
    const OrderedWork work{chunks_.size(), threads_, static_cast<std::uint64_t>(2 * threads_ + 2)};
    slots_.resize(work.window);
    for (std::vector<Piece>& pieces : slots_) pieces.resize(kChunk);
    start_ = Clock::now();
    report();
    ThreadPool closer(1);
    closer_ = &closer;
    const auto make_worker = [this]() -> OrderedWorker {
      auto image = std::make_shared<PackImage>(*data_, keys_, options_);
      return [this, image](std::uint64_t item, std::size_t slot) { make_chunk(*image, chunks_[item], slots_[slot]); };
    };
    run_in_order(
        work, make_worker, [this](std::uint64_t item, std::size_t slot) { take(chunks_[item], slots_[slot]); }, stop_);
    closer.wait();
  }

  void make_chunk(PackImage& image, const Chunk& chunk, std::vector<Piece>& pieces) const {
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

  void take(const Chunk& chunk, std::vector<Piece>& pieces) {
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
    records_done_ += chunk.end - chunk.begin;
    report();
    if (chunk.end == shard.end) end(shard);
  }

  void begin(const PlannedShard& shard) {
    open_ = std::make_shared<OpenShard>();
    open_->file = folder_->begin(file_of(shard));
    open_->writer = format_.make(*open_->file, data_->classes());
    open_->entry.split = plan_.split_names()[shard.split];
    if (format_.index_extension[0] != '\0') open_->index_file = shard.stem + format_.index_extension;
  }

  // Syncs the shard to disk while the next one is written.
  void end(const PlannedShard&) {
    open_->writer->finish();
    open_->entry.shard = open_->file->sum();
    result_.records_made += open_->entry.records;
    result_.bytes_made += open_->entry.shard.bytes;
    ++result_.shards_made;
    closer_->wait();
    closer_->submit([this, shard = std::move(open_)] {
      std::string index, scan_index;
      if (!shard->index_file.empty()) {
        index = shard->writer->index();
        shard->entry.index = sum_of(shard->index_file, index);
      }
      if (!shard->scan_index.empty()) {
        scan_index = shard->scan_index.file(shard->entry.shard.bytes);
        shard->entry.scan_index = sum_of(scan_index_beside(shard->entry.shard.file), scan_index);
      }
      folder_->publish(*shard->file, shard->entry, index, scan_index);
    });
  }

  void report() {
    const auto now = Clock::now();
    if (!progress_ || records_to_make_ == 0) return;
    if (now - reported_ < kReportEvery && records_done_ < records_to_make_) return;
    reported_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string what = fmt::format("{} of {} records", records_done_, records_to_make_);
    if (records_done_ > 0)
      what += fmt::format(", {}/s", format_rate(static_cast<double>(records_done_) / std::max(seconds, 1e-3)));
    progress_(what, static_cast<double>(records_done_) / static_cast<double>(records_to_make_));
  }

  void fill_manifest() {
    result_.manifest.version = kVersion;
    result_.manifest.format = format_.name;
    result_.manifest.options = options_json(options_, plan_);
    result_.manifest.source = source_json(*data_, plan_);
    result_.manifest.classes = data_->classes();
    result_.manifest.split_names = plan_.split_names();
    for (const PlannedShard& shard : plan_.shards()) {
      if (std::optional<ShardEntry> entry = folder_->finished(file_of(shard)))
        result_.manifest.shards.push_back(std::move(*entry));
    }
  }

  const PackOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  const WriterFormat& format_;
  std::shared_ptr<const Dataset> data_;
  PackKeys keys_;
  PackPlan plan_;
  int threads_;
  std::optional<PackFolder> folder_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<Piece>> slots_;
  std::shared_ptr<OpenShard> open_;
  ThreadPool* closer_ = nullptr;
  std::uint64_t records_to_make_ = 0;
  std::uint64_t records_done_ = 0;
  Clock::time_point start_, reported_;
  PackResult result_;
};

}  // namespace

PackResult run_pack(const std::string& source, const fs::path& folder, const PackOptions& options,
                    const Progress& progress, std::stop_token stop) {
  check(options);
  if (folder.empty()) throw Error(ErrorKind::kArgument, "pack: the folder name is empty");
  refuse_url_as_folder("pack", folder);
  refuse_inside(source, folder);
  if (progress) progress("opening " + shown_name(source), 0);
  return Packing(source, folder, options, progress, std::move(stop)).run();
}

}  // namespace unstarve
