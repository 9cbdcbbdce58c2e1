// Parquet and Arrow files in a build without Arrow: every function throws.
#include "unstarve/core/format_error.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/parquet/table_writer.h"

namespace unstarve {
namespace {

Error missing(const std::string& operation, const char* what) {
  return missing_error(
      "{}: this build cannot {}; expected one with Arrow. Install the wheel of `make wheel`, or build with "
      "-DUNSTARVE_PARQUET=ON after `make setup`, which installs pyarrow",
      operation, what);
}

}  // namespace

std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source, const std::string&,
                                                     const std::string&) {
  throw missing("open parquet " + source->name(), "read Parquet");
}

std::unique_ptr<const ParquetFile> open_ipc_file(std::shared_ptr<const ByteSource> source, const std::string&,
                                                 const std::string&) {
  throw missing("open arrow " + source->name(), "read Arrow files");
}

std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink&, const std::vector<std::string>&, std::size_t) {
  throw missing("write Parquet", "write Parquet");
}

std::unique_ptr<TableWriter> make_table_writer(ByteSink&, const std::vector<TableField>&) {
  throw missing("write Parquet", "write Parquet");
}

ArrowFacts arrow_facts() { return {}; }

}  // namespace unstarve
