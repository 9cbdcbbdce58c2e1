#include "unstarve/storage/dataset/quarantine_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/utf8.h"

namespace unstarve {
namespace {

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Nothing if `text` is not hexadecimal.
std::optional<std::string> bytes_of_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned int byte = 0;
    const char* const end = text.data() + std::min(at + 2, text.size());
    if (std::from_chars(text.data() + at, end, byte, 16).ptr != end || end - (text.data() + at) != 2)
      return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

QuarantineEntry quarantine_entry(const RecordLocation& location, std::string reason) {
  // With a manifest, the number is the row of the manifest.
  if (!location.offset && location.number && location.list.empty())
    return {.file = location.file, .record = location.number, .reason = std::move(reason)};
  return {.file = location.file, .offset = location.offset.value_or(0), .reason = std::move(reason)};
}

std::string location_text(const QuarantineEntry& entry) {
  if (entry.record) return fmt::format("{} record {}", entry.file, *entry.record);
  return entry.offset.value_or(0) == 0 ? entry.file : fmt::format("{} at offset {}", entry.file, *entry.offset);
}

nlohmann::ordered_json to_json(const QuarantineEntry& entry) {
  nlohmann::ordered_json json = {{"file", entry.file}};
  if (!is_utf8(entry.file)) json["file_bytes"] = hex_of(entry.file);
  if (entry.offset) json["offset"] = *entry.offset;
  if (entry.record) json["record"] = *entry.record;
  json["reason"] = entry.reason;
  return json;
}

std::string quarantine_line(const RecordLocation& location, std::string reason) {
  // Names and reasons may contain any bytes.
  return json_text(to_json(quarantine_entry(location, std::move(reason)))) + "\n";
}

QuarantineEntry quarantine_entry_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  const auto reject = [&](const std::string& what) {
    throw input_error("{}: {}{}", where, what, R"(; expected {"file": "...", "offset": 0, "reason": "..."})");
  };
  if (!json.is_object()) reject("not a JSON object");
  QuarantineEntry entry;
  const auto text = [&](const char* key) {
    if (!json.contains(key) || !json[key].is_string()) reject(fmt::format("\"{}\" is missing or not a string", key));
    return json[key].get<std::string>();
  };
  const auto number = [&](const char* key) -> std::optional<std::uint64_t> {
    if (!json.contains(key) || json[key].is_null()) return std::nullopt;
    if (!json[key].is_number_unsigned()) reject(fmt::format("\"{}\" is not a whole number", key));
    return json[key].get<std::uint64_t>();
  };
  entry.file = text("file");
  if (json.contains("file_bytes")) {
    const std::optional<std::string> bytes = bytes_of_hex(text("file_bytes"));
    if (!bytes || bytes->empty()) reject("\"file_bytes\" is not a name in hexadecimal");
    entry.file = *bytes;
  }
  entry.offset = number("offset");
  entry.record = number("record");
  if (entry.offset && entry.record) reject("found both \"offset\" and \"record\"");
  if (!entry.record) entry.offset = entry.offset.value_or(0);
  if (json.contains("reason")) entry.reason = text("reason");
  return entry;
}

}  // namespace unstarve
