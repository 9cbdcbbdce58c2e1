#pragma once
// Where one record of a data set lies: what messages print, and by what packs and quarantine lists tell records apart.
//
//   photos/cat/1.jpg                                a file that is one record
//   d/x.tar cat/1 record 5 at offset 9              one of many in a file, with its name in there
//   d/x.parquet record 70                           where records have no offset of their own: the row of the file
//   photos/1.jpg (list.csv row 3)                   a file that a manifest names
//   synthetic:seed=1 record 4                       generated
//
// Threads: a value. Failure: none.

#include <cstdint>
#include <optional>
#include <string>

namespace unstarve {

struct RecordLocation {
  std::string file;                       // path or URL as it was opened; what generates it
  std::string member{};                   // its name in an archive
  std::optional<std::uint64_t> number{};  // among the records of the file (with `list`: of the list), from 0
  std::optional<std::uint64_t> offset{};  // in bytes, of the file's content when it is decompressed
  std::string list{};                     // the manifest that names the file
  friend bool operator==(const RecordLocation&, const RecordLocation&) = default;
};

// As above.
[[nodiscard]] std::string to_string(const RecordLocation& place);

}  // namespace unstarve
