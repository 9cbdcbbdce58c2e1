#pragma once
// The location of one record: shown in messages, and used by packs and quarantine lists to identify records.
//
//   photos/cat/1.jpg                                a file that is one record
//   d/x.tar cat/1 record 5 at offset 9              one of many in a file, with its name in that file
//   d/x.parquet record 70                           a row of a file whose records have no offset
//   photos/1.jpg (list.csv row 3)                   a file named by a manifest
//   synthetic:seed=1 record 4                       generated
//
// Threads: a value. Failure: none.

#include <cstdint>
#include <optional>
#include <string>

namespace unstarve {

struct RecordLocation {
  std::string file;                       // path or URL as opened, or the name of the generator
  std::string member{};                   // name in an archive
  std::optional<std::uint64_t> number{};  // index among the records of the file (with `list`: of the list)
  std::optional<std::uint64_t> offset{};  // in bytes, of the decompressed file
  std::string list{};                     // the manifest that names the file
  friend bool operator==(const RecordLocation&, const RecordLocation&) = default;
};

[[nodiscard]] std::string to_string(const RecordLocation& location);

}  // namespace unstarve
