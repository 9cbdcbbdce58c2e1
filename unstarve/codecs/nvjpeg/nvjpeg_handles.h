#pragma once
// nvJPEG's objects for one decoder: its handle, the state of a batch and a parsed header.
//
// Ownership: owns the three objects; borrows the functions. Threads: one at a time.
// Failure:   Error(kMissing) if nvJPEG finds no device or no hardware decoder, Error(kMemory), Error(kInternal).

#include <string>

#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"

namespace unstarve {

class NvjpegHandles {
 public:
  // `backend`: nvjpegBackend_t; `name`: for the error.
  NvjpegHandles(const NvjpegLibrary& library, int backend, const char* name);
  ~NvjpegHandles();
  NvjpegHandles(const NvjpegHandles&) = delete;
  NvjpegHandles& operator=(const NvjpegHandles&) = delete;

  [[nodiscard]] void* decoder() const { return decoder_; }
  [[nodiscard]] void* state() const { return state_; }
  [[nodiscard]] void* header() const { return header_; }

 private:
  const nvjpeg::Functions& f_;
  void* decoder_ = nullptr;
  void* state_ = nullptr;
  void* header_ = nullptr;  // nvjpegJpegStream_t
};

namespace nvjpeg {

// Throws Error(kMemory) or Error(kInternal) unless the status is success. `what`: the action, for the message.
void check(Status status, const char* what);

}  // namespace nvjpeg

}  // namespace unstarve
