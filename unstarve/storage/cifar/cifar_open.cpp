// How open_dataset() comes to a CifarBinary: which files belong together.
#include <algorithm>
#include <filesystem>
#include <functional>

#include "unstarve/core/error.h"
#include "unstarve/storage/cifar/cifar.h"
#include "unstarve/storage/remote/remote.h"

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
const CifarLayout& layout_of_file(const Source& source, const std::string& name) {
  if (any(find_10({name}))) return kCifar10;
  if (any(find_100({name}))) return kCifar100;
  const std::string path = shown_name(source.path);
  const std::uint64_t bytes = source.first->size();
  const bool fits_10 = bytes % kCifar10.record_bytes() == 0;
  const bool fits_100 = bytes % kCifar100.record_bytes() == 0;
  if (bytes == 0 || fits_10 == fits_100) {
    throw Error(ErrorKind::kInput, "open " + path + ": neither its name nor its " + std::to_string(bytes) +
                                       " bytes tell CIFAR-10 (records of 3073 bytes) from CIFAR-100 (3074)");
  }
  return fits_10 ? kCifar10 : kCifar100;
}

// Of the names beside the files, whose folder ends in '/' or is empty; `there` tells whether such a file is.
std::vector<std::string> class_names(const std::string& folder, const CifarLayout& layout,
                                     const std::function<bool(const std::string& name)>& there) {
  const std::string name = &layout == &kCifar10 ? "batches.meta.txt" : "fine_label_names.txt";
  if (there(name)) {
    const std::shared_ptr<const ByteSource> file = open_bytes(folder + name);
    constexpr std::uint64_t kMostBytes = 1 << 20;  // far above any list of a hundred names
    if (file->size() > kMostBytes)
      throw Error(ErrorKind::kInput, "read " + file->name() + ": " + std::to_string(file->size()) +
                                         " bytes, expected a list of class names of at most " +
                                         std::to_string(kMostBytes));
    std::string text(static_cast<std::size_t>(file->size()), '\0');
    file->read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return parse_class_names(text, layout.classes, file->name());
  }
  std::vector<std::string> numbers;
  for (int i = 0; i < layout.classes; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

bool lies_there(const std::string& path) {
  return is_url(path) ? find_remote_bytes(path) != nullptr : fs::exists(path);
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
  const std::string path = is_url(source.path) ? source.path.substr(0, source.path.find('?')) : source.path;
  return source.files.size() == 1 && source.first_path == source.path && path.ends_with(".bin");
}

std::shared_ptr<const Dataset> open_cifar(const Source& source, const std::string& split) {
  const std::string shown = shown_name(source.text);
  if (!source.folder) {
    const std::string& path = source.path;
    const std::size_t end = is_url(path) ? path.find('?') : std::string::npos;
    const std::size_t base = path.rfind('/', end) + 1;
    const std::string name = path.substr(base, end == std::string::npos ? end : end - base);
    const CifarLayout& layout = layout_of_file(source, name);
    const bool test = name == "test_batch.bin" || name == "test.bin";
    if (!split.empty() && split != (test ? "test" : "train")) {
      throw Error(ErrorKind::kArgument, "open " + shown + ": one file is one split, '" + split +
                                            "' cannot be chosen from it; give its folder");
    }
    const std::string folder = path.substr(0, base);
    // A URL's query may be good for this file alone, so nothing beside it is asked for.
    const bool alone = end != std::string::npos;
    return std::make_shared<CifarBinary>(
        layout, std::vector{path},
        class_names(folder, layout, [&](const std::string& beside) { return !alone && lies_there(folder + beside); }));
  }

  const std::string folder = source.path + (source.path.ends_with('/') ? "" : "/");
  const CifarFiles ten = find_10(source.listing.files);
  const CifarFiles hundred = find_100(source.listing.files);
  if (any(ten) && any(hundred)) {
    throw Error(ErrorKind::kInput, "open " + shown + ": it holds both CIFAR-10 and CIFAR-100 files; found " +
                                       describe(source.listing) + "; give one file, or a folder of one of them");
  }
  const CifarFiles& found = any(ten) ? ten : hundred;
  refuse_hole(found, shown);
  if (!split.empty() && split != "train" && split != "test") {
    throw Error(ErrorKind::kArgument,
                "open " + shown + ": no split '" + split + "', " + found.layout->name + " has train and test");
  }
  std::vector<std::string> files;
  const auto take = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) files.push_back(folder + name);
  };
  if (split != "test") take(found.train);
  if (split != "train") take(found.test);
  if (files.empty()) {
    throw Error(ErrorKind::kInput,
                "open " + shown + ": no file of the split '" + split + "'; found " + describe(source.listing));
  }
  return std::make_shared<CifarBinary>(
      *found.layout, files,
      class_names(folder, *found.layout, [&](const std::string& name) { return has(source.listing.files, name); }));
}

}  // namespace unstarve
