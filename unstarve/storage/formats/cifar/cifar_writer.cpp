#include "unstarve/storage/formats/cifar/cifar_writer.h"

#include <algorithm>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/formats/cifar/cifar.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Encodes records as CIFAR-10 bytes; one encoder per thread.
class RecordEncoder {
 public:
  explicit RecordEncoder(const Dataset& data)
      : data_(data),
        encoded_(data.field_index(FieldKind::kEncodedImage)),
        pixels_(data.field_index(FieldKind::kPixels)),
        label_(data.field_index(FieldKind::kLabel)) {}

  void encode(std::uint64_t id, char* out) {
    data_.read(id, record_);
    const PixelView view = image(id);
    if (view.size() != Size{kCifarSide, kCifarSide}) {
      throw Error(ErrorKind::kInput, "write CIFAR-10: " + data_.location(id) + " is " + std::to_string(view.width) +
                                         " x " + std::to_string(view.height) + " pixels; expected 32 x 32");
    }
    *out++ = static_cast<char>(record_.values[static_cast<std::size_t>(label_)].integer);
    for (int c = 0; c < kChannels; ++c) {
      for (int y = 0; y < kCifarSide; ++y) {
        for (int x = 0; x < kCifarSide; ++x) *out++ = static_cast<char>(view.at(x, y, c));
      }
    }
  }

 private:
  PixelView image(std::uint64_t id) {
    if (pixels_ >= 0) return record_.values[static_cast<std::size_t>(pixels_)].pixels;
    try {
      decoder_.open(record_.values[static_cast<std::size_t>(encoded_)].bytes);
      decoder_.decode({}, image_);
    } catch (const Error& error) {
      throw Error(error.kind(), "write CIFAR-10: decode " + data_.location(id) + ": " + error.what());
    }
    return image_.view();
  }

  const Dataset& data_;
  int encoded_;
  int pixels_;
  int label_;
  RecordBuffer record_;
  Decoder decoder_;
  Image image_;
};

void check_fits(const Dataset& data, std::uint64_t max, const char* what) {
  if (data.field_index(FieldKind::kLabel) < 0) {
    throw Error(ErrorKind::kArgument, "write CIFAR-10: the " + data.format() + " has no labels");
  }
  if (data.classes().size() > static_cast<std::size_t>(kCifar10.classes)) {
    throw Error(ErrorKind::kArgument,
                "write CIFAR-10: " + std::to_string(data.classes().size()) + " classes; the format holds at most 10");
  }
  if (data.size() > max) {
    throw Error(ErrorKind::kArgument, "write CIFAR-10: " + std::to_string(data.size()) + " " + what +
                                          " images; the format holds at most " + std::to_string(max));
  }
}

// Ten names, as readers expect; classes that the data does not have are named by their numbers.
std::string meta_text(const std::vector<std::string>& classes) {
  std::string text;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kCifar10.classes); ++i) {
    text += (i < classes.size() ? classes[i] : std::to_string(i)) + "\n";
  }
  return text;
}

}  // namespace

std::string encode_cifar10(const Dataset& data, std::uint64_t first, std::uint64_t end, int threads) {
  constexpr std::size_t kRecord = kCifar10.record_bytes();
  constexpr std::uint64_t kChunk = 256;  // a few milliseconds of decoding
  std::string bytes((end - first) * kRecord, '\0');
  ThreadPool pool(threads);
  for (std::uint64_t begin = first; begin < end; begin += kChunk) {
    pool.submit([&, begin] {
      RecordEncoder encoder(data);
      for (std::uint64_t id = begin; id < std::min(begin + kChunk, end); ++id) {
        encoder.encode(id, bytes.data() + (id - first) * kRecord);
      }
    });
  }
  pool.wait();
  return bytes;
}

void write_cifar10(const Dataset& train, const Dataset* test, const fs::path& folder, int threads) {
  check_fits(train, kCifarRecordsPerFile * kCifarTrainingFiles, "training");
  if (test != nullptr) {
    check_fits(*test, kCifarRecordsPerFile, "test");
    if (test->classes() != train.classes()) {
      throw Error(ErrorKind::kArgument, "write CIFAR-10: the training and test sets have different classes");
    }
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw io_error("create folder", folder.string(), failed.value());
  // A leftover batch of a larger set would be read as part of this one.
  for (std::uint64_t batch = 1; batch <= kCifarTrainingFiles; ++batch) {
    const fs::path file = folder / ("data_batch_" + std::to_string(batch) + ".bin");
    if (fs::exists(file)) throw Error(ErrorKind::kArgument, "write CIFAR-10: " + file.string() + " already exists");
  }
  if (test != nullptr)
    write_file_atomically(folder / "test_batch.bin", encode_cifar10(*test, 0, test->size(), threads));
  write_file_atomically(folder / "batches.meta.txt", meta_text(train.classes()));
  for (std::uint64_t first = 0, batch = 1; first < train.size(); first += kCifarRecordsPerFile, ++batch) {
    write_file_atomically(folder / ("data_batch_" + std::to_string(batch) + ".bin"),
                          encode_cifar10(train, first, std::min(first + kCifarRecordsPerFile, train.size()), threads));
  }
}

}  // namespace unstarve
