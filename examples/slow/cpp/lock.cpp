// Four threads decode JPEG files, but a mutex lets only one of them work.
//
// Cause:  a thread holds the mutex of the list of files while it decodes, not only while it takes a name.
// Effect: three threads wait for the mutex; one core is idle.
// Fix:    release the mutex before decoding.

#include <cstdio>  // jpeglib.h requires it

#include <jpeglib.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "run.h"

namespace {

constexpr int kThreads = 4, kBatch = 32;
constexpr std::size_t kQueue = 64;

struct Sample {
  std::vector<float> features;
  int label;
};

Sample decode(const std::string& path, int label) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("open " + path + ": failed");
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_stdio_src(&jpeg, file);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  std::vector<std::uint8_t> pixels(3UL * jpeg.output_width * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    std::uint8_t* row = &pixels[3UL * jpeg.output_width * jpeg.output_scanline];
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  Sample sample{
      Classifier::features_of(pixels.data(), static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height)),
      label};
  jpeg_destroy_decompress(&jpeg);
  std::fclose(file);
  return sample;
}

// The files of FOLDER/photos with their classes, which threads take in turn.
class Files {
 public:
  explicit Files(const std::string& folder) {
    int label = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/photos")) {
      for (const auto& file : std::filesystem::directory_iterator(entry)) names_.emplace_back(file.path(), label);
      ++label;
    }
    if (names_.empty()) throw std::runtime_error("read " + folder + ": no photographs; prepare it by common.py");
  }
  Sample next(bool fixed) {
    std::unique_lock lock(mutex_);
    const auto& [path, label] = names_[taken_++ % names_.size()];
    if (fixed) lock.unlock();
    return decode(path, label);
  }

 private:
  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::vector<std::pair<std::string, int>> names_;
};

class Queue {
 public:
  void put(Sample sample, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return samples_.size() < kQueue; })) return;
    samples_.push_back(std::move(sample));
    changed_.notify_all();
  }
  Sample take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !samples_.empty(); });
    Sample sample = std::move(samples_.front());
    samples_.pop_front();
    changed_.notify_all();
    return sample;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Sample> samples_;
};

void train(int argc, char** argv) {
  Run run(argc, argv);
  Files files(run.data);
  Queue queue;
  Classifier classifier;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) queue.put(files.next(run.fixed), stop);
    });
  }
  while (!run.is_over()) {
    for (int i = 0; i < kBatch; ++i) {
      const Sample sample = queue.take();
      classifier.train(sample.features, sample.label);
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
    std::fprintf(stderr, "lock: %s\n", error.what());
    return 1;
  }
}
