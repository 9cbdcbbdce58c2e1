#include "unstarve/jobs/quarantine_entry.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"

namespace unstarve {

QuarantineEntry quarantine_entry(const RecordPlace& place, std::string reason) {
  // The number of a file that a manifest names is that of the manifest's row.
  if (!place.offset && place.number && place.list.empty())
    return {.file = place.file, .record = place.number, .reason = std::move(reason)};
  return {.file = place.file, .offset = place.offset.value_or(0), .reason = std::move(reason)};
}

std::string place_text(const QuarantineEntry& entry) {
  if (entry.record) return fmt::format("{} record {}", entry.file, *entry.record);
  return entry.offset.value_or(0) == 0 ? entry.file : fmt::format("{} at offset {}", entry.file, *entry.offset);
}

nlohmann::ordered_json to_json(const QuarantineEntry& entry) {
  nlohmann::ordered_json json = {{"file", entry.file}};
  if (entry.offset) json["offset"] = *entry.offset;
  if (entry.record) json["record"] = *entry.record;
  json["reason"] = entry.reason;
  return json;
}

QuarantineEntry quarantine_entry_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kInput, where + ": " + what + R"(; expected {"file": "...", "offset": 0, "reason": "..."})");
  };
  if (!json.is_object()) refuse("it is no JSON object");
  QuarantineEntry entry;
  const auto text = [&](const char* key) {
    if (!json.contains(key) || !json[key].is_string()) refuse(fmt::format("\"{}\" is missing, or no text", key));
    return json[key].get<std::string>();
  };
  const auto number = [&](const char* key) -> std::optional<std::uint64_t> {
    if (!json.contains(key) || json[key].is_null()) return std::nullopt;
    if (!json[key].is_number_unsigned()) refuse(fmt::format("\"{}\" is no whole number", key));
    return json[key].get<std::uint64_t>();
  };
  entry.file = text("file");
  entry.offset = number("offset");
  entry.record = number("record");
  if (entry.offset && entry.record) refuse("it has both \"offset\" and \"record\"");
  if (!entry.record) entry.offset = entry.offset.value_or(0);
  if (json.contains("reason")) entry.reason = text("reason");
  return entry;
}

}  // namespace unstarve
