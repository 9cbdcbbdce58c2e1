// How open_dataset() comes to a CifarBinary: which files belong together.
#include <algorithm>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/storage/cifar/cifar.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

struct CifarFiles {
  const CifarLayout* layout = nullptr;
  std::vector<std::string> train;  // names that are there, in order
  std::vector<std::string> test;
};

bool has(const std::vector<std::string>& files, const std::string& name) {
  return std::find(files.begin(), files.end(), name) != files.end();
}

CifarFiles find_files(const CifarLayout& layout, std::initializer_list<const char*> train, const char* test,
                      const std::vector<std::string>& present) {
  CifarFiles found{&layout, {}, {}};
  for (const char* name : train) {
    if (has(present, name)) found.train.emplace_back(name);
  }
  if (has(present, test)) found.test.emplace_back(test);
  return found;
}

CifarFiles find_10(const std::vector<std::string>& present) {
  return find_files(
      kCifar10, {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      "test_batch.bin", present);
}

CifarFiles find_100(const std::vector<std::string>& present) {
  return find_files(kCifar100, {"train.bin"}, "test.bin", present);
}

bool any(const CifarFiles& files) { return !files.train.empty() || !files.test.empty(); }

// A single file: its published name tells the layout, else its length.
const CifarLayout& layout_of_file(const std::string& path, const std::string& name) {
  if (any(find_10({name}))) return kCifar10;
  if (any(find_100({name}))) return kCifar100;
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(path, failed);
  if (failed) throw io_error("look at", path, failed.value());
  const bool fits_10 = bytes % kCifar10.record_bytes() == 0;
  const bool fits_100 = bytes % kCifar100.record_bytes() == 0;
  if (bytes == 0 || fits_10 == fits_100) {
    throw Error(ErrorKind::kInput, "open " + path + ": neither its name nor its " + std::to_string(bytes) +
                                       " bytes tell CIFAR-10 (records of 3073 bytes) from CIFAR-100 (3074)");
  }
  return fits_10 ? kCifar10 : kCifar100;
}

std::vector<std::string> class_names(const fs::path& folder, const CifarLayout& layout) {
  const fs::path file = folder / (&layout == &kCifar10 ? "batches.meta.txt" : "fine_label_names.txt");
  if (fs::exists(file)) return parse_class_names(read_text_file(file), layout.classes, file.string());
  std::vector<std::string> numbers;
  for (int i = 0; i < layout.classes; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

// The published training set has batches 1 to 5; a shorter set is fine, a hole in it is a lost file.
void refuse_hole(const CifarFiles& found, const std::string& folder) {
  if (found.layout != &kCifar10) return;
  for (std::size_t i = 0; i < found.train.size(); ++i) {
    const std::string expected = "data_batch_" + std::to_string(i + 1) + ".bin";
    if (found.train[i] != expected) {
      throw Error(ErrorKind::kInput,
                  "open " + folder + ": " + expected + " is missing, although " + found.train[i] + " is there");
    }
  }
}

}  // namespace

bool recognises_cifar(const Source& source) {
  if (source.folder) return any(find_10(source.listing.files)) || any(find_100(source.listing.files));
  return source.exists && fs::path(source.text).extension() == ".bin";
}

std::shared_ptr<const Dataset> open_cifar(const Source& source, const std::string& split) {
  if (!source.folder) {
    const fs::path path(source.text);
    const std::string name = path.filename().string();
    const CifarLayout& layout = layout_of_file(source.text, name);
    const bool test = name == "test_batch.bin" || name == "test.bin";
    if (!split.empty() && split != (test ? "test" : "train")) {
      throw Error(ErrorKind::kArgument, "open " + source.text + ": one file is one split, '" + split +
                                            "' cannot be chosen from it; give its folder");
    }
    return std::make_shared<CifarBinary>(layout, std::vector{source.text}, class_names(path.parent_path(), layout));
  }

  const fs::path folder(source.text);
  const CifarFiles ten = find_10(source.listing.files);
  const CifarFiles hundred = find_100(source.listing.files);
  if (any(ten) && any(hundred)) {
    throw Error(ErrorKind::kInput, "open " + source.text + ": it holds both CIFAR-10 and CIFAR-100 files; found " +
                                       describe(source.listing) + "; give one file, or a folder of one of them");
  }
  const CifarFiles& found = any(ten) ? ten : hundred;
  refuse_hole(found, source.text);
  if (!split.empty() && split != "train" && split != "test") {
    throw Error(ErrorKind::kArgument,
                "open " + source.text + ": no split '" + split + "', " + found.layout->name + " has train and test");
  }
  std::vector<std::string> files;
  const auto take = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) files.push_back((folder / name).string());
  };
  if (split != "test") take(found.train);
  if (split != "train") take(found.test);
  if (files.empty()) {
    throw Error(ErrorKind::kInput,
                "open " + source.text + ": no file of the split '" + split + "'; found " + describe(source.listing));
  }
  return std::make_shared<CifarBinary>(*found.layout, files, class_names(folder, *found.layout));
}

}  // namespace unstarve
