#pragma once
// One record that could not be used, as a JSON object of quarantine lists and pack manifests:
//
//   {"file": "shards/train-000.tar", "offset": 90112, "reason": "..."}    one of many records in a file
//   {"file": "photos/cat/1.jpg", "offset": 0, "reason": "..."}            a file that is one record
//   {"file": "train.parquet", "record": 70, "reason": "..."}              row 70; these records have no offset
//
// A file name that is not UTF-8 cannot be stored in JSON, so `file_bytes` has it in hexadecimal:
//
//   {"file": "photos/caf\uFFFD.jpg", "file_bytes": "70686f746f732f636166e92e6a7067", "offset": 0, "reason": "..."}
//
// Threads: values. Failure: parsing throws Error(kInput) with the reason.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

struct QuarantineEntry {
  std::string file;
  std::optional<std::uint64_t> offset{};  // either offset
  std::optional<std::uint64_t> record{};  // or record is set
  std::string reason{};
  friend bool operator==(const QuarantineEntry&, const QuarantineEntry&) = default;
};

[[nodiscard]] QuarantineEntry quarantine_entry(const RecordLocation& location, std::string reason);
// "photos/cat/1.jpg", "train-000.tar at offset 90112", "train.parquet record 70".
[[nodiscard]] std::string location_text(const QuarantineEntry& entry);

[[nodiscard]] nlohmann::ordered_json to_json(const QuarantineEntry& entry);
// One line of a quarantine list, with its newline.
[[nodiscard]] std::string quarantine_line(const RecordLocation& location, std::string reason);
// `file_bytes` takes precedence over `file`. Neither offset nor record, or null: offset 0. The reason is optional.
// Messages begin with `where`.
[[nodiscard]] QuarantineEntry quarantine_entry_from_json(const nlohmann::ordered_json& json, const std::string& where);

}  // namespace unstarve
