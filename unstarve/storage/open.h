#pragma once
// Opens a dataset: inspects the path and selects a format from one constant table.
//
// Cancelling: core/cancel.h, checked between records and files; no partial index is saved.
// Failure: Error(kCancelled) then; Error(kIo) if the path is missing or unreadable; Error(kInput) if no format
//          recognises it (the message lists its contents and the known formats) or if it contains no sample.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// `path`, one of
//
//   photos/                             a folder with one folder per class, or with train/, test/, val/ of such folders
//   photos/  photos/1.jpg  photos/*.jpg images without labels: a folder without subfolders, or files
//   cifar-10-batches-bin/  cifar-10-batches-py/        CIFAR-10/100, the folder or one file
//   saved/                              a folder of save_to_disk() of Hugging Face datasets
//   train.tfrecord  data-*.tfrecord  data-{000..007}.tfrecord  records/
//                                       shards: a file, a glob, a range (shard_list.h) or a folder of them
//   photos-{2023,2024}/                 folders by a glob or range (in buckets: a range), concatenated; classes with
//                                       equal names are merged (concatenated.h)
//   s3://bucket/train-*.tar  gs://bucket/records/  az://container/photos/  https://host/train-{000..007}.tar
//                                       the same by URL; http(s) supports neither globs nor folders
//   synthetic:classes=10,images=2000,size=32,seed=1    generated samples in memory
//   sleep:ms=5,images=100,size=32                      a slow source
//
// The format of a file is detected from its content. Formats with named fields take options after '#', which is not
// part of a glob or URL: "data-*.tfrecord#image=photo,label=y" (see tfrecord.h). If a file has exactly this name, it is
// opened without options. When shards are opened for the first time, each is read once to build its index
// (record_files.h).
//
// `split`: "train", "test", ... or "" for all samples. A folder of split folders requires one, since its folders are
// not classes; of shards, those with that word in their name are used. Throws Error(kArgument) for a split that the
// data does not have or an invalid option.
//
// `labels`: the column, feature or member of the labels, as the option `label` after '#'; "none" reads no labels; "" is
// the default of the format. Data without a usable label have no label field: see Dataset::missing_labels().
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const std::string& path, const std::string& split = "",
                                                          const std::string& labels = "");

}  // namespace unstarve
