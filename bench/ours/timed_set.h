#pragma once
// A dataset whose reads sleep for a given time, to measure scheduling without computation.
//
// Fields: image (8 x 8 raw pixels, all equal). Threads: as Dataset.

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve::bench {

class TimedSet final : public Dataset {
 public:
  using Time = std::chrono::nanoseconds;
  // time(id): the duration of read(id).
  TimedSet(std::uint64_t samples, std::function<Time(std::uint64_t id)> time)
      : samples_(samples), time_(std::move(time)), pixels_(kSide * kSide * kChannels) {}

  [[nodiscard]] std::string format() const override { return "timed"; }
  [[nodiscard]] std::uint64_t size() const override { return samples_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return samples_ * pixels_.size(); }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    return {.file = "timed", .number = id};
  }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    std::this_thread::sleep_for(time_(id));
    record.values.assign(1, {});
    record.values[0].pixels = {pixels_.data(), kSide, kSide, kSide * kChannels, kChannels, 1};
  }

 private:
  static constexpr int kSide = 8;
  std::uint64_t samples_;
  std::function<Time(std::uint64_t)> time_;
  std::vector<std::uint8_t> pixels_;
  std::vector<Field> fields_{{"image", FieldKind::kPixels}};
  std::vector<std::string> classes_;
};

}  // namespace unstarve::bench
