// Records of pixels are read from the disk in blocks of 4 KB, one request at a time.
//
// Cause:  a record of 148 KB is 37 reads, each of which waits for the disk. O_DIRECT bypasses the page cache, as data
//         that is larger than memory does.
// Effect: the program waits for the disk and uses little CPU time.
// Fix:    read a record by one call.

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <random>

#include "run.h"

namespace {

constexpr int kSide = 224, kBlock = 4096, kRecord = 37 * kBlock, kBatch = 16;

void read_record(int file, std::int64_t record, std::uint8_t* to, int block) {
  for (int done = 0; done < kRecord; done += block) {
    if (pread(file, to + done, static_cast<std::size_t>(block), record * kRecord + done) != block)
      throw std::runtime_error("read records.bin: unexpected end; prepare the folder by common.py");
  }
}

void train(int argc, char** argv) {
  Run run(argc, argv);
  const std::string path = run.data + "/records.bin";
  int file = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (file < 0) file = open(path.c_str(), O_RDONLY);  // some file systems lack O_DIRECT
  if (file < 0) throw std::runtime_error("open " + path + ": not found; prepare the folder by common.py");
  const std::int64_t records = lseek(file, 0, SEEK_END) / kRecord;
  const std::unique_ptr<std::uint8_t, void (*)(void*)> record(
      static_cast<std::uint8_t*>(std::aligned_alloc(kBlock, kRecord)), std::free);
  Classifier classifier;
  std::mt19937_64 random(0);
  while (!run.is_over()) {
    for (int i = 0; i < kBatch; ++i) {
      const auto chosen = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(records));
      read_record(file, chosen, record.get(), run.fixed ? kRecord : kBlock);
      classifier.train(Classifier::features_of(record.get(), kSide, kSide), record.get()[kRecord - 1]);
    }
    run.count(kBatch);
  }
  run.print_result();
  close(file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "small_reads: %s\n", error.what());
    return 1;
  }
}
