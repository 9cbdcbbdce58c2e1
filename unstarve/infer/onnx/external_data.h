#pragma once
// Weights of an ONNX file that are stored in other files of its folder, as PyTorch writes them:
// https://github.com/onnx/onnx/blob/main/docs/ExternalData.md
//
// Does not trust the file: paths outside of the folder and ranges outside of the files are rejected.
//
// Ownership: the files stay mapped as long as the object. Threads: one.

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>

#include "unstarve/core/file.h"
#include "unstarve/infer/onnx/proto.h"

namespace unstarve::infer {

class ExternalData {
 public:
  // `folder`: of the ONNX file; "": other files are not read.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The bytes of an external tensor. Throws Error(kInput), or Error(kIo) for a file that cannot be read.
  [[nodiscard]] std::span<const std::uint8_t> bytes_of(const ProtoTensor& tensor);

 private:
  std::filesystem::path folder_;
  std::map<std::filesystem::path, MappedFile> files_;
};

}  // namespace unstarve::infer
