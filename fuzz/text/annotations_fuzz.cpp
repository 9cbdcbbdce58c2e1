// Arbitrary bytes as the annotation files of a published dataset: COCO's instances_*.json, the class names or the
// labels of Open Images; and the manifest written from them. The first byte selects the file.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/layout.h"

namespace {

using namespace unstarve;
namespace fs = std::filesystem;

// A temporary folder with two images, removed at exit.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "unstarve-annotations-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
    for (const char* const inside : {"annotations", "labels", "pictures"}) fs::create_directory(path / inside);
    for (const char* const image : {"a.jpg", "b.jpg"}) std::ofstream(path / "pictures" / image) << "x";
  }
  ~Folder() {
    std::error_code failed;
    fs::remove_all(path, failed);
  }
  void write(const char* file, const std::uint8_t* data, std::size_t size) const {
    std::ofstream out(path / file, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
};

constexpr char kNames[] = "LabelName,DisplayName\n/m/1,Cat\n/m/2,\"Dog, small\"\n";
constexpr char kLabels[] = "ImageID,Source,LabelName,Confidence\na,verification,/m/1,1\nb,verification,/m/2,1\n";

template <std::size_t kBytes>
void write(const Folder& folder, const char* file, const char (&text)[kBytes]) {
  folder.write(file, reinterpret_cast<const std::uint8_t*>(text), kBytes - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  if (size == 0) return 0;
  const std::uint8_t which = data[0] % 3;
  ++data, --size;
  constexpr const char* kNamesFile = "labels/class-descriptions.csv";
  constexpr const char* kLabelsFile = "labels/train-annotations-human-imagelabels.csv";
  if (which == 0) folder.write("annotations/instances_pictures.json", data, size);
  if (which == 1) folder.write(kNamesFile, data, size);
  if (which == 2) folder.write(kLabelsFile, data, size);
  if (which == 1) write(folder, kLabelsFile, kLabels);
  if (which == 2) write(folder, kNamesFile, kNames);
  try {
    ManifestText manifest;
    PublishedArchive images;
    images.to = "pictures";
    images.split = "train";
    if (which == 0) {
      add_coco_rows(folder.path, "pictures", "train", manifest);
    } else {
      add_open_images_rows(folder.path, {images}, manifest);
    }
    manifest.write(folder.path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) __builtin_trap();
  }
  return 0;
}
