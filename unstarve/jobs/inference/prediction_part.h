#pragma once
// The predictions of a run in progress, appended block by block: a run that is killed continues after the last complete
// block.
//
//   "unstarve predictions 1\n" | length, CRC-32 of the header | header (JSON) |
//   rows, CRC-32 of the block | rows: id, label, values | rows, CRC-32 | ...      integers in this machine's byte order
//
// A block has at least one row. A damaged or incomplete block, or a hole, which a power failure may leave, and what
// follows is cut off when the file is opened.
//
// Threads: one. Failure: Error(kIo) with the path; Error(kInput) if the file belongs to another run.
// Memory:  one block.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

// Rows of equal length.
struct PredictionRows {
  std::size_t values = 0;  // per row
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> labels;
  std::vector<float> data;  // ids.size() x values
  [[nodiscard]] std::size_t size() const { return ids.size(); }
  [[nodiscard]] std::span<const float> row(std::size_t i) const { return {data.data() + i * values, values}; }
  void clear();
};

class PredictionPart {
 public:
  // Opens the part of a run with this header, a JSON object, or begins it. Calls `use` for each block that it has.
  PredictionPart(std::filesystem::path path, const std::string& header, std::size_t values,
                 const std::function<void(const PredictionRows&)>& use = {});

  void append(const PredictionRows& rows);
  // Calls `use` for all blocks.
  void read(const std::function<void(const PredictionRows&)>& use) const;
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[nodiscard]] std::string read_begin() const;
  [[noreturn]] void reject(const std::string& found, const std::string& header) const;
  // The end of the last complete block, from `begin` on.
  std::uint64_t scan(std::uint64_t begin, const std::function<void(const PredictionRows&)>& use) const;

  std::filesystem::path path_;
  std::size_t values_;
  FileDescriptor file_;
  std::optional<FileLock> lock_;
  std::uint64_t begin_ = 0, end_ = 0, rows_ = 0;
  std::vector<std::uint8_t> block_;
};

}  // namespace unstarve
