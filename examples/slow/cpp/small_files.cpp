// A sample is a clip of 16 frames, each of which is a file of 12 KB.
//
// Cause:  every file is opened and read on its own, and waits for the disk. O_DIRECT bypasses the page cache, as data
//         that is larger than memory does.
// Effect: the program waits for the disk and uses little CPU time.
// Fix:    one file with all frames, of which 16 are read by one call.

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <random>

#include "run.h"

namespace {

constexpr int kSide = 64, kFrame = 3 * kSide * kSide, kFrames = 16, kFiles = 4096, kBatch = 16;

void read_at(const std::string& path, std::int64_t offset, std::uint8_t* to, std::size_t size) {
  int file = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (file < 0) file = open(path.c_str(), O_RDONLY);  // some file systems lack O_DIRECT
  const bool complete = file >= 0 && pread(file, to, size, offset) == static_cast<ssize_t>(size);
  close(file);
  if (!complete) throw std::runtime_error("read " + path + ": not found or too short; prepare the folder by common.py");
}

void read_clip(const Run& run, int first, std::uint8_t* to) {
  if (run.fixed) {
    read_at(run.data + "/small.bin", static_cast<std::int64_t>(first) * kFrame, to, kFrames * kFrame);
    return;
  }
  for (int frame = 0; frame < kFrames; ++frame) {
    char name[32];
    std::snprintf(name, sizeof name, "/small/%04d.raw", first + frame);
    read_at(run.data + name, 0, to + frame * kFrame, kFrame);
  }
}

void train(int argc, char** argv) {
  Run run(argc, argv);
  const std::unique_ptr<std::uint8_t, void (*)(void*)> clip(
      static_cast<std::uint8_t*>(std::aligned_alloc(4096, kFrames * kFrame)), std::free);
  Classifier classifier;
  std::mt19937_64 random(0);
  while (!run.is_over()) {
    for (int i = 0; i < kBatch; ++i) {
      const int number = static_cast<int>(random() % (kFiles / kFrames));
      read_clip(run, number * kFrames, clip.get());
      classifier.train(Classifier::features_of(clip.get(), kSide, kSide), number);
    }
    run.count(kBatch);
  }
  run.print_result();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "small_files: %s\n", error.what());
    return 1;
  }
}
