#pragma once
// One record that could not be used, as quarantine lists and the manifests of packs tell it:
//
//   {"file": "shards/train-000.tar", "offset": 90112, "reason": "..."}    one of many records in a file
//   {"file": "photos/cat/1.jpg", "offset": 0, "reason": "..."}            a file that is one record
//   {"file": "train.parquet", "record": 70, "reason": "..."}              where records have no offset: row 70 of it
//
// A file whose name is not UTF-8, which JSON cannot hold, has its bytes in hexadecimal beside a name for people:
//
//   {"file": "photos/caf\uFFFD.jpg", "file_bytes": "70686f746f732f636166e92e6a7067", "offset": 0, "reason": "..."}
//
// Threads: values. Failure: reading throws Error(kInput) with what is wrong.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

struct QuarantineEntry {
  std::string file;
  std::optional<std::uint64_t> offset{};  // either this
  std::optional<std::uint64_t> record{};  // or this
  std::string reason{};
  friend bool operator==(const QuarantineEntry&, const QuarantineEntry&) = default;
};

[[nodiscard]] QuarantineEntry quarantine_entry(const RecordLocation& place, std::string reason);
// "photos/cat/1.jpg", "train-000.tar at offset 90112", "train.parquet record 70".
[[nodiscard]] std::string place_text(const QuarantineEntry& entry);

[[nodiscard]] nlohmann::ordered_json to_json(const QuarantineEntry& entry);
// Its line of a quarantine list, with the end of the line.
[[nodiscard]] std::string quarantine_line(const RecordLocation& place, std::string reason);
// The bytes of the name count where they are told. Neither offset nor record, or null: offset 0. The reason may be
// missing. `where` stands in front of messages.
[[nodiscard]] QuarantineEntry quarantine_entry_from_json(const nlohmann::ordered_json& json, const std::string& where);

}  // namespace unstarve
