#include "unstarve/jobs/data/synth.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/random.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/storage/formats/synthetic/synthetic_image.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Identifies the generator in the marker file. Raised when drawing or encoding changes.
constexpr const char* kSynthMarker = "unstarve-synth.json";
constexpr int kGenerator = 1;
constexpr std::uint64_t kSynthChunk = 16;     // some ten milliseconds of photographs
constexpr std::uint32_t kFileStream = 0xF02;  // distinct from those of synthetic_image.cpp

struct FileLook {
  Size size;
  int quality = 95;
  ChromaSampling sampling = ChromaSampling::k444;
};

// Aspect ratio, quality and subsampling as in ImageNet: two thirds of its files have quality 96 and a longer side of
// 500; 76 % are 4:4:4, 20 % 4:2:0, the rest 4:2:2 and grey.
FileLook look_of(const SynthOptions& options, std::uint64_t id) {
  Random random(options.seed, 0, id, kFileStream);
  FileLook look;
  const double kind = random.uniform();
  const double proportion = random.uniform();
  const bool upright = random.uniform() < 0.2;
  look.sampling = kind < 0.76 ? ChromaSampling::k444 : kind < 0.97 ? ChromaSampling::k420 : ChromaSampling::k422;
  if (options.size <= 96) {
    look.size = {options.size, options.size};
    look.quality = 75 + static_cast<int>(random.below(14));  // about 0.9 KB per file, as in CIFAR
    return look;
  }
  const double ratio = proportion < 0.6 ? 0.75 : proportion < 0.9 ? 2.0 / 3 : 1.0;
  const int shorter = static_cast<int>(options.size * ratio + 0.5);
  look.size = upright ? Size{shorter, options.size} : Size{options.size, shorter};
  look.quality = random.uniform() < 0.65 ? 96 : 80 + static_cast<int>(random.below(16));
  return look;
}

void check_synth_options(const SynthOptions& options) {
  const auto reject = [](const std::string& what) { throw Error(ErrorKind::kArgument, "synth: " + what); };
  if (options.classes < 1 || options.classes > kSyntheticMaxClasses) {
    reject(fmt::format("{} classes; expected 1 to {}", options.classes, kSyntheticMaxClasses));
  }
  if (options.size < 8 || options.size > 8192) reject(fmt::format("size {}; expected 8 to 8192", options.size));
  const auto classes = static_cast<std::uint64_t>(options.classes);
  if (options.images < classes)
    reject(fmt::format("{} images; expected at least one for each of {} classes", options.images, options.classes));
  if (options.images >= kSyntheticTestBegin || options.test_images >= kSyntheticTestBegin)
    reject("too many images; expected fewer than 2^40");
}

// Describes the files; an equal marker means equal files.
nlohmann::json marker_of(const SynthOptions& options) {
  return {{"generator", kGenerator}, {"classes", options.classes}, {"images", options.images},
          {"size", options.size},    {"seed", options.seed},       {"test_images", options.test_images}};
}

// "found images 100, size 64; expected images 50, size 32": the keys that differ.
std::string difference(const nlohmann::json& found, const nlohmann::json& expected) {
  std::string of_found, of_expected;
  for (const auto& [key, value] : expected.items()) {
    const nlohmann::json other = found.value(key, nlohmann::json());
    if (other == value) continue;
    of_found += fmt::format("{}{} {}", of_found.empty() ? "" : ", ", key, json_text(other));
    of_expected += fmt::format("{}{} {}", of_expected.empty() ? "" : ", ", key, json_text(value));
  }
  return fmt::format("found {}; expected {}", of_found, of_expected);
}

// One part of the dataset, with images in <folder>/<class>/.
struct Part {
  fs::path folder;
  std::uint64_t begin = 0;  // id of the first sample
  std::uint64_t images = 0;
};

std::vector<Part> parts_of(const SynthOptions& options, const fs::path& folder) {
  if (options.test_images == 0) return {{folder, 0, options.images}};
  const auto classes = static_cast<std::uint64_t>(options.classes);
  const std::uint64_t test_begin = (kSyntheticTestBegin + classes - 1) / classes * classes;
  return {{folder / "train", 0, options.images}, {folder / "test", test_begin, options.test_images}};
}

fs::path file_in(const Part& part, const SynthOptions& options, std::uint64_t index) {
  const int label = synthetic_label({options.seed, options.classes}, part.begin + index);
  return part.folder / synthetic_class_name(label, options.classes) / fmt::format("{:05}.jpg", index);
}

void write_new_file(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) throw io_error("write", path.string(), errno);
  write_fully(file.get(), path.string(), 0, bytes);
}

// Consecutive images of one part.
struct SynthChunk {
  Part part;
  std::uint64_t begin = 0, end = 0;
};

// Draws and writes the images; returns their bytes.
std::uint64_t write_chunk(const SynthOptions& options, const SynthChunk& chunk) {
  std::uint64_t bytes = 0;
  Image image;
  for (std::uint64_t i = chunk.begin; i < chunk.end; ++i) {
    const FileLook look = look_of(options, chunk.part.begin + i);
    draw_synthetic({options.seed, options.classes}, chunk.part.begin + i, look.size, image);
    const std::vector<std::uint8_t> file = encode_jpeg(image.view(), look.quality, look.sampling);
    write_new_file(file_in(chunk.part, options, i), file);
    bytes += file.size();
  }
  return bytes;
}

// DIR.partial while it is written: locked against a second run, removed unless published.
class PartialFolder {
 public:
  PartialFolder(const fs::path& final_path, const std::string& marker) : final_(final_path), path_(final_path) {
    path_ += ".partial";
    std::error_code failed;
    if (fs::exists(path_, failed)) take_over();
    make_folders(path_);
    lock_ = FileDescriptor(::open((path_ / kSynthMarker).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_.valid()) throw io_error("write", (path_ / kSynthMarker).string(), errno);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) throw busy();
    if (::pwrite(lock_.get(), marker.data(), marker.size(), 0) != static_cast<ssize_t>(marker.size())) {
      const int reason = errno;
      remove();
      throw io_error("write", (path_ / kSynthMarker).string(), reason);
    }
  }
  ~PartialFolder() {
    if (!published_) remove();
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

  void publish() {
    // rename(2) replaces an empty folder and fails for a folder that was filled meanwhile.
    rename_to(path_, final_);
    published_ = true;
  }

 private:
  [[nodiscard]] Error busy() const {
    return Error(ErrorKind::kArgument, "synth: another run is writing " + path_.string());
  }

  // Removes only what an earlier run left.
  void take_over() {
    const FileDescriptor marker(::open((path_ / kSynthMarker).c_str(), O_RDONLY | O_CLOEXEC));
    if (!marker.valid()) {
      throw Error(ErrorKind::kArgument,
                  "synth: " + path_.string() + " exists, but not from an earlier run; move or remove it");
    }
    if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) throw busy();
    std::error_code failed;
    fs::remove_all(path_, failed);
    if (failed) throw io_error("remove", path_.string(), failed.value());
  }

  void remove() noexcept {
    std::error_code ignored;  // report the first error
    fs::remove_all(path_, ignored);
  }

  fs::path final_;
  fs::path path_;
  FileDescriptor lock_;
  bool published_ = false;
};

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".jpg") bytes += entry.file_size();
  }
  return bytes;
}

// Whether the folder contains this dataset. Throws if it contains anything else.
bool holds_same(const fs::path& folder, const nlohmann::json& marker) {
  std::error_code failed;
  const fs::file_status status = fs::status(folder, failed);
  if (!fs::exists(status)) return false;
  if (!fs::is_directory(status)) throw Error(ErrorKind::kArgument, "synth: " + folder.string() + " is not a folder");
  const bool empty = fs::is_empty(folder, failed);
  if (failed) throw io_error("read folder", folder.string(), failed.value());
  if (empty) return false;
  if (!fs::exists(folder / kSynthMarker)) {
    throw Error(ErrorKind::kArgument, "synth: " + folder.string() + " is not empty; use a new or empty folder");
  }
  const nlohmann::json found = try_parse_json(read_text_file(folder / kSynthMarker));
  if (found == marker) return true;
  if (!found.is_object())
    throw input_error("synth: {} is damaged; expected a description of the dataset", (folder / kSynthMarker).string());
  throw argument_error("synth: {} contains another synthetic dataset: {}; use another folder, or remove this one",
                       folder.string(), difference(found, marker));
}

}  // namespace

SynthResult run_synth(const fs::path& given, const SynthOptions& options, const Progress& progress) {
  check_synth_options(options);
  const fs::path folder = given.has_filename() ? given : given.parent_path();  // "photos/" is "photos"
  if (folder.empty()) throw Error(ErrorKind::kArgument, "synth: the folder name is empty");
  reject_url_as_folder("synth", given);
  SynthResult result;
  result.images = options.images + options.test_images;
  const nlohmann::json marker = marker_of(options);
  if (holds_same(folder, marker)) {
    result.already_there = true;
    result.bytes = bytes_below(folder);
    return result;
  }

  PartialFolder partial(folder, json_text(marker, 2) + "\n");
  std::vector<SynthChunk> chunks;
  for (const Part& part : parts_of(options, partial.path())) {
    for (int label = 0; label < options.classes; ++label)
      make_folders(part.folder / synthetic_class_name(label, options.classes));
    for (std::uint64_t first = 0; first < part.images; first += kSynthChunk)
      chunks.push_back({part, first, std::min(first + kSynthChunk, part.images)});
  }
  const int threads = options.threads > 0 ? options.threads : read_topology().usable();
  const OrderedWork work{chunks.size(), threads, static_cast<std::uint64_t>(2 * threads)};
  std::vector<std::uint64_t> bytes(work.window);
  ItemProgress done(progress, result.images, "images");
  run_in_order(
      work,
      [&]() -> OrderedWorker {
        return [&](std::uint64_t item, std::size_t slot) { bytes[slot] = write_chunk(options, chunks[item]); };
      },
      [&](std::uint64_t item, std::size_t slot) {
        result.bytes += bytes[slot];
        done.add(chunks[item].end - chunks[item].begin);
      });
  partial.publish();
  return result;
}

}  // namespace unstarve
