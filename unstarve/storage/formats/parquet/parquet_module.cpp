// Implements parquet_file.h, parquet_writer.h and arrow_facts() by the Arrow module.
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/formats/parquet/arrow_module.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"

namespace unstarve {

std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source, const std::string& image,
                                                     const std::string& label) {
  const ArrowModule& module = arrow_module("open parquet " + source->name());
  return module.open({std::move(source), check_map}, image, label);
}

std::unique_ptr<const ParquetFile> open_ipc_file(std::shared_ptr<const ByteSource> source, const std::string& image,
                                                 const std::string& label) {
  const ArrowModule& module = arrow_module("open arrow " + source->name());
  return module.open_ipc({std::move(source), check_map}, image, label);
}

std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink& sink, const std::vector<std::string>& classes,
                                                  std::size_t group_rows) {
  return arrow_module("write Parquet").make_writer(sink, classes, group_rows);
}

std::unique_ptr<TableWriter> make_table_writer(ByteSink& sink, const std::vector<TableField>& fields) {
  return arrow_module("write Parquet").make_table(sink, fields);
}

ArrowFacts arrow_facts() {
  try {
    return {.in_build = true, .version = arrow_module("read Parquet").version(), .problem = ""};
  } catch (const Error& error) {
    return {.in_build = true, .version = "", .problem = error.what()};
  }
}

}  // namespace unstarve
