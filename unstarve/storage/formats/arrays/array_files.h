#pragma once
// From a path to the arrays of images and labels that belong together: .npy files and idx files.
//
//   npy   images.npy  labels.npy      train_images.npy  train_labels.npy      x_train.npy  y_train.npy
//         uint8, (n, height, width, 3), (n, height, width, 1) or (n, height, width); labels of any
//         integers, (n) or (n, 1)
//   idx   train-images-idx3-ubyte  train-labels-idx1-ubyte      t10k-...      as MNIST, Fashion-MNIST, EMNIST publish
//         them, also .gz (then the file is decompressed into memory)
//
// Labels:    of IMAGES the file with "labels" in the place of "images" (or y for a leading x), else IMAGES_labels, else
//            labels, with the same ending, beside it.
// Path:      the file of images, or a folder: the file of images whose name has "train" is the split train, "t10k" or
//            "test" test, "val" val; without a split all of them, training first.
// Detection: by the first bytes (\x93NUMPY; 0x00000803 or 0x00000804).
// Failure:   opening: Error(kInput) with the file for lengths that do not fit, labels that are missing or not as many
//            as images, two files for one split; Error(kIo).

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

// Decompressed in memory at most; MNIST has 47 MB, EMNIST 640 MB.
inline constexpr std::uint64_t kMaxHeldBytes = std::uint64_t{4} << 30;

[[nodiscard]] bool recognises_npy(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_npy(const Source& source, const std::string& split);

[[nodiscard]] bool recognises_idx(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_idx(const Source& source, const std::string& split);

}  // namespace unstarve
