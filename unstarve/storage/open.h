#pragma once
// From a path to a data set: looks at what lies there and asks the formats of one constant table.
//
// Stopping: by the wish of core/cancel.h, between records and files; no index is left half written.
// Failure: Error(kCancelled) then; Error(kIo) when the path is missing or unreadable; Error(kInput) when nothing
//          recognises it (the message lists what was found and the formats known) or when it holds no sample.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// `path`, one of
//
//   photos/                             a folder with one folder per class, or with train/, test/, val/ that hold such
//   cifar-10-batches-bin/               CIFAR-10/100 binaries, the folder or one file
//   train.tfrecord  data-*.tfrecord  data-{000..007}.tfrecord  records/
//                                       shards: a file, a glob, a range (shard_list.h) or a folder of them
//   photos-{2023,2024}/                 folders by a glob or range: one after the other, classes joined by their names
//                                       (concatenated.h); of buckets by a range
//   s3://bucket/train-*.tar  gs://bucket/records/  https://host/train-{000..007}.tar
//                                       the same by URL; of http(s) neither globs nor folders
//   synthetic:classes=10,images=2000,size=32,seed=1    generated samples in memory
//   sleep:ms=5,images=100,size=32                      a slow source
//
// A file's format is told by its content. Formats whose fields have names take options behind '#', which is part of no
// glob and of no URL's query: "data-*.tfrecord#image=photo,label=y" (tfrecord.h tells which). A file of that very name
// is that file, without options. The first time shards are opened each is read once to make its index
// (record_files.h).
//
// `split`: "train", "test", ... or "" for everything; a folder of split folders needs one, as its folders are no
// classes; of shards, those with that word in their name are taken. Throws Error(kArgument) for a split that the data
// does not have or an option that makes no sense.
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const std::string& path, const std::string& split = "");

}  // namespace unstarve
