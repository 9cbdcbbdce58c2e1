#pragma once
// Several data sets as one: the records of the first, then those of the second, and so on.
//
// Classes:   data sets that name their classes share those of equal names; the others' follow in the order of the data
//            sets, and labels are renumbered so. Data sets that name none keep their numbers.
// Fields:    image, and label where they have labels. Ownership: shares the data sets. Threads, cost: as theirs.
// Failure:   concatenate() throws Error(kArgument) when no data set is given or when some hold encoded images and
//            others pixels, some labels and others none, some names of classes and others none. read() as the data
//            set's own; Error(kInput) for a label that is none of its data set's classes.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// `names`: what each is called in messages, as many as `parts`; `operation`: what their messages begin with.
[[nodiscard]] std::shared_ptr<const Dataset> concatenate(std::vector<std::shared_ptr<const Dataset>> parts,
                                                         const std::vector<std::string>& names,
                                                         const std::string& operation = "mix");

}  // namespace unstarve
