// A program with the steps of a trainer: it reads a batch, adds up its samples in two threads, and updates weights.
//
//   trainer FILE SECONDS WORK VARIATION [ENDS]      WORK: of a step, 1 is about 2 ms; it varies by the share VARIATION
//
// Prints the number of steps, and their median in seconds. Writes the times of their ends to the file ENDS: after
// the last one, so that steps do not write.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBatch = 16, kSample = 65536;

float sum_of(const std::vector<char>& batch, int times) {
  float sum = 0;
  for (int i = 0; i < times; ++i)
    for (std::size_t k = 0; k < 4 * kSample; k += 2) sum = sum * 0.999F + static_cast<float>(batch[k]);
  return sum;
}

// A thread that adds up what it is given.
class Helper {
 public:
  void begin(const std::vector<char>& batch, int times) {
    const std::lock_guard lock(mutex_);
    batch_ = &batch;
    times_ = times;
    changed_.notify_all();
  }
  float wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batch_ == nullptr; });
    return sum_;
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return batch_ != nullptr; })) {
      sum_ = sum_of(*batch_, times_);
      batch_ = nullptr;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  const std::vector<char>* batch_ = nullptr;
  int times_ = 0;
  float sum_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

}  // namespace

int main(int count, char** argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const double seconds = std::atof(argv[2]), work = std::atof(argv[3]), variation = std::atof(argv[4]);
  Helper helper;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> steps, ends;
  float weight = 0;
  const auto begin = Clock::now();
  for (auto before = begin; std::chrono::duration<double>(before - begin).count() < seconds;) {
    std::vector<char> batch(kBatch * kSample);
    for (std::size_t i = 0; i < kBatch; ++i) {
      file.read(&batch[i * kSample], kSample);
      if (!file) {
        file.clear();
        file.seekg(0);
      }
    }
    const int times = std::max(static_cast<int>(10 * work * (1 + variation * normal(random))), 1);
    helper.begin(batch, times / 2);
    weight += sum_of(batch, times / 3) + helper.wait() + sum_of(batch, times / 3);
    const auto now = Clock::now();
    steps.push_back(std::chrono::duration<double>(now - before).count());
    ends.push_back(std::chrono::duration<double>(now.time_since_epoch()).count());
    before = now;
  }
  if (count > 5) {
    std::ofstream file_of_ends(argv[5]);
    file_of_ends.precision(15);
    for (const double end : ends) file_of_ends << end << '\n';
  }
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  std::printf("%zu %.6f\n", steps.size(), steps[steps.size() / 2]);
  std::fprintf(stderr, "%g\n", static_cast<double>(weight));
}
