#pragma once
// Several datasets as one: the records of the first, then those of the second, and so on.
//
// Classes:   classes of equal names are merged; new names are numbered in the order of the datasets, and labels are
//            renumbered accordingly. Datasets without class names keep their numbers.
// Fields:    image, and label if they have labels. Ownership: shares the datasets. Threads, cost: those of the
//            datasets.
// Failure:   concatenate() throws Error(kArgument) if no dataset is given or if only some of them have encoded images,
//            labels or class names. read() fails as read() of the part, and throws Error(kInput) for a label that is
//            not one of the part's classes.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// `names`: one per part, for messages; `operation`: the beginning of messages.
[[nodiscard]] std::shared_ptr<const Dataset> concatenate(std::vector<std::shared_ptr<const Dataset>> parts,
                                                         const std::vector<std::string>& names,
                                                         const std::string& operation = "mix");

}  // namespace unstarve
