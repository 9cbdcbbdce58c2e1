#pragma once
// Opens .npy and idx files: finds the image and label arrays that belong together.
//
//   npy   images.npy  labels.npy      train_images.npy  train_labels.npy      x_train.npy  y_train.npy
//         X_train.npy  y_train.npy      train_x.npy  train_y.npy
//         uint8, (n, height, width, 3), (n, height, width, 1) or (n, height, width); labels of any
//         integers, (n) or (n, 1)
//   idx   train-images-idx3-ubyte  train-labels-idx1-ubyte      t10k-...      as MNIST, Fashion-MNIST, EMNIST publish
//         them, also .gz (then the file is decompressed into memory)
//
// Labels:    in the same folder, with the same extension: the name of the image file with "labels" instead of "images",
//            or y or Y instead of a leading x or X, or of one at the end after the name of a split or "data" and '_'
//            or '-', else IMAGES_labels, else labels.
//            If labels are declined and no file of a folder has labels, all files are image files.
// Path:      the image file, or a folder. In a folder the file name gives the split: "train" is train, "t10k" or "test"
//            is test, "val" is val. Without a split all image files are read, training first. x.gz is
//            left out next to x.
// Detection: by the first bytes (\x93NUMPY; 0x00000803 or 0x00000804).
// Failure:   opening throws Error(kInput) with the file name if a length does not match, if labels are missing or their
//            number differs from the number of images, or if two files match one split; Error(kIo).

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

// Limit for decompression into memory. MNIST needs 47 MB, EMNIST 640 MB.
inline constexpr std::uint64_t kMaxDecompressedBytes = std::uint64_t{4} << 30;

[[nodiscard]] bool recognises_npy(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_npy(const Source& source, const std::string& split);

[[nodiscard]] bool recognises_idx(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_idx(const Source& source, const std::string& split);

}  // namespace unstarve
