#include "unstarve/storage/index/record_files.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/dataset/label_notices.h"
#include "unstarve/storage/index/packed_shards.h"
#include "unstarve/storage/index/repairing_index.h"

namespace unstarve {
namespace {

// Indexing is bound by disk or memory: more threads gain nothing.
constexpr int kLocalThreads = 4;
constexpr int kRemoteThreads = 16;
constexpr std::size_t kMaxThreads = 256;

int threads_for(const std::vector<Shard>& shards, const RecordFilesOptions& options) {
  const int limit = options.threads > 0           ? options.threads
                    : is_url(shards.front().name) ? kRemoteThreads
                                                  : threads_up_to(kLocalThreads);
  return std::clamp<int>(limit, 1, static_cast<int>(std::min<std::size_t>(shards.size(), kMaxThreads)));
}

}  // namespace

struct RecordFiles::OpenShard {
  std::shared_ptr<const ByteSource> stored;  // as stored
  std::unique_ptr<const RepairingIndex> index;
  std::shared_ptr<const ByteSource> bytes;  // decompressed
  std::span<const std::uint8_t> mapped;     // of `bytes`
  std::string path;                         // as given: a URL with its password
  std::vector<std::int32_t> class_of_name;  // by the shard's own class number, if it has only names
};

// A record in its shard.
struct RecordFiles::Found {
  const OpenShard* shard;
  std::uint64_t number;  // in the shard
  IndexRecord entry;
};

RecordFiles::RecordFiles(std::vector<Shard> shards, std::shared_ptr<const RecordFormat> format,
                         const RecordFilesOptions& options)
    : format_(std::move(format)) {
  if (shards.empty()) throw argument_error("open {}: no shard was given", format_->name());
  open_shards(std::move(shards), options);
  std::vector<std::string> paths;
  for (const auto& shard : shards_) paths.push_back(shard->path);
  unfinished_ = note_unfinished_packs(paths);
  begins_.push_back(0);
  for (const auto& shard : shards_) {
    begins_.push_back(begins_.back() + shard->index->size());
    stored_bytes_ += shard->stored->size();
  }
  reject_empty();
  number_classes();
  fields_.push_back({"image", format_->image_kind()});
  if (labelled_) fields_.push_back({"label", FieldKind::kLabel});
}

RecordFiles::~RecordFiles() = default;

void RecordFiles::open_shards(std::vector<Shard> shards, const RecordFilesOptions& options) {
  shards_.resize(shards.size());
  ThreadPool pool(threads_for(shards, options));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    pool.submit([&, i] {
      Shard& shard = shards[i];
      std::shared_ptr<const ByteSource> stored = shard.bytes ? std::move(shard.bytes) : open_bytes(shard.name);
      auto index = std::make_unique<const RepairingIndex>(stored, format_, options.keep_index);
      std::shared_ptr<const ByteSource> bytes = index->bytes();
      const auto mapped = bytes->mapped();
      shards_[i] = std::make_unique<OpenShard>(
          OpenShard{stored, std::move(index), std::move(bytes), mapped, std::move(shard.name), {}});
    });
  }
  pool.wait();
}

void RecordFiles::reject_empty() const {
  const std::string shown = shards_.front()->stored->name() + (shards_.size() > 1 ? ", ..." : "");
  if (size() == 0) throw input_error("open {} {}: it holds no record", format_->name(), shown);
  std::uint64_t damaged = 0;
  for (const auto& shard : shards_) damaged += shard->index->summary().damaged;
  if (damaged < size()) return;
  throw input_error("open {} {}: none of its {} records can be read; the first: {}", format_->name(), shown, size(),
                    shards_[part_of(begins_, 0)]->index->reason(0));
}

// The shards of texts: names if one of them is no number, or if other shards have names; then true.
bool RecordFiles::texts_are_names() const {
  const auto holds = [&](const auto& condition) {
    return std::ranges::any_of(shards_, [&](const auto& shard) { return condition(shard->index->summary()); });
  };
  return holds([](const ShardSummary& summary) { return summary.labels == LabelKind::kNames; }) ||
         holds([](const ShardSummary& summary) {
           return summary.labels == LabelKind::kTexts && std::ranges::any_of(summary.class_names, [](const auto& text) {
                    return !number_of_text(text.second);
                  });
         });
}

// One numbering for all shards: the numbers of the records, or the sorted names.
void RecordFiles::number_classes() {
  const bool texts_named = texts_are_names();
  const OpenShard* numbered = nullptr;
  const OpenShard* named = nullptr;
  std::set<std::string> names;
  std::uint32_t classes = 0;
  for (const auto& shard : shards_) {
    const ShardSummary& summary = shard->index->summary();
    if (summary.labels == LabelKind::kNone) continue;
    const bool texts = summary.labels == LabelKind::kTexts;
    const bool is_named = summary.labels == LabelKind::kNames || (texts && texts_named);
    (is_named ? named : numbered) = shard.get();
    if (summary.labels == LabelKind::kNumbers) classes = std::max(classes, summary.classes);
    if (texts && !texts_named) classes = std::max(classes, number_texts(*shard));
    if (!is_named) continue;
    for (const auto& [number, name] : summary.class_names) names.insert(name);
  }
  if (numbered != nullptr && named != nullptr) {
    throw input_error(
        "open {}: classes are numbers in {} and names in {}; expected the same of all "
        "shards{}",
        format_->name(), numbered->stored->name(), named->stored->name(), use_names(*format_));
  }
  labelled_ = numbered != nullptr || named != nullptr;
  if (named != nullptr) {
    std::vector<std::string> sorted(names.begin(), names.end());
    report_text_labels(shards_.front()->stored->name(), format_->name(), sorted, size());
    return take_names(sorted);
  }
  if (numbered != nullptr && take_packed_names(classes)) return;
  for (std::uint32_t number = 0; number < classes; ++number) classes_.push_back(std::to_string(number));
  // Backwards, so that the first shard with a name for a class determines it.
  for (auto shard = shards_.rbegin(); shard != shards_.rend(); ++shard) {
    const ShardSummary& summary = (*shard)->index->summary();
    if (summary.labels != LabelKind::kNumbers) continue;  // its number of classes was not counted
    for (const auto& [number, name] : summary.class_names) classes_[number] = name;
  }
}

// Makes the texts of a shard class numbers, which all of them are; returns the largest plus 1.
std::uint32_t RecordFiles::number_texts(OpenShard& shard) {
  const ShardSummary& summary = shard.index->summary();
  std::int32_t below = 0;
  shard.class_of_name.assign(summary.classes, -1);
  for (const auto& [number, text] : summary.class_names) {
    shard.class_of_name[number] = number_of_text(text).value_or(-1);
    below = std::max(below, shard.class_of_name[number] + 1);
  }
  return static_cast<std::uint32_t>(below);
}

// Names for class numbers below `classes` from the manifest of a pack; false if records have names or there is no
// manifest.
bool RecordFiles::take_packed_names(std::uint32_t classes) {
  std::vector<std::string> files;
  for (const auto& shard : shards_) {
    if (!shard->index->summary().class_names.empty()) return false;
    files.push_back(shard->path);
  }
  std::vector<std::string> names = pack_classes(files);
  if (names.empty()) return false;
  if (names.size() < classes) {
    throw input_error(
        "open {} {}: it has the class number {}, the manifest.json next to it names {} classes. Run unstarve verify to "
        "find which is wrong",
        format_->name(), files.front(), classes - 1, names.size());
  }
  classes_ = std::move(names);
  return true;
}

void RecordFiles::take_names(const std::vector<std::string>& sorted) {
  classes_ = sorted;
  for (const auto& shard : shards_) {
    const ShardSummary& summary = shard->index->summary();
    shard->class_of_name.assign(summary.classes, -1);
    for (const auto& [number, name] : summary.class_names) {
      const auto position = std::lower_bound(classes_.begin(), classes_.end(), name);
      shard->class_of_name[number] = static_cast<std::int32_t>(position - classes_.begin());
    }
  }
}

RecordFiles::Found RecordFiles::find(std::uint64_t id) const {
  const std::size_t shard = part_of(begins_, id);
  const std::uint64_t number = id - begins_[shard];
  return {shards_[shard].get(), number, shards_[shard]->index->record(number)};
}

namespace {

// Takes the reason why the first record has no label, and ends the scan.
class FirstReason final : public RecordSink {
 public:
  struct Found {
    std::string reason;
  };
  void add(const ScannedRecord& record) override { throw Found{std::string(record.no_label)}; }
  void add_damaged(std::uint64_t, std::uint64_t, std::string_view) override {}
};

}  // namespace

std::string RecordFiles::missing_labels() const {
  if (labelled_) return "";
  for (const auto& shard : shards_) {
    FirstReason sink;
    try {
      format_->scan(*read_forward(*shard->bytes), sink);
    } catch (const FirstReason::Found& found) {
      return found.reason;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;  // damage: the next shard
    }
  }
  return "";
}

std::vector<DataFile> RecordFiles::files() const {
  std::vector<DataFile> files;
  for (std::size_t i = 0; i < shards_.size(); ++i)
    files.push_back({shards_[i]->stored->name(), begins_[i], shards_[i]->stored->stamp().changed_ns});
  return files;
}

RecordLocation RecordFiles::record_location(std::uint64_t id) const {
  const Found found = find(id);
  return {.file = found.shard->stored->name(),
          .member = found.shard->index->member(found.number),
          .number = found.number,
          .offset = found.entry.offset};
}

bool RecordFiles::is_outside(const Found& found) {
  const std::uint64_t size = found.shard->bytes->size();
  const IndexRecord& entry = found.entry;
  return entry.offset > size || entry.length > size - entry.offset || entry.length > kMaxRecordBytes;
}

// Throws for a record that was damaged when it was indexed, and for an entry outside of the shard.
RecordFiles::Found RecordFiles::check(std::uint64_t id) const {
  Found found = find(id);
  if (found.entry.label == kDamagedLabel) {
    throw input_error("read {}: {}", location(id), found.shard->index->reason(found.number));
  }
  if (is_outside(found) && found.shard->index->repair()) found = find(id);
  if (is_outside(found)) {
    throw input_error("read {}: its index gives it {} bytes, the shard has {}", location(id), found.entry.length,
                      found.shard->bytes->size());
  }
  return found;
}

std::int64_t RecordFiles::label_of(const Found& found) {
  const std::int64_t label = found.entry.label;
  const auto& classes = found.shard->class_of_name;
  if (label < 0 || classes.empty()) return label;
  return label < static_cast<std::int64_t>(classes.size()) ? classes[static_cast<std::size_t>(label)] : -1;
}

void RecordFiles::fill(const Found& found, std::uint64_t id, std::span<const std::uint8_t> stored,
                       RecordBuffer& record) const {
  record.values.resize(fields_.size());
  record.values[0] = {};
  try {
    format_->fill(stored, found.entry, record.storage, record.values[0]);
    check_map(stored);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_map(stored);  // zeros of a lost page look like damage
    throw Error(error.kind(), "read " + location(id) + ": " + error.what());
  }
  if (!labelled_) return;
  const std::int64_t label = label_of(found);
  if (label < 0)
    throw input_error("read {}: the record has no class number or name as label; others have one", location(id));
  record.values[1] = {};
  record.values[1].integer = label;
}

void RecordFiles::read(std::uint64_t id, RecordBuffer& record) const {
  const Found found = check(id);
  const auto length = static_cast<std::size_t>(found.entry.length);
  if (!found.shard->mapped.empty()) {
    fill(found, id, found.shard->mapped.subspan(found.entry.offset, length), record);
    return;
  }
  record.storage.reserve_discard(length + kReadableAfter);
  const std::span<std::uint8_t> room(record.storage.data(), length);
  found.shard->bytes->read(found.entry.offset, room);
  fill(found, id, room, record);
}

std::span<const std::uint8_t> RecordFiles::prefetch(std::uint64_t id) const noexcept {
  // The CPU prefetches the following cache lines itself after a few sequential ones.
  constexpr std::uint64_t kHead = 1024;
  try {
    const Found found = find(id);
    if (found.shard->mapped.empty() || found.entry.label == kDamagedLabel || is_outside(found)) return {};
    return found.shard->mapped.subspan(found.entry.offset, std::min(found.entry.length, kHead));
  } catch (const Error&) {
    return {};  // read() reports it
  }
}

// The ranges of one shard go to its source in one call; ranges of mapped shards are all prefetched before the first is
// read.
void RecordFiles::read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const {
  std::vector<Found> all;
  all.reserve(ids.size());
  std::vector<std::pair<const OpenShard*, ReadRange>> ranges;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    all.push_back(check(ids[i]));
    const Found& found = all.back();
    const auto length = static_cast<std::size_t>(found.entry.length);
    if (!found.shard->mapped.empty()) {
      found.shard->bytes->prefetch(found.entry.offset, length);
      continue;
    }
    records[i].storage.reserve_discard(length + kReadableAfter);
    ranges.push_back({found.shard, {found.entry.offset, {records[i].storage.data(), length}}});
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ReadRange> together;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    together.push_back(ranges[i].second);
    if (i + 1 < ranges.size() && ranges[i + 1].first == ranges[i].first) continue;
    ranges[i].first->bytes->read_many(together);
    together.clear();
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Found& found = all[i];
    const auto length = static_cast<std::size_t>(found.entry.length);
    fill(found, ids[i],
         found.shard->mapped.empty() ? std::span<const std::uint8_t>(records[i].storage.data(), length)
                                     : found.shard->mapped.subspan(found.entry.offset, length),
         records[i]);
  }
}

int RecordFiles::reads_in_flight() const {
  if (is_url(shards_.front()->stored->name())) return kServerReads;
  return useful_reads(size(), [this](std::uint64_t id) {
    const Found found = find(id);
    if (found.shard->bytes != found.shard->stored) return true;  // inflating takes longer than the disk
    const FileDescriptor file(::open(found.shard->stored->name().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return !file.valid() || in_page_cache(file.get(), found.entry.offset + found.entry.length / 2);
  });
}

std::vector<std::string> RecordFiles::notes() const {
  std::vector<std::string> notes = unfinished_;
  for (const auto& shard : shards_) {
    if (std::string note = shard->index->note(); !note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

std::optional<std::int64_t> RecordFiles::known_label(std::uint64_t id) const {
  if (!labelled_) return {};
  try {
    const Found found = find(id);
    const std::int64_t label = label_of(found);
    if (label >= 0 && !is_outside(found)) return label;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
  return {};
}

std::optional<Size> RecordFiles::known_size(std::uint64_t id) const {
  try {
    const Found found = find(id);
    if (found.entry.width > 0 && found.entry.height > 0 && found.entry.label != kDamagedLabel && !is_outside(found))
      return Size{static_cast<int>(found.entry.width), static_cast<int>(found.entry.height)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
  return {};
}

}  // namespace unstarve
