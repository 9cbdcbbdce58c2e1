#include "unstarve/jobs/data/verify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/jobs/pack/summed_file.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/index/packed_shards.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/writer_formats.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Counts the records of a shard and stores the first damage.
class Counting final : public RecordSink {
 public:
  void add(const ScannedRecord& /*record*/) override { ++records; }
  void add_damaged(std::uint64_t offset, std::uint64_t /*length*/, std::string_view reason) override {
    if (damage.empty()) damage = fmt::format("record {} at offset {}: {}", records, offset, reason);
    ++records;
  }

  std::uint64_t records = 0;
  std::string damage;
};

std::optional<std::string> wrong_sum(const SummedFile& file, const FileSum& sum) {
  if (file.sum() == sum.crc32c) return std::nullopt;
  return fmt::format("CRC-32C {:08x}; the manifest says {:08x}", file.sum(), sum.crc32c);
}

// Opens the file of `sum`, or returns the reason why it does not match.
std::variant<std::unique_ptr<SummedFile>, std::string> open_summed(const fs::path& folder, const FileSum& sum) {
  const fs::path path = folder / sum.file;
  std::error_code failed;
  if (!fs::exists(path, failed) && !failed) return "missing";
  auto file = std::make_unique<SummedFile>(path.string());
  if (file->size() == sum.bytes) return file;
  return fmt::format("{} bytes; the manifest says {}", file->size(), sum.bytes);
}

std::optional<std::string> check_file(const fs::path& folder, const FileSum& sum) {
  const auto opened = open_summed(folder, sum);
  if (const auto* const reason = std::get_if<std::string>(&opened)) return *reason;
  return wrong_sum(*std::get<0>(opened), sum);
}

// One pass computes the records and the checksum. A checksum error is reported first because it is more specific.
std::optional<std::string> check_records(const fs::path& folder, const RecordFormat& format, const ShardEntry& entry) {
  const auto opened = open_summed(folder, entry.shard);
  if (const auto* const reason = std::get_if<std::string>(&opened)) return *reason;
  const SummedFile& file = *std::get<0>(opened);
  Counting found;
  format.scan(*read_forward(file), found);
  if (std::optional<std::string> reason = wrong_sum(file, entry.shard)) return reason;
  if (!found.damage.empty()) return found.damage;
  if (found.records == entry.records) return std::nullopt;
  return fmt::format("{} records; the manifest says {}", found.records, entry.records);
}

std::optional<std::string> check_table(const fs::path& folder, const ShardEntry& entry) {
  if (std::optional<std::string> reason = check_file(folder, entry.shard)) return reason;
  if (entry.records == 0) return std::nullopt;
  const std::shared_ptr<const Dataset> data = open_dataset((folder / entry.shard.file).string());
  if (data->size() != entry.records)
    return fmt::format("{} records; the manifest says {}", data->size(), entry.records);
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data->size(); ++id) data->read(id, record);
  return std::nullopt;
}

// The result of `check`; an exception becomes the reason.
template <typename Check>
void note(const std::string& file, std::vector<WrongFile>& wrong, const Check& check) {
  try {
    if (const std::optional<std::string> reason = check()) wrong.push_back({file, *reason});
  } catch (const Error& error) {
    wrong.push_back({file, error.what()});
  }
}

std::vector<WrongFile> check_shard(const fs::path& folder, const std::string& format, const ShardEntry& entry) {
  std::vector<WrongFile> wrong;
  const std::shared_ptr<const RecordFormat> reader = find_writer_format(format).reader();
  note(entry.shard.file, wrong,
       [&] { return reader ? check_records(folder, *reader, entry) : check_table(folder, entry); });
  for (const FileSum* sidecar : {&entry.index, &entry.scan_index}) {
    if (!sidecar->file.empty()) note(sidecar->file, wrong, [&] { return check_file(folder, *sidecar); });
  }
  return wrong;
}

// Readers open all files with the extension, so a file of another pack would be read as part of this one.
std::vector<WrongFile> strangers(const fs::path& folder, const PackManifest& manifest) {
  std::set<std::string> known;
  for (const ShardEntry& entry : manifest.shards) known.insert(entry.shard.file);
  const std::string extension = find_writer_format(manifest.format).extension;
  std::error_code failed;
  std::vector<WrongFile> wrong;
  for (const fs::directory_entry& item : fs::directory_iterator(folder, failed)) {
    const std::string name = item.path().filename().string();
    if (name.ends_with(extension) && !known.contains(name))
      wrong.push_back({name, "not in the manifest; readers would read it as a shard"});
  }
  if (failed) throw io_error("read folder", folder.string(), failed.value());
  std::ranges::sort(wrong, [](const WrongFile& a, const WrongFile& b) { return a.file < b.file; });
  return wrong;
}

PackManifest read_manifest(const fs::path& folder) {
  reject_url_as_folder("verify", folder);
  const fs::path path = folder / kManifestName;
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    throw Error(ErrorKind::kArgument,
                "verify: " + folder.string() + " is a file; expected a folder created by unstarve pack");
  if (!fs::exists(path, failed) && fs::exists(folder / kPackWorkName, failed)) {
    throw Error(ErrorKind::kArgument,
                "verify: " + folder.string() +
                    " is not completely packed; run the same unstarve pack again, or its other parts");
  }
  if (!fs::exists(path, failed))
    throw Error(ErrorKind::kIo, "verify: " + path.string() + " is missing; expected a folder created by unstarve pack");
  PackManifest manifest = manifest_from_json(read_text_file(path), path.string());
  try {
    (void)find_writer_format(manifest.format);
  } catch (const Error&) {
    throw Error(ErrorKind::kInput, path.string() + ": unknown format \"" + manifest.format + "\"");
  }
  return manifest;
}

}  // namespace

VerifyResult run_verify(const fs::path& folder, int threads, const Progress& progress, std::stop_token stop) {
  if (threads < 0) throw Error(ErrorKind::kArgument, fmt::format("verify: {} threads; expected 0 or more", threads));
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
  const PackManifest& manifest = result.manifest;
  Json json = {{"path", folder.string()},         {"ok", result.ok()},         {"format", manifest.format},
               {"records", manifest.records()},   {"bytes", manifest.bytes()}, {"shards", manifest.shards.size()},
               {"splits", splits_json(manifest)}, {"wrong", Json::array()}};
  for (const WrongFile& file : result.wrong) json["wrong"].push_back({{"file", file.file}, {"reason", file.reason}});
  return json_text(json, 2);
}

std::string to_text(const VerifyResult& result, const fs::path& folder) {
  const PackManifest& manifest = result.manifest;
  const std::string what =
      fmt::format("{} records in {} shard{}, {}, {}", manifest.records(), manifest.shards.size(),
                  manifest.shards.size() == 1 ? "" : "s", format_bytes(manifest.bytes()), manifest.format);
  if (result.ok()) return fmt::format("{}: OK: {}\n", printable(folder.string()), what);
  std::string text =
      fmt::format("{}: {} wrong in {}\n", printable(folder.string()),
                  result.wrong.size() == 1 ? "1 file is" : fmt::format("{} files are", result.wrong.size()), what);
  for (const WrongFile& file : result.wrong)
    text += fmt::format("  {}: {}\n", printable(file.file), printable(file.reason));
  return text;
}

}  // namespace unstarve
