#pragma once
// Finds the published files of CIFAR in a folder, and the class names next to them. There are two versions of equal
// names: binary ("data_batch_1.bin", cifar.h) and Python ("data_batch_1", cifar_python.h).
//
// Threads: free functions. Failure: Error(kInput) for files of both datasets and for a missing batch, Error(kArgument)
// for an unknown split.

#include <functional>
#include <string>
#include <vector>

#include "unstarve/storage/formats/cifar/cifar.h"

namespace unstarve {

struct CifarVersion {
  const char* ending;
  const CifarLayout* ten;
  const CifarLayout* hundred;
};

// The files of one dataset, by name, in order.
struct CifarFiles {
  const CifarLayout* layout = nullptr;
  std::vector<std::string> train{};
  std::vector<std::string> test{};
  [[nodiscard]] bool any() const { return !train.empty() || !test.empty(); }
};
[[nodiscard]] CifarFiles find_cifar_10(const CifarVersion& version, const std::vector<std::string>& present);
[[nodiscard]] CifarFiles find_cifar_100(const CifarVersion& version, const std::vector<std::string>& present);

// The paths of the files of a split in a folder; "" is all of them.
struct CifarSelection {
  const CifarLayout* layout = nullptr;
  std::vector<std::string> files{};
};
[[nodiscard]] CifarSelection select_cifar_files(const CifarVersion& version, const Source& source,
                                                const std::string& split);

// A path or URL, split at its last '/'; the query of a URL belongs to neither part.
struct CifarPath {
  explicit CifarPath(const std::string& path);
  std::string folder, name;
  bool has_query = false;
};

// Whether `name` exists next to `path`. The query of a URL may be valid for that file only, so no other file in its
// folder is requested.
[[nodiscard]] bool exists_next_to(const CifarPath& path, const std::string& name);

// The numbers of the classes as names.
[[nodiscard]] std::vector<std::string> numbered_classes(const CifarLayout& layout);

}  // namespace unstarve
