#pragma once
// The last step of preparing: converts unpacked archives into a dataset that can be opened.
//
//   files        nothing to do: "" is opened
//   imagenet     val/ILSVRC2012_val_00000001.JPEG ─ .devkit ─▶ val/n01751748/ILSVRC2012_val_00000001.JPEG
//   coco         annotations/instances_FOLDER.json ─▶ manifest.jsonl, unlabelled.jsonl, classes.txt
//   open-images  labels/*-annotations-human-imagelabels.csv, labels/*class-descriptions.csv ─▶ the same
//
//   {"path":"val2017/000000000139.jpg","split":"val","label":62,"class":"tv","classes":["tv","dining table",...]}
//
// Label:   coco: the class of the largest object; open-images: the first verified label with a class name. Classes are
//          numbered from 0 without gaps in the order of the annotation files, equally in all splits; classes.txt lists
//          their names, one per line. Images without a label are listed in unlabelled.jsonl.
// Resuming: every step may run twice; moved files stay in place.
//
// Threads: one call at a time per folder.
// Memory:  coco: about 24 bytes per object; open-images: about 100 bytes per image and 4 per label.
// Failure: Error(kInput) with file and reason, Error(kIo).

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct FinishedLayout {
  std::string open;                                 // path to open, relative to the folder; "": the folder itself
  std::map<std::string, std::uint64_t> unlabelled;  // per split: samples without a label
};

// `archives`: the archives unpacked into `folder`.
[[nodiscard]] FinishedLayout finish_layout(PreparedLayout layout, const std::vector<PublishedArchive>& archives,
                                           const std::filesystem::path& folder);

// Destination of the ImageNet devkit; a hidden folder, so that it is not a class.
inline constexpr const char* kDevkitFolder = ".devkit";
void sort_imagenet_val(const std::filesystem::path& folder);

// Collects the rows of a manifest. `classes`: all class names by class index.
class ManifestText {
 public:
  // `labels`: class indexes, the label first; empty: unlabelled.
  void add(const std::string& path, const std::string& split, const std::vector<std::uint32_t>& labels);
  void write(const std::filesystem::path& folder) const;

  std::vector<std::string> classes;
  std::map<std::string, std::uint64_t> unlabelled_of;

 private:
  std::string labelled_, unlabelled_;
};

// Adds the images of one split. `images`: name of the folder and of the annotation file.
void add_coco_rows(const std::filesystem::path& folder, const std::string& images, const std::string& split,
                   ManifestText& manifest);
void add_open_images_rows(const std::filesystem::path& folder, const std::vector<PublishedArchive>& archives,
                          ManifestText& manifest);

}  // namespace unstarve
