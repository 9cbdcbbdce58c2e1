#include "unstarve/jobs/pack/verify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/topology.h"
#include "unstarve/jobs/pack/pack_order.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/crc32c.h"
#include "unstarve/storage/file_descriptor.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/record_writer.h"
#include "unstarve/storage/recordio/recordio.h"
#include "unstarve/storage/tfrecord/tfrecord.h"
#include "unstarve/storage/webdataset/webdataset.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// The reason when the file is not what `sum` says.
std::optional<std::string> check_sum(const fs::path& folder, const FileSum& sum) {
  const fs::path path = folder / sum.file;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid())
    return errno == ENOENT ? "it is missing" : std::string(io_error("open", path.string(), errno).what());
  std::error_code failed;
  const std::uint64_t bytes = fs::file_size(path, failed);
  if (failed) return "it has no length: " + failed.message();
  if (bytes != sum.bytes) return fmt::format("it has {} bytes, the manifest says {}", bytes, sum.bytes);
  AlignedBytes buffer(kReadBytes);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), kReadBytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::string(io_error("read", path.string(), errno).what());
    if (got == 0) return fmt::format("it ended at {} of {} bytes while it was read", at, bytes);
    crc = crc32c({buffer.data(), static_cast<std::size_t>(got)}, crc);
    at += static_cast<std::uint64_t>(got);
  }
  if (crc != sum.crc32c)
    return fmt::format("its checksum (CRC-32C) is {:08x}, the manifest says {:08x}", crc, sum.crc32c);
  return std::nullopt;
}

// Null for formats that bring a data set of their own and keep no index beside their shards.
std::shared_ptr<const RecordFormat> reader_of(const std::string& format) {
  if (format == "tfrecord") return make_tfrecord_format();
  if (format == "webdataset") return webdataset_format();
  if (format == "recordio") return recordio_format();
  return nullptr;
}

std::optional<std::string> check_count(const fs::path& folder, const std::string& format, const ShardEntry& entry) {
  const std::shared_ptr<const RecordFormat> reader = reader_of(format);
  if (entry.records == 0) return std::nullopt;
  RecordFilesOptions options;
  options.keep_index = false;
  options.threads = 1;
  const std::string shard = (folder / entry.shard.file).string();
  const std::uint64_t found =
      reader == nullptr ? open_dataset(shard)->size() : RecordFiles({{shard, nullptr}}, reader, options).size();
  if (found != entry.records) return fmt::format("it has {} records, the manifest says {}", found, entry.records);
  return std::nullopt;
}

std::vector<WrongFile> check_shard(const fs::path& folder, const std::string& format, const ShardEntry& entry) {
  std::vector<WrongFile> wrong;
  try {
    std::optional<std::string> reason = check_sum(folder, entry.shard);
    if (!reason) reason = check_count(folder, format, entry);
    if (reason) wrong.push_back({entry.shard.file, *reason});
  } catch (const Error& error) {
    wrong.push_back({entry.shard.file, error.what()});
  }
  if (entry.index.file.empty()) return wrong;
  if (const std::optional<std::string> reason = check_sum(folder, entry.index))
    wrong.push_back({entry.index.file, *reason});
  return wrong;
}

// Readers take every file of the extension: one that is left from another pack would be read as part of this one.
std::vector<WrongFile> strangers(const fs::path& folder, const PackManifest& manifest) {
  std::set<std::string> known;
  for (const ShardEntry& entry : manifest.shards) known.insert(entry.shard.file);
  const std::string extension = find_writer_format(manifest.format).extension;
  std::error_code failed;
  std::vector<WrongFile> wrong;
  for (const fs::directory_entry& item : fs::directory_iterator(folder, failed)) {
    const std::string name = item.path().filename().string();
    if (name.ends_with(extension) && !known.contains(name))
      wrong.push_back({name, "the manifest does not know it; readers would take it for a shard"});
  }
  if (failed) throw io_error("read folder", folder.string(), failed.value());
  std::sort(wrong.begin(), wrong.end(), [](const WrongFile& a, const WrongFile& b) { return a.file < b.file; });
  return wrong;
}

PackManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  std::error_code failed;
  if (!fs::exists(path, failed) && fs::exists(folder / ".unstarve-pack", failed)) {
    throw Error(ErrorKind::kArgument,
                "verify: " + folder.string() +
                    " is not packed to its end; run the same unstarve pack again, or its other parts");
  }
  if (!fs::exists(path, failed))
    throw Error(ErrorKind::kIo, "verify: " + path.string() + " is missing; expected a folder that unstarve pack made");
  PackManifest manifest = manifest_from_json(read_text_file(path), path.string());
  try {
    (void)find_writer_format(manifest.format);
  } catch (const Error&) {
    throw Error(ErrorKind::kInput, path.string() + ": the format \"" + manifest.format + "\" is not known");
  }
  return manifest;
}

}  // namespace

VerifyResult run_verify(const fs::path& folder, int threads, const Progress& progress, std::stop_token stop) {
  if (threads < 0) throw Error(ErrorKind::kArgument, fmt::format("verify: {} threads", threads));
  VerifyResult result;
  result.manifest = read_manifest(folder);
  const std::vector<ShardEntry>& shards = result.manifest.shards;
  OrderedWork work{shards.size(), threads > 0 ? threads : read_topology().usable(), 1};
  work.window = static_cast<std::uint64_t>(2 * work.threads);
  std::vector<std::vector<WrongFile>> slots(work.window);
  const std::uint64_t total = result.manifest.bytes();
  std::uint64_t done = 0;
  const OrderedWorker look = [&](std::uint64_t item, std::size_t slot) {
    slots[slot] = check_shard(folder, result.manifest.format, shards[item]);
  };
  run_in_order(
      work, [&] { return look; },
      [&](std::uint64_t item, std::size_t slot) {
        result.wrong.insert(result.wrong.end(), slots[slot].begin(), slots[slot].end());
        done += shards[item].shard.bytes;
        if (!progress || total == 0) return;
        progress(fmt::format("{} of {} shards", item + 1, shards.size()),
                 static_cast<double>(done) / static_cast<double>(total));
      },
      stop);
  const std::vector<WrongFile> others = strangers(folder, result.manifest);
  result.wrong.insert(result.wrong.end(), others.begin(), others.end());
  return result;
}

std::string to_json(const VerifyResult& result, const fs::path& folder) {
  using Json = nlohmann::ordered_json;
  const PackManifest& manifest = result.manifest;
  Json json = {{"path", folder.string()},       {"ok", result.ok()},         {"format", manifest.format},
               {"records", manifest.records()}, {"bytes", manifest.bytes()}, {"shards", manifest.shards.size()},
               {"splits", Json::object()},      {"wrong", Json::array()}};
  for (const SplitCount& split : manifest.splits()) {
    json["splits"][split.name] = {{"records", split.records}, {"bytes", split.bytes}, {"shards", split.shards}};
  }
  for (const WrongFile& file : result.wrong) json["wrong"].push_back({{"file", file.file}, {"reason", file.reason}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const VerifyResult& result, const fs::path& folder) {
  const PackManifest& manifest = result.manifest;
  const std::string what =
      fmt::format("{} records in {} shard{}, {}, {}", manifest.records(), manifest.shards.size(),
                  manifest.shards.size() == 1 ? "" : "s", format_bytes(manifest.bytes()), manifest.format);
  if (result.ok()) return fmt::format("{}: all right: {}\n", printable(folder.string()), what);
  std::string text =
      fmt::format("{}: {} wrong of {}\n", printable(folder.string()),
                  result.wrong.size() == 1 ? "1 file is" : fmt::format("{} files are", result.wrong.size()), what);
  for (const WrongFile& file : result.wrong)
    text += fmt::format("  {}: {}\n", printable(file.file), printable(file.reason));
  return text;
}

}  // namespace unstarve
