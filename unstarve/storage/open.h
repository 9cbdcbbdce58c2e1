#pragma once
// From a path to a data set: looks at what lies there and asks the formats of one constant table.
//
// Failure: Error(kIo) when the path is missing or unreadable; Error(kInput) when nothing recognises it (the message
// lists what was found and the formats known) or when it holds no sample.

#include <memory>
#include <string>

#include "unstarve/storage/dataset.h"

namespace unstarve {

// `path`: a folder with one folder per class (or with train/, test/, val/ that hold such folders), a folder or file of
// CIFAR-10/100 binaries, "synthetic:classes=10,images=2000,size=32,seed=1" for generated samples in memory, or
// "sleep:ms=5,images=100,size=32" for a slow source.
// `split`: "train", "test", ... or "" for everything; a folder of split folders needs one, as its folders are no
// classes. Throws Error(kArgument) for a split that the data does not have or an option that makes no sense.
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const std::string& path, const std::string& split = "");

}  // namespace unstarve
