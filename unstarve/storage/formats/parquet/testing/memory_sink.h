#pragma once
// A ByteSink that stores the bytes in memory and can fail at a limit. Threads: one.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve::testing {

class MemorySink final : public ByteSink {
 public:
  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override {
    if (bytes_.size() + bytes.size() > limit_) throw Error(ErrorKind::kIo, "write memory: no space left");
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  [[nodiscard]] std::uint64_t position() const noexcept override { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void limit(std::size_t bytes) { limit_ = bytes; }

 private:
  std::string bytes_;
  std::size_t limit_ = SIZE_MAX;
};

}  // namespace unstarve::testing
