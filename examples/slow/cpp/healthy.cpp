// A healthy program: two threads train a classifier each, on records in memory. --fixed changes nothing.

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "run.h"

namespace {

constexpr int kSide = 224, kRecord = 37 * 4096, kThreads = 2;

void train(int argc, char** argv) {
  Run run(argc, argv);
  std::ifstream file(run.data + "/records.bin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < kRecord) throw std::runtime_error("read " + run.data + ": no records; prepare it by common.py");
  const std::size_t records = bytes.size() / kRecord;
  std::atomic<std::int64_t> trained = 0;
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread](const std::stop_token& stop) {
      Classifier classifier;
      for (std::size_t i = thread; !stop.stop_requested(); i += kThreads) {
        const auto* record = reinterpret_cast<const std::uint8_t*>(&bytes[i % records * kRecord]);
        classifier.train(Classifier::features_of(record, kSide, kSide), record[kRecord - 1]);
        ++trained;
      }
    });
  }
  std::int64_t counted = 0;
  while (!run.is_over()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::int64_t now = trained;
    run.count(now - counted);
    counted = now;
  }
  run.print_result();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "healthy: %s\n", error.what());
    return 1;
  }
}
