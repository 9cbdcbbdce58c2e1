#pragma once
// A safetensors file as a string, for tests.

#include <map>
#include <span>
#include <string>

#include "unstarve/models/safetensors.h"

namespace unstarve {

inline std::string safetensors_file(std::span<const TensorToStore> tensors,
                                    const std::map<std::string, std::string>& metadata = {}) {
  std::string file = format_safetensors_header(tensors, metadata);
  for (const TensorToStore& tensor : tensors)
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}

}  // namespace unstarve
