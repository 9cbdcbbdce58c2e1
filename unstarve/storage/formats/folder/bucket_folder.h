#pragma once
// An image folder in a bucket: the counterpart of ImageFolder, based on the object listing.
//
//   s3://bucket/photos/cat/1.jpg   s3://bucket/photos/cat/outdoors/2.jpeg   s3://bucket/photos/dog/7.PNG
//
// Order, samples, fields and classes are those of ImageFolder. Objects with an empty or hidden component in their key
// ("a//b.jpg", ".x/b.jpg") and "folders" (keys that end in '/') are skipped.
//
// Ownership: owns the names of all objects in one pool: key below the class, ETag and 14 bytes per object.
// Cost:      opening lists the classes concurrently, one round trip per 1000 objects; read() is one request.
// Failure:   as dataset.h; an object that was replaced after the listing is an Error. Threads: as Dataset.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// `root`: URL of the folder without a trailing '/'; `classes`: the names of its subfolders, sorted bytewise. Throws
// Error(kInput) if there is no image.
[[nodiscard]] std::shared_ptr<const Dataset> open_bucket_folder(std::string root, std::vector<std::string> classes);

}  // namespace unstarve
