#pragma once
// Image files without labels: a folder without subfolders, or the files that a path or pattern names.
//
//   photos/1.jpg  photos/2.png  photos/readme.txt          2 samples
//
// Order:     by name, bytewise; of several paths, their order.
// Samples:   in a folder, the files ending in .jpg, .jpeg, .png or .webp in any case; otherwise every named file.
// Fields:    image only, as of a manifest without a label column.
// Ownership: keeps the folder open and the names of all files.
// Cost:      opening does not stat the files. read() is as in ImageFolder; of a URL it is two requests.
// Failure:   as dataset.h. Threads: as Dataset.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

// Format table entry: recognised by the file names of a folder, or by the first bytes of a file.
[[nodiscard]] bool recognises_unlabelled_images(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_unlabelled_images(const Source& source, const std::string& split);

}  // namespace unstarve
