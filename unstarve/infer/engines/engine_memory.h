#pragma once
// Inputs and outputs of the requests of an engine, in memory that two processes share.
//
// Ownership: owns the mapping and borrows the file, which a child process inherits.
// Threads:   each request by one thread at a time. Failure: Error(kIo).

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"

namespace unstarve {

// Lengths in values of float32.
struct EngineMemoryLayout {
  std::size_t input = 0, output = 0;
  int requests = 0;
  [[nodiscard]] std::size_t bytes() const {
    return (input + output) * static_cast<std::size_t>(requests) * sizeof(float);
  }
};

// An empty file in memory, with a descriptor that child processes inherit until it is closed to them.
inline FileDescriptor make_engine_file() {
  FileDescriptor file(::memfd_create("unstarve-engine", 0));
  if (!file.valid()) throw io_error("create", "memory of an engine", errno);
  return file;
}

// Children that are started later do not inherit the file.
inline void close_to_children(const FileDescriptor& file) {
  if (::fcntl(file.get(), F_SETFD, FD_CLOEXEC) != 0) throw io_error("close", "memory of an engine", errno);
}

// Gives the file the size of the layout, which frees what larger ones have used. Nothing may be in flight.
inline void resize_engine_file(int file, const EngineMemoryLayout& layout) {
  if (::ftruncate(file, static_cast<off_t>(layout.bytes())) != 0)
    throw io_error("resize", "memory of an engine", errno);
}

class EngineMemory {
 public:
  // Maps the file, which has the size of the layout.
  EngineMemory(int file, const EngineMemoryLayout& layout) : layout_(layout) {
    void* const begin = ::mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (begin == MAP_FAILED) throw io_error("map", "memory of an engine", errno);
    begin_ = static_cast<float*>(begin);
  }
  ~EngineMemory() { ::munmap(begin_, layout_.bytes()); }
  EngineMemory(const EngineMemory&) = delete;
  EngineMemory& operator=(const EngineMemory&) = delete;

  [[nodiscard]] const EngineMemoryLayout& layout() const { return layout_; }
  [[nodiscard]] std::span<float> input(int request) const {
    return {begin_ + static_cast<std::size_t>(request) * (layout_.input + layout_.output), layout_.input};
  }
  [[nodiscard]] std::span<float> output(int request) const {
    return {input(request).data() + layout_.input, layout_.output};
  }

 private:
  EngineMemoryLayout layout_;
  float* begin_ = nullptr;
};

}  // namespace unstarve
