#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/shard_list.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/split_names.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

std::string describe_names(const std::vector<std::string>& names, const char* one, const char* many) {
  constexpr std::size_t kShown = 5;
  std::string text = fmt::format("{} {}", names.size(), names.size() == 1 ? one : many);
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? " (" : ", ") + names[i];
  if (names.size() > kShown) text += ", ...";
  return names.empty() ? text : text + ")";
}

fs::file_status status_of(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (failed && status.type() == fs::file_type::none) throw io_error("open", path, failed.value());
  return status;
}

// Splits "path#key=value", unless a file has this name.
void split_options(Source& source) {
  source.path = source.text;
  const std::size_t mark = options_at(source.text);
  if (mark == std::string::npos || (!is_url(source.text) && fs::exists(status_of(source.text)))) return;
  source.path = source.text.substr(0, mark);
  source.option_text = source.text.substr(mark);
  const std::string shown = shown_name(source.path);
  source.options = SourceOptions(shown + source.option_text, shown.size());
}

// "s3://bucket", "s3://bucket/" and "s3://bucket/a/" are folders.
bool is_bucket_folder(const std::string& path) {
  return is_bucket_url(path) && (path.ends_with('/') || path.find('/', path.find("://") + 3) == std::string::npos);
}

// Fills in `listing` if the text names a folder of a bucket. With braces or wildcards it is a pattern, unless that
// folder exists.
bool list_if_bucket_folder(Source& source) {
  if (!is_bucket_folder(source.path)) return false;
  const std::string path = source.path.substr(0, source.path.size() - (source.path.ends_with('/') ? 1 : 0));
  source.listing = list_bucket_folder(path);
  source.exists = !source.listing.folders.empty() || !source.listing.files.empty();
  if (!source.exists && is_pattern(path)) return false;
  source.path = path;
  return true;
}

// Finds a folder of a bucket that was written without a trailing '/': no object has this name, but some are below it.
// Fills in `first` or `listing`; returns whether it is a folder.
bool find_bucket_folder(const std::string& path, Source& source) {
  source.first = RemoteStore::of_process().find(path);
  source.first_path = path;
  if (source.first) return false;
  try {
    source.listing = list_bucket_folder(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    return false;  // opening the object reports the reason
  }
  return !source.listing.folders.empty() || !source.listing.files.empty();
}

void read_head(Source& source, const std::string& file) {
  if (!source.first || source.first_path != file) source.first = open_bytes(file);
  source.first_path = file;
  source.head.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kHeadBytes, source.first->size())));
  source.first->read(0, source.head);
  std::optional<std::vector<std::uint8_t>> inflated = inflate_head(*source.first, source.head, kHeadBytes);
  source.compression = inflated ? detect_compression(source.head) : Compression::kNone;
  source.content = inflated ? *std::move(inflated) : source.head;
}

// The first file that identifies its format, as shards may be empty; else the first that is not empty.
void read_first_head(Source& source) {
  std::string first;
  for (const std::string& file : source.files) {
    read_head(source, file);
    if (identifies_format(source.content)) return;
    if (first.empty() && !source.head.empty()) first = file;
  }
  if (!first.empty()) read_head(source, first);
}

// Moves the matches of a pattern to `folders` if they are folders.
void move_folders(Source& source) {
  // In a bucket the first match decides: checking each costs a round trip.
  const bool bucket = is_bucket_url(source.files.front());
  const bool first =
      bucket && (is_bucket_folder(source.files.front()) || find_bucket_folder(source.files.front(), source));
  source.listing = {};
  const auto is_folder = [&](const std::string& path) {
    return bucket ? first : !is_url(path) && fs::is_directory(status_of(path));
  };
  const auto file = std::stable_partition(source.files.begin(), source.files.end(), is_folder);
  if (file == source.files.begin()) return;
  if (file != source.files.end()) {
    throw input_error("open {}: found folders ({}) and files ({}); expected only folders or only files",
                      shown_name(source.text), source.files.front(), shown_name(*file));
  }
  source.folders = std::exchange(source.files, {});
}

// Whether a file name contains a word. Words are runs of letters: "x-train.tfrecord-00000-of-8" has x, train, tfrecord,
// of.
bool has_word(std::string_view name, std::string_view word) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const bool begins = at == 0 || !letter(name[at - 1]);
    const bool ends = at + word.size() == name.size() || !letter(name[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void select_split(std::vector<std::string>& files, const Source& source, const std::string& split) {
  std::set<std::string_view> present;
  for (const std::string& file : files) {
    for (const std::string_view known : kSplits) {
      if (has_word(lower(base_name(file)), known)) present.insert(known);
    }
  }
  const std::string splits = join(present);
  if (split.empty()) {
    if (!source.folder || present.size() < 2) return;
    const std::string_view first = present.contains("train") ? "train" : *present.begin();
    throw input_error("open {}: found the splits {}; choose one of them: split=\"{}\" (--split {})",
                      shown_name(source.text), splits, first, first);
  }
  std::erase_if(files, [&](const std::string& file) { return !has_word(lower(base_name(file)), lower(split)); });
  if (!files.empty()) return;
  throw argument_error("open {}: no file of the split '{}'; found {}", shown_name(source.text), split,
                       splits.empty() ? "no split in the file names" : splits);
}

}  // namespace

FolderListing list_bucket_folder(const std::string& path) {
  FolderListing listing;
  const auto take = [&](std::vector<std::string>& names, std::string_view url) {
    url.remove_prefix(path.size() + 1);
    if (!url.empty() && url.back() == '/') url.remove_suffix(1);
    if (!url.empty() && !is_left_out(url)) names.emplace_back(url);
  };
  const RemoteLevel level = RemoteStore::of_process().list_level(path + "/");
  for (const RemoteObject& object : level.objects) take(listing.files, object.url);
  for (const std::string& url : level.folders) take(listing.folders, url);
  std::sort(listing.files.begin(), listing.files.end());
  std::sort(listing.folders.begin(), listing.folders.end());
  return listing;
}

std::string describe(const FolderListing& listing) {
  return describe_names(listing.folders, "folder", "folders") + ", " + describe_names(listing.files, "file", "files");
}

void report_both_splits(const std::string& shown) {
  emit_notice("open " + shown + ": found the splits train and test, which are both read; expected one of them for " +
              "training. Choose it with split=\"train\" (--split train; YAML: source.split).");
}

Source inspect_source(const std::string& text) {
  Source source;
  source.text = text;
  split_options(source);
  if (!is_url(source.path)) {
    const fs::file_status status = status_of(source.path);
    source.exists = fs::exists(status);
    source.folder = fs::is_directory(status);
  }
  if (is_url(source.path) && !is_bucket_url(source.path) && source.path.ends_with('/')) {
    throw argument_error(
        "open {}: http(s) servers do not list folders. Name the shards, for example x-{{000..007}}.tar",
        shown_name(text));
  }
  if (list_if_bucket_folder(source)) {
    source.folder = true;
  } else if (is_bucket_url(source.path) && !is_pattern(source.path) && find_bucket_folder(source.path, source)) {
    source.folder = source.exists = true;
  } else if (source.folder) {
    source.listing = list_folder(source.path);
  } else if (source.exists || is_url(source.path) || is_pattern(source.path)) {
    source.files = list_shards(source.path);
    if (is_pattern(source.path)) move_folders(source);
    read_first_head(source);
  }
  return source;
}

std::vector<Shard> choose_shards(const Source& source, const std::string& split,
                                 bool (*is_shard)(std::string_view name)) {
  std::vector<std::string> files = source.files;
  for (const std::string& name : source.listing.files) {
    if (is_shard(name)) files.push_back((fs::path(source.path) / name).string());
  }
  select_split(files, source, split);
  std::vector<Shard> shards;
  for (std::string& file : files) {
    const bool first = source.first != nullptr && file == source.first_path;
    shards.push_back({std::move(file), first ? source.first : nullptr});
  }
  return shards;
}

std::vector<std::uint8_t> content_front(const ByteSource& file) {
  std::vector<std::uint8_t> front(static_cast<std::size_t>(std::min<std::uint64_t>(kHeadBytes, file.size())));
  file.read(0, front);
  return inflate_head(file, front, kHeadBytes).value_or(front);
}

bool identifies_format(std::span<const std::uint8_t> content) noexcept {
  return std::any_of(content.begin(), content.end(), [](std::uint8_t byte) { return byte != 0; });
}

bool folder_begins(const Source& source, bool (*is_shard)(std::string_view name),
                   bool (*is_content)(std::span<const std::uint8_t> front)) {
  if (!source.folder) return false;
  const auto& files = source.listing.files;
  try {
    for (const std::string& file : files) {
      if (!is_shard(file)) continue;
      const std::vector<std::uint8_t> front = content_front(*open_bytes(source.path + "/" + file));
      if (identifies_format(front)) return is_content(front);
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return error.kind() == ErrorKind::kIo || error.kind() == ErrorKind::kInput;
  }
  return false;
}

}  // namespace unstarve
