#include "unstarve/jobs/pack/pack_manifest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

Json json_of(const FileSum& sum) {
  return {{"file", sum.file}, {"bytes", sum.bytes}, {"crc32c", fmt::format("{:08x}", sum.crc32c)}};
}

Json json_of(const ShardEntry& entry) {
  Json json = {{"file", entry.shard.file},
               {"split", entry.split},
               {"records", entry.records},
               {"bytes", entry.shard.bytes},
               {"crc32c", fmt::format("{:08x}", entry.shard.crc32c)}};
  if (!entry.index.file.empty()) json["index"] = json_of(entry.index);
  if (!entry.scan_index.file.empty()) json["scan_index"] = json_of(entry.scan_index);
  for (const QuarantineEntry& record : entry.skipped) json["skipped"].push_back(to_json(record));
  return json;
}

FileSum sum_from(const JsonReader& reader) {
  FileSum sum{reader.text("file"), reader.number("bytes"), 0};
  if (leaves_folder(sum.file) || sum.file.find('/') != std::string::npos)
    reader.reject(fmt::format("\"{}\" is not the name of a file in this folder", sum.file));
  const std::string crc = reader.text("crc32c");
  const auto [end, status] = std::from_chars(crc.data(), crc.data() + crc.size(), sum.crc32c, 16);
  if (crc.size() != 8 || status != std::errc() || end != crc.data() + crc.size())
    reader.reject(fmt::format("\"crc32c\" is \"{}\"; expected eight hexadecimal digits", crc));
  return sum;
}

ShardEntry entry_of(const JsonReader& reader) {
  ShardEntry entry;
  entry.shard = sum_from(reader);
  entry.split = reader.text("split");
  entry.records = reader.number("records");
  if (reader.has("index")) entry.index = sum_from({reader.at("index"), reader.where() + ": index"});
  if (reader.has("scan_index")) entry.scan_index = sum_from({reader.at("scan_index"), reader.where() + ": scan_index"});
  if (!reader.has("skipped")) return entry;
  for (const Json& item : reader.list("skipped")) {
    entry.skipped.push_back(quarantine_entry_from_json(item, reader.where() + ": skipped"));
  }
  return entry;
}

Json parse(const std::string& text, const std::string& where) {
  Json json = try_parse_ordered_json(text);
  if (json.is_discarded())
    throw Error(ErrorKind::kInput, where +
                                       ": invalid JSON, possibly truncated. Without the manifest the shards cannot be "
                                       "verified: pack again into a new folder");
  return json;
}

void check_sums(const PackManifest& manifest, const JsonReader& reader) {
  const auto same = [&](const std::string& what, std::uint64_t stated, std::uint64_t summed) {
    if (stated != summed)
      reader.reject(fmt::format("{}: the manifest says {}, its shards have {}", what, stated, summed));
  };
  same("records", reader.number("records"), manifest.records());
  same("bytes", reader.number("bytes"), manifest.bytes());
  for (const SplitCount& split : manifest.splits()) {
    const JsonReader stated(reader.at("splits").at(split.name), reader.where() + ": split " + split.name);
    same(split.name + " records", stated.number("records"), split.records);
    same(split.name + " bytes", stated.number("bytes"), split.bytes);
    same(split.name + " shards", stated.number("shards"), split.shards);
  }
}

}  // namespace

std::vector<SplitCount> PackManifest::splits() const {
  std::vector<SplitCount> counts;
  for (const std::string& name : split_names) {
    SplitCount count{name};
    for (const ShardEntry& entry : shards) {
      if (entry.split != name) continue;
      count.records += entry.records;
      count.bytes += entry.shard.bytes;
      ++count.shards;
    }
    counts.push_back(count);
  }
  return counts;
}

std::uint64_t PackManifest::records() const {
  std::uint64_t sum = 0;
  for (const ShardEntry& entry : shards) sum += entry.records;
  return sum;
}

std::uint64_t PackManifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ShardEntry& entry : shards) sum += entry.shard.bytes;
  return sum;
}

std::string to_json(const ShardEntry& entry) { return json_text(json_of(entry)) + "\n"; }

ShardEntry shard_entry_from_json(const std::string& text, const std::string& where) {
  const Json json = parse(text, where);
  return entry_of(JsonReader(json, where));
}

Json splits_json(const PackManifest& manifest) {
  Json json = Json::object();
  for (const SplitCount& split : manifest.splits())
    json[split.name] = {{"records", split.records}, {"bytes", split.bytes}, {"shards", split.shards}};
  return json;
}

std::string to_json(const PackManifest& manifest) {
  Json json = {{"unstarve", manifest.version},
               {"format", manifest.format},
               {"records", manifest.records()},
               {"bytes", manifest.bytes()},
               {"options", parse_ordered_json(manifest.options)},
               {"source", parse_ordered_json(manifest.source)},
               {"classes", manifest.classes}};
  json["splits"] = splits_json(manifest);
  json["shards"] = Json::array();
  for (const ShardEntry& entry : manifest.shards) json["shards"].push_back(json_of(entry));
  return json_text(json, 1) + "\n";
}

PackManifest manifest_from_json(const std::string& text, const std::string& where) {
  const Json json = parse(text, where);
  const JsonReader reader(json, where);
  PackManifest manifest;
  manifest.version = reader.text("unstarve");
  manifest.format = reader.text("format");
  manifest.options = json_text(reader.at("options"));
  manifest.source = json_text(reader.at("source"));
  for (const Json& name : reader.list("classes")) {
    if (!name.is_string()) reader.reject("\"classes\": a name is not a string");
    manifest.classes.push_back(name.get<std::string>());
  }
  for (const auto& item : reader.object("splits").items()) manifest.split_names.push_back(item.key());
  for (const Json& item : reader.list("shards")) {
    manifest.shards.push_back(entry_of(JsonReader(item, fmt::format("{}: shard {}", where, manifest.shards.size()))));
    const std::string& split = manifest.shards.back().split;
    if (!reader.at("splits").contains(split)) reader.reject("a shard has the unknown split \"" + split + "\"");
  }
  check_sums(manifest, reader);
  return manifest;
}

}  // namespace unstarve
