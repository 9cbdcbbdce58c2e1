#pragma once
// Writes a dataset of 32 x 32 images as CIFAR-10 binaries (layout in cifar.h), for tests, benchmarks and users whose
// images are in another format.
//
// Order:     that of the dataset; 10,000 records per file as published, the last file may be shorter.
// Cost:      decodes on `threads` threads; keeps one file (31 MB) in memory.
// Failure:   Error(kArgument) for more than 10 classes, more than 50,000 training or 10,000 test images, or data
//            without labels; Error(kInput) with the record location for an image of another size or one that cannot
//            be decoded; Error(kIo) if writing fails. Each file is written atomically.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

inline constexpr std::uint64_t kCifarRecordsPerFile = 10'000;
inline constexpr std::uint64_t kCifarTrainingFiles = 5;

// The bytes of records [first, end) of `data`.
[[nodiscard]] std::string encode_cifar10(const Dataset& data, std::uint64_t first, std::uint64_t end, int threads = 1);

// Writes data_batch_{1..}.bin, test_batch.bin if `test` is given, and batches.meta.txt into `folder`, which is created
// if missing and must not contain data_batch files. Both sets must have the same classes.
void write_cifar10(const Dataset& train, const Dataset* test, const std::filesystem::path& folder, int threads = 1);

}  // namespace unstarve
