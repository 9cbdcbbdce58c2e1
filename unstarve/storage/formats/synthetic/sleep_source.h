#pragma once
// A dataset that sleeps before each record, to simulate slow storage. With sleeps of 5 ms one reader gets 200 records
// per second and eight readers get 1,600, on any machine.
//
// Fields:    image (raw pixels, planar), label = id % 10. Records of one id are equal.
// Ownership: owns one image; the clock must outlive it.
// Threads:   as Dataset; readers sleep concurrently.

#include <atomic>
#include <memory>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

struct SleepOptions {
  std::int64_t sleep_ns = 5'000'000;  // per read()
  std::uint64_t images = 100;
  int size = 32;  // side in pixels
  // On average one of `straggle_every` records, selected by a hash of its id, sleeps straggle_ns instead; 0: none.
  std::uint64_t straggle_every = 0;
  std::int64_t straggle_ns = 0;
  bool once = false;  // only the first read of a record sleeps: later ones find it in the page cache
};

inline constexpr std::uint64_t kMostImagesOnce = std::uint64_t{1} << 24;

class SleepSource final : public Dataset {
 public:
  // Throws Error(kArgument) for 0 images, a size below 1, a negative sleep time, or more than kMostImagesOnce images
  // with `once`.
  explicit SleepSource(SleepOptions options, Clock& clock = steady_clock());

  [[nodiscard]] std::string format() const override { return "sleep"; }
  [[nodiscard]] std::uint64_t size() const override { return options_.images; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override;
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    return {.file = "sleep", .number = id};
  }
  void read(std::uint64_t id, RecordBuffer& record) const override;

 private:
  [[nodiscard]] std::size_t plane() const { return static_cast<std::size_t>(options_.size) * options_.size; }

  SleepOptions options_;
  Clock& clock_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  mutable std::vector<std::atomic<bool>> read_;  // by id, with `once`
  std::vector<std::uint8_t> pixels_;             // record `id` begins at id % 256: neighbours differ
};

// "sleep:ms=5,images=100,size=32"; "us" for microseconds instead of "ms"; "straggle_every=100,straggle_ms=500" adds
// stragglers; with "once=1" only the first read of a record sleeps.
[[nodiscard]] bool recognises_sleep(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_sleep(const Source& source, const std::string& split);

}  // namespace unstarve
