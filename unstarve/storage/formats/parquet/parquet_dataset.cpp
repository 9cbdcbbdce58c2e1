#include "unstarve/storage/formats/parquet/parquet_dataset.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>

#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/label_notices.h"
#include "unstarve/storage/index/packed_shards.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/class_text.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

// Decoding is memory-bound: more threads help little. Threads for remote files mostly wait for responses.
constexpr int kLocalThreads = 8;
constexpr int kRemoteThreads = 16;
constexpr std::uint64_t kRowBytes = sizeof(std::span<const std::uint8_t>) + sizeof(std::int64_t);

int threads_for(const std::vector<Shard>& shards, const ParquetOptions& options) {
  if (options.threads > 0) return options.threads;
  if (is_url(shards.front().name)) return kRemoteThreads;
  return threads_up_to(kLocalThreads);
}

constexpr std::uint64_t kLargestCacheMegabytes = std::uint64_t{1} << 24;  // 16 TB

bool is_parquet_name(std::string_view name) { return ends_in(name, ".parquet"); }

}  // namespace

bool recognises_parquet(const Source& source) {
  return source.folder ? folder_begins(source, is_parquet_name, begins_as_parquet) : begins_as_parquet(source.head);
}

ParquetOptions parquet_options(const Source& source) {
  SourceOptions given = source.options;
  ParquetOptions options;
  options.image = given.take_text("image", "");
  options.label = given.take_text("label", "");
  options.cache_bytes = given.take("cache_mb", options.cache_bytes >> 20, 0, kLargestCacheMegabytes) << 20;
  given.reject_unknown();
  return options;
}

std::shared_ptr<const Dataset> open_parquet(const Source& source, const std::string& split) {
  return std::make_shared<ParquetDataset>(choose_shards(source, split, is_parquet_name), parquet_options(source));
}

ParquetDataset::ParquetDataset(std::vector<Shard> shards, const ParquetOptions& options)
    : format_(options.ipc ? "arrow" : "parquet") {
  if (shards.empty()) throw argument_error("open {}: no shard was given", format_);
  const int threads = threads_for(shards, options);
  std::vector<std::string> paths;
  for (const Shard& shard : shards) paths.push_back(shard.name);
  open_files(std::move(shards), options);
  notes_ = note_unfinished_packs(paths);
  for (const auto& file : files_) {
    if (!file->note().empty()) notes_.push_back(file->note());
  }
  list_groups();
  number_classes(threads);
  fields_.push_back({"image", FieldKind::kEncodedImage});
  if (labels_ != ParquetLabels::kNone) fields_.push_back({"label", FieldKind::kLabel});
  cache_.emplace([this, threads, bytes = options.cache_bytes] {
    return std::make_unique<RowGroupCache>(
        RowGroupCache::Source{
            groups_.size(), [this](std::size_t group) { return decode(group); },
            [this](std::size_t group) { return info_of(group).decoded_bytes + info_of(group).rows * kRowBytes; }},
        bytes, threads);
  });
  (void)cache_->get();  // starts its threads
}

ParquetDataset::~ParquetDataset() = default;

void ParquetDataset::open_files(std::vector<Shard> shards, const ParquetOptions& options) {
  files_.resize(shards.size());
  ThreadPool pool(static_cast<int>(std::min<std::size_t>(shards.size(), threads_for(shards, options))));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    pool.submit([&, i] {
      std::shared_ptr<const ByteSource> bytes =
          shards[i].bytes ? std::move(shards[i].bytes) : open_bytes(shards[i].name);
      const auto open = options.ipc ? open_ipc_file : open_parquet_file;
      files_[i] = open(std::move(bytes), options.image, options.label);
    });
  }
  pool.wait();
}

void ParquetDataset::list_groups() {
  begins_.push_back(0);
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const std::vector<ParquetGroup>& groups = files_[file]->groups();
    std::uint64_t row = 0;
    for (std::size_t number = 0; number < groups.size(); ++number) {
      if (groups[number].rows == 0) continue;
      groups_.push_back({static_cast<std::uint32_t>(file), static_cast<std::uint32_t>(number), row});
      row += groups[number].rows;
      begins_.push_back(begins_.back() + groups[number].rows);
      stored_bytes_ += groups[number].stored_bytes;
    }
  }
  if (size() > 0) return;
  throw input_error("open {} {}{}: no rows", format_, files_.front()->name(), files_.size() > 1 ? ", ..." : "");
}

// Numbers the classes over all shards, which must agree in the kind of their labels.
void ParquetDataset::number_classes(int threads) {
  labels_ = files_.front()->columns().labels;
  for (const auto& file : files_) {
    if (file->columns().labels == labels_) continue;
    const auto kind = [](ParquetLabels labels) {
      return labels == ParquetLabels::kNone ? "absent" : labels == ParquetLabels::kNames ? "strings" : "numbers";
    };
    throw input_error("open {}: labels are {} in {} and {} in {}; expected one kind of labels", format_, kind(labels_),
                      files_.front()->name(), kind(file->columns().labels), file->name());
  }
  missing_labels_ = files_.front()->columns().no_label;
  if (labels_ == ParquetLabels::kNone) return;
  if (labels_ == ParquetLabels::kNumbers) take_class_names();
  if (classes_.empty()) {
    read_label_columns(threads);
  } else if (!has_class_number()) {
    classes_.clear();  // as published test sets, whose labels are all -1
  }
  if (labels_ == ParquetLabels::kNames) report_text_labels(files_.front()->name(), format_, classes_, size());
  if (!classes_.empty()) return;
  labels_ = ParquetLabels::kNone;
  if (missing_labels_.empty())
    missing_labels_ = "a label column without a class number: every value is null, negative or too large";
}

// Uses the class names of the first shard that has them; the other shards must have the same names or none.
void ParquetDataset::take_class_names() {
  const ParquetFile* named = nullptr;
  for (const auto& file : files_) {
    const std::vector<std::string>& names = file->columns().class_names;
    if (names.empty() || names == classes_) continue;
    if (named != nullptr) {
      throw input_error("open {}: the class names of {} differ from those of {}", format_, file->name(), named->name());
    }
    named = file.get();
    classes_ = names;
  }
}

// Whether some label is 0 or more. Reads the label columns without statistics, up to the first such label.
bool ParquetDataset::has_class_number() const {
  const auto is_class = [](std::int64_t label) { return label >= 0; };
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (info_of(group).largest_label.value_or(-1) >= 0) return true;
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (info_of(group).largest_label) continue;
    try {
      const RowGroup rows = files_[groups_[group].file]->decode(groups_[group].number, /*with_images=*/false);
      if (std::ranges::any_of(rows.labels, is_class)) return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      return true;  // unknown; read() of its rows throws
    }
  }
  return false;
}

// Numbers: the classes are 0 to the largest label, from the statistics if available. Strings: the sorted names.
void ParquetDataset::read_label_columns(int threads) {
  std::mutex mutex;
  std::set<std::string> names;
  std::int64_t largest = -1;
  std::size_t damaged = 0;
  ThreadPool pool(static_cast<int>(std::min<std::size_t>(groups_.size(), static_cast<std::size_t>(threads))));
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (const std::optional<std::int64_t> known = info_of(group).largest_label) {
      const std::lock_guard lock(mutex);
      largest = std::max(largest, *known);
      continue;
    }
    pool.submit([&, group] {
      RowGroup rows;
      try {
        rows = files_[groups_[group].file]->decode(groups_[group].number, /*with_images=*/false);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput) throw;
        const std::lock_guard lock(mutex);
        if (++damaged == groups_.size()) throw;  // otherwise read() of its rows throws
      }
      const std::set<std::string> distinct(rows.label_names.begin(), rows.label_names.end());
      const std::lock_guard lock(mutex);
      names.insert(distinct.begin(), distinct.end());
      for (const std::int64_t label : rows.labels) largest = std::max(largest, label);
    });
  }
  pool.wait();
  names.erase("");
  if (largest >= kMaxClasses || names.size() > static_cast<std::size_t>(kMaxClasses)) {
    throw input_error(
        "open {} {}: the label column has {}; expected fewer than {} classes. Choose another column with #label=NAME.",
        format_, files_.front()->name(),
        names.empty() ? fmt::format("the label {}", largest) : fmt::format("{} names", names.size()), kMaxClasses);
  }
  for (const std::string& name : names) {
    missing_labels_ = not_a_class(name);
    if (missing_labels_.empty()) continue;
    missing_labels_ = "the label column: " + missing_labels_;
    return;
  }
  for (std::int64_t number = 0; number <= largest; ++number) classes_.push_back(std::to_string(number));
  for (const std::string& name : names) {
    number_of_class_.emplace(name, static_cast<std::int64_t>(classes_.size()));
    classes_.push_back(name);
  }
}

const ParquetGroup& ParquetDataset::info_of(std::size_t group) const {
  return files_[groups_[group].file]->groups()[groups_[group].number];
}

std::vector<DataFile> ParquetDataset::files() const {
  std::vector<DataFile> files;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const ParquetFile& file = *files_[groups_[group].file];
    if (group == 0 || groups_[group].file != groups_[group - 1].file)
      files.push_back({file.name(), begins_[group], file.stamp().changed_ns});
  }
  return files;
}

RecordLocation ParquetDataset::record_location(std::uint64_t id) const {
  const std::size_t group = group_of(id);
  return {.file = files_[groups_[group].file]->name(), .number = groups_[group].first_row + id - begins_[group]};
}

std::shared_ptr<const RowGroup> ParquetDataset::decode(std::size_t group) const {
  auto rows =
      std::make_shared<RowGroup>(files_[groups_[group].file]->decode(groups_[group].number, /*with_images=*/true));
  for (const std::string& name : rows->label_names) {
    // A new name means that the file has changed since it was opened: such rows have no label.
    const auto known = number_of_class_.find(name);
    rows->labels.push_back(known == number_of_class_.end() ? kNullLabel : known->second);
  }
  rows->label_names = {};
  return rows;
}

void ParquetDataset::fill(std::uint64_t id, std::size_t group, const RowGroup& rows, RecordBuffer& record) const {
  const auto row = static_cast<std::size_t>(id - begins_[group]);
  const std::span<const std::uint8_t> image = rows.images[row];
  if (image.data() == nullptr) {
    throw input_error("read {}: the row has no image bytes (external files are not read)", location(id));
  }
  record.values.assign(fields_.size(), {});
  if (rows.blocks.empty()) {
    record.values[0].bytes = image;  // in the map
  } else {
    // The cache may evict the group while the record is in use.
    record.storage.reserve_discard(image.size() + kReadableAfter);
    if (!image.empty()) std::memcpy(record.storage.data(), image.data(), image.size());
    record.values[0].bytes = {record.storage.data(), image.size()};
  }
  if (labels_ == ParquetLabels::kNone) return;
  const std::int64_t label = rows.labels[row];
  if (label < 0 || label >= static_cast<std::int64_t>(classes_.size())) {
    throw input_error("read {}: {}", location(id),
                      label == kNullLabel
                          ? "no label, although other rows have one. Use #label=none to read no labels, or skip bad "
                            "samples to leave such rows out"
                          : fmt::format("label {}; expected 0 to {}{}", label, classes_.size() - 1,
                                        label == -1 ? ". If -1 means no label, use #label=none" : ""));
  }
  record.values[1].integer = label;
}

void ParquetDataset::read(std::uint64_t id, RecordBuffer& record) const {
  const std::size_t group = group_of(id);
  fill(id, group, *cache_->get().get(group), record);
}

void ParquetDataset::read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // group, index
  order.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) order.emplace_back(group_of(ids[i]), i);
  std::sort(order.begin(), order.end());
  for (std::size_t next = 0; next < order.size();) {
    const std::size_t group = order[next].first;
    std::size_t end = next;
    while (end < order.size() && order[end].first == group) ++end;
    if (end < order.size()) cache_->get().prefetch(order[end].first);
    const std::shared_ptr<const RowGroup> rows = cache_->get().get(group);
    for (; next < end; ++next) fill(ids[order[next].second], group, *rows, records[order[next].second]);
  }
}

std::span<const std::uint8_t> ParquetDataset::prefetch(std::uint64_t id) const noexcept {
  try {
    cache_->get().prefetch(group_of(id));
  } catch (...) {  // a fork that cannot start threads reports it when it reads
  }
  return {};
}

}  // namespace unstarve
