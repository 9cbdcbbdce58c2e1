#pragma once
// A model graph as a temporary ONNX file, for engines.
//
// Ownership: owns the file, which is removed with this object. Threads: one. Failure: Error(kIo).

#include <filesystem>

#include "unstarve/infer/graph/graph.h"

namespace unstarve {

class GraphFile {
 public:
  // In the folder for temporary files ($TMPDIR).
  explicit GraphFile(const infer::Graph& graph);
  ~GraphFile();
  GraphFile(const GraphFile&) = delete;
  GraphFile& operator=(const GraphFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace unstarve
