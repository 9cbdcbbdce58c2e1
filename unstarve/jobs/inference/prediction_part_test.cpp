#include "unstarve/jobs/inference/prediction_part.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::error_message;

const std::string kHeader = R"({"model":"a.onnx","values":2})";

// A path that is removed at the end.
struct PartPath {
  fs::path path = fs::temp_directory_path() / ("prediction_part_test-" + std::to_string(::getpid()));
  PartPath() { fs::remove(path); }
  ~PartPath() { fs::remove(path); }
};

PredictionRows rows_from(std::uint64_t first, std::size_t count) {
  PredictionRows rows;
  rows.values = 2;
  for (std::uint64_t id = first; id < first + count; ++id) {
    rows.ids.push_back(id);
    rows.labels.push_back(id % 2 == 0 ? -1 : static_cast<std::int64_t>(id));
    rows.data.push_back(static_cast<float>(id) / 2);
    rows.data.push_back(1);
  }
  return rows;
}

std::vector<std::uint64_t> ids_in(const PredictionPart& part) {
  std::vector<std::uint64_t> ids;
  part.read([&](const PredictionRows& rows) { ids.insert(ids.end(), rows.ids.begin(), rows.ids.end()); });
  return ids;
}

}  // namespace

TEST_CASE("a part has the rows that were appended, also when it is opened again") {
  const PartPath file;
  {
    PredictionPart part(file.path, kHeader, 2);
    CHECK(part.rows() == 0);
    part.append(rows_from(0, 3));
    part.append(rows_from(3, 1));
    CHECK(part.rows() == 4);
  }
  std::vector<PredictionRows> blocks;
  PredictionPart part(file.path, kHeader, 2, [&](const PredictionRows& rows) { blocks.push_back(rows); });
  CHECK(part.rows() == 4);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].labels == std::vector<std::int64_t>{-1, 1, -1});
  CHECK(blocks[0].row(1)[0] == 0.5F);
  part.append(rows_from(4, 2));
  CHECK(ids_in(part) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a part cut at any byte, as by a killed process, continues after its last complete block") {
  const PartPath file;
  std::uintmax_t header = 0, first = 0;
  {
    PredictionPart part(file.path, kHeader, 2);
    header = fs::file_size(file.path);
    part.append(rows_from(0, 2));
    first = fs::file_size(file.path);
    part.append(rows_from(2, 2));
  }
  const std::string whole = read_text_file(file.path);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(file.path, std::ios::binary) << whole.substr(0, length);
    PredictionPart part(file.path, kHeader, 2);
    const std::size_t complete = length < first ? 0 : length < whole.size() ? 2 : 4;
    INFO(length << " of " << whole.size() << ", header " << header);
    REQUIRE(part.rows() == complete);
    part.append(rows_from(complete, 1));
    CHECK(ids_in(part).size() == complete + 1);
    CHECK(ids_in(part).back() == complete);
  }
}

TEST_CASE("a damaged block and those after it are dropped") {
  const PartPath file;
  std::uintmax_t first = 0;
  {
    PredictionPart part(file.path, kHeader, 2);
    part.append(rows_from(0, 2));
    first = fs::file_size(file.path);
    part.append(rows_from(2, 2));
    part.append(rows_from(4, 2));
  }
  std::string damaged = read_text_file(file.path);
  damaged[first + 12] = static_cast<char>(damaged[first + 12] ^ 1);
  std::ofstream(file.path, std::ios::binary) << damaged;
  const PredictionPart part(file.path, kHeader, 2);
  CHECK(part.rows() == 2);
  CHECK(fs::file_size(file.path) == first);
}

TEST_CASE("a hole of zeros instead of a block and the blocks after it are dropped") {
  const PartPath file;
  std::uintmax_t first = 0, second = 0;
  {
    PredictionPart part(file.path, kHeader, 2);
    part.append(rows_from(0, 2));
    first = fs::file_size(file.path);
    part.append(rows_from(2, 2));
    second = fs::file_size(file.path);
    part.append(rows_from(4, 2));
  }
  std::string damaged = read_text_file(file.path);
  std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(first), damaged.begin() + static_cast<std::ptrdiff_t>(second),
            '\0');
  std::ofstream(file.path, std::ios::binary) << damaged;
  PredictionPart part(file.path, kHeader, 2);
  CHECK(part.rows() == 2);
  CHECK(fs::file_size(file.path) == first);
  part.append(rows_from(2, 1));
  CHECK(ids_in(part) == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("a part of another run and another file are not continued") {
  const PartPath file;
  { PredictionPart(file.path, kHeader, 2).append(rows_from(0, 1)); }
  const std::string other =
      error_message([&] { PredictionPart(file.path, R"({"model":"b.onnx","values":2})", 2); }, ErrorKind::kInput);
  CHECK(other == "resume " + file.path.string() +
                     ": found predictions with model \"a.onnx\"; expected the predictions of this run. Delete the file "
                     "to start again, or repeat the command of that run");
  const PredictionPart held(file.path, kHeader, 2);
  CHECK(error_message([&] { PredictionPart(file.path, kHeader, 2); }, ErrorKind::kArgument) ==
        "infer: another process writes " + file.path.string());
}

TEST_CASE("a file that is not a part is not overwritten") {
  const PartPath file;
  for (const std::string& text :
       {std::string(100, 'x'), std::string("id,label\n"), std::string("unstarve predictions 2\n")}) {
    std::ofstream(file.path) << text;
    CHECK(error_message([&] { PredictionPart(file.path, kHeader, 2); }, ErrorKind::kInput)
              .starts_with("resume " + file.path.string() + ": found another file; expected"));
    CHECK(read_text_file(file.path) == text);
  }
}

TEST_CASE("a damaged number of rows allocates no more than the file has") {
  const PartPath file;
  std::uintmax_t header = 0;
  {
    PredictionPart part(file.path, kHeader, 2);
    header = fs::file_size(file.path);
    part.append(rows_from(0, 2));
  }
  std::string damaged = read_text_file(file.path);
  for (std::size_t i = 0; i < 4; ++i) damaged[header + i] = static_cast<char>(0xff);
  std::ofstream(file.path, std::ios::binary) << damaged;
  CHECK(PredictionPart(file.path, kHeader, 2).rows() == 0);
}

}  // namespace unstarve
