#pragma once
// The Arrow module: libunstarve_arrow.so with arrow_*.cpp and columns.cpp. It is loaded when a Parquet file is first
// opened or written (core/module_loader.h), so that nothing else requires pyarrow.
//
//   parquet_file.h, parquet_writer.h ──▶ arrow_module() ──dlopen──▶ unstarve_arrow_module() ──▶ arrow_*.cpp ──▶ Arrow
//
// C++ types cross the boundary: sources and sinks of the caller are called by the module, files and writers of the
// module by the caller. Both contain core/, whose state is therefore passed: `check_map` is the caller's, because the
// table of guarded maps is.
//
// Threads: any.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/error.h"  // crosses the boundary, so it is part of the stamp
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/record_writer.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"
#include "unstarve/storage/formats/parquet/table_writer.h"

namespace unstarve {

using CheckMap = void (*)(const void* begin, std::size_t bytes);  // core/map_guard.h

struct ParquetSource {
  std::shared_ptr<const ByteSource> bytes;
  CheckMap check_map = nullptr;
};

struct ArrowModule {
  const char* stamp;  // first member, readable in any module
  std::unique_ptr<const ParquetFile> (*open)(ParquetSource source, const std::string& image, const std::string& label);
  std::unique_ptr<const ParquetFile> (*open_ipc)(ParquetSource source, const std::string& image,
                                                 const std::string& label);
  std::unique_ptr<RecordWriter> (*make_writer)(ByteSink& sink, const std::vector<std::string>& classes,
                                               std::size_t group_rows);
  std::unique_ptr<TableWriter> (*make_table)(ByteSink& sink, const std::vector<TableField>& fields);
  std::string (*version)();  // of Arrow: "26.0.1"
};

// Loads the module at the first call. Throws Error(kMissing), beginning with `operation`, at each call that fails.
[[nodiscard]] const ArrowModule& arrow_module(const std::string& operation);

// In the module: what its table refers to.
[[nodiscard]] std::unique_ptr<const ParquetFile> open_arrow_file(ParquetSource source, const std::string& image,
                                                                 const std::string& label);
[[nodiscard]] std::unique_ptr<const ParquetFile> open_arrow_ipc(ParquetSource source, const std::string& image,
                                                                const std::string& label);
[[nodiscard]] std::unique_ptr<RecordWriter> make_arrow_writer(ByteSink& sink, const std::vector<std::string>& classes,
                                                              std::size_t group_rows);
[[nodiscard]] std::unique_ptr<TableWriter> make_arrow_table(ByteSink& sink, const std::vector<TableField>& fields);
[[nodiscard]] std::string linked_arrow_version();

}  // namespace unstarve

// The exported symbol of the module.
extern "C" const unstarve::ArrowModule* unstarve_arrow_module() noexcept;
