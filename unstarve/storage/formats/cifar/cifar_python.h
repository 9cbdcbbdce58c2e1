#pragma once
// CIFAR-10 and CIFAR-100 in their published Python version: pickles, which are read without executing anything.
//
//   cifar-10-batches-py/data_batch_{1..5}, test_batch     {"data": uint8 (n, 3072), "labels": [n integers], ...}
//   cifar-10-batches-py/batches.meta                      {"label_names": [10 names], ...}
//   cifar-100-python/train, test                          {"data": ..., "fine_labels": [...], ...}
//   cifar-100-python/meta                                 {"fine_label_names": [100 names], ...}
//
// A row of `data` is an image of 32 x 32 pixels as three planes. The label of CIFAR-100 is the fine one. Without the
// file of names, classes are named by their numbers.
//
// Order and splits: as cifar.h. Files are recognised by their published names.
// Ownership: files stay mapped or, of URLs, in memory; pixels are views of them. Labels take 4 bytes each.
// Failure:   Error(kInput) at opening for a pickle with other contents; at read() for a label that is not a class.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/formats/cifar/cifar.h"

namespace unstarve {

// The contents of a batch; `pixels` are a view of the pickle's bytes, or `decoded` ones.
struct CifarBatch {
  std::span<const std::uint8_t> pixels;
  std::vector<std::uint8_t> decoded;
  std::vector<std::int32_t> labels;  // -1 for a label that is not a class
};
// Throws Error(kInput) without the file name. The result borrows `bytes`.
[[nodiscard]] CifarBatch parse_cifar_batch(std::span<const std::uint8_t> bytes, const CifarLayout& layout);
[[nodiscard]] std::vector<std::string> parse_cifar_names(std::span<const std::uint8_t> bytes,
                                                         const CifarLayout& layout);

inline constexpr CifarLayout kCifar10Python{"cifar-10 python", 10, 0};
inline constexpr CifarLayout kCifar100Python{"cifar-100 python", 100, 0};

// Format table entry.
[[nodiscard]] bool recognises_cifar_python(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_cifar_python(const Source& source, const std::string& split);

}  // namespace unstarve
