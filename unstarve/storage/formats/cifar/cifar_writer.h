#pragma once
// Writes a data set of 32 x 32 images as CIFAR-10 binaries (layout in cifar.h): what makes the published files' form
// available to tests, benchmarks and users who hold the images in another form.
//
// Order:     records keep the order of the data set; 10,000 to a file as published, the last one may be shorter.
// Cost:      decodes on `threads` threads, holds one file's bytes (31 MB).
// Failure:   Error(kArgument) for more than 10 classes, more than 50,000 training or 10,000 test images, or data
//            without labels; Error(kInput) with the record's location for an image of another size or one that cannot
//            be decoded; Error(kIo) when writing fails. Each file appears whole or not at all.

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

// Writes data_batch_{1..}.bin, test_batch.bin when `test` is given, and batches.meta.txt into `folder` (made if
// missing; its data_batch files must not exist yet). Both sets must have the same classes.
void write_cifar10(const Dataset& train, const Dataset* test, const std::filesystem::path& folder, int threads = 1);

}  // namespace unstarve
