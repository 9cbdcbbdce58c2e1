#pragma once
// Reads Arrow IPC files of images and labels: those of Hugging Face `datasets`, and others of equal columns.
//
//   photos/dataset_dict.json         {"splits": ["train", "test"]}        DatasetDict.save_to_disk()
//   photos/train/state.json          {"_data_files": [{"filename": NAME}, ...]}   Dataset.save_to_disk()
//   photos/train/data-00000-of-00002.arrow  ...  an IPC stream (arrow_ipc.cpp)
//   cache/imagenet-train.arrow       files without state.json: by name, except `cache-*`
//
// Columns, labels, class names, options and caching are those of Parquet (parquet.h); a record batch is a row group.
// Splits:    the folders of a DatasetDict, which require one; otherwise the word in the file names.
// Cost:      images of a local file that is not compressed are views of the map: any order is cheap. Opening reads the
//            metadata of each record batch, one after another: for URLs, a request per batch.
// Failure:   as open_dataset(); Error(kMissing) without Arrow; Error(kInput) for a dataset with an index mapping, whose
//            rows are not those of its files.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

// Format table entry. Options: image, label, cache_mb.
[[nodiscard]] bool recognises_arrow(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_arrow(const Source& source, const std::string& split);

}  // namespace unstarve
