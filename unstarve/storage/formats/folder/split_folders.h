#pragma once
// A folder whose subfolders are splits: photos/train/cat/1.jpg, photos/val/...
//
// Names:     train, training, test, testing, val, valid, validation, dev, in any case (source/split_names.h).
// Rule:      the subfolders are splits if at least two have such names, and either all of them have, or one of the two
//            has no images directly in it and the others have none either; or if the only subfolder has such a name and
//            no images directly in it. Other folders are classes: one may be named train.
// Cost:      lists subfolders until one decides; a round trip each in a bucket.
// Threads:   a free function. Failure: Error(kIo) for a folder that cannot be read.

#include <string>

namespace unstarve {

struct Source;

// The subfolder to open instead of `source`; "" if `split` is empty and the subfolders are classes. A requested folder
// is found in any case of its name; if the others are classes, it must have class folders. Throws Error(kInput) if a
// split is required and Error(kArgument) if the requested one does not exist.
[[nodiscard]] std::string choose_split_folder(const Source& source, const std::string& split);

}  // namespace unstarve
