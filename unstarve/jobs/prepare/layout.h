#pragma once
// The last step of preparing: from what the archives held to what our readers open.
//
//   files        as it is: "" is opened
//   imagenet     val/ILSVRC2012_val_00000001.JPEG ─ .devkit ─▶ val/n01751748/ILSVRC2012_val_00000001.JPEG
//   coco         annotations/instances_FOLDER.json ─▶ manifest.jsonl, unlabelled.jsonl, classes.txt
//   open-images  labels/*-annotations-human-imagelabels.csv, labels/*class-descriptions.csv ─▶ the same
//
//   {"path":"val2017/000000000139.jpg","split":"val","label":62,"class":"tv","classes":["tv","dining table",...]}
//
// label:     coco: the class of the largest object; open-images: the first label of the list that was verified to be
//            there and has a name. Classes are numbered as the set lists them (from 0, without gaps), the same in every
//            split; classes.txt has their names, one per line. Images without any are listed in unlabelled.jsonl.
// Again:     every step may be done twice; what was moved stays where it is.
//
// Threads:   one call at a time per folder.
// Memory:    coco: some 24 bytes per object; open-images: some 100 bytes per image and 4 per label.
// Failure:   Error(kInput) with file and what is wrong with it, Error(kIo).

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct FinishedLayout {
  std::string open;                                 // below the folder: what is to be opened; "" is the folder itself
  std::map<std::string, std::uint64_t> unlabelled;  // per split: samples that are not in it
};

// `archives`: those that were unpacked into `folder`.
[[nodiscard]] FinishedLayout finish_layout(PreparedLayout layout, const std::vector<PublishedArchive>& archives,
                                           const std::filesystem::path& folder);

// Where the devkit of ImageNet must be unpacked to; hidden, so that it is no class.
inline constexpr const char* kDevkitFolder = ".devkit";
void sort_imagenet_val(const std::filesystem::path& folder);

// Collects the rows of a manifest. `classes`: all names, in the order of their numbers.
class ManifestText {
 public:
  // `labels`: numbers of classes, that of the label first; empty for none.
  void add(const std::string& path, const std::string& split, const std::vector<std::uint32_t>& labels);
  void write(const std::filesystem::path& folder) const;

  std::vector<std::string> classes;
  std::map<std::string, std::uint64_t> unlabelled_of;

 private:
  std::string labelled_, unlabelled_;
};

// The images of one split. `images`: the folder's name, which is also the annotation file's.
void add_coco_rows(const std::filesystem::path& folder, const std::string& images, const std::string& split,
                   ManifestText& manifest);
void add_open_images_rows(const std::filesystem::path& folder, const std::vector<PublishedArchive>& archives,
                          ManifestText& manifest);

}  // namespace unstarve
