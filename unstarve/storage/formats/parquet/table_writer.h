#pragma once
// Writes a table of plain columns as a Parquet file, one row group per write().
//
// Threads: one. Ownership: borrows the sink. Failure: Error(kIo) of the sink; Error(kMissing) from make_table_writer()
//          without Arrow. Memory: one row group.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

// The values of some rows. In a nullable column of numbers, -1 is null.
using TableColumn = std::variant<std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>>;

struct TableField {
  std::string name;
  TableColumn type;       // an empty column of its type
  bool nullable = false;  // only whole numbers
};

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Appends rows: a column for each field, of its type and of equal lengths.
  virtual void write(const std::vector<TableColumn>& columns) = 0;
  // Writes what follows the last row. Called once, last.
  virtual void finish() = 0;
};

[[nodiscard]] std::unique_ptr<TableWriter> make_table_writer(ByteSink& sink, const std::vector<TableField>& fields);

}  // namespace unstarve
