#pragma once
// Runs recorded batches on a device, in the order of a stream. Streams may change from batch to batch.
//
//   host:  recording ── write_packet ──▶ pinned packet ┐ copy
//   device:                                packet  ◀────┘     source pixels ── kernel ──▶ output pixels
//
// Two packets alternate: the host writes the packet of the next batch while the device works on the last one. On the
// host device the kernels run in the calling thread before run() returns; that is for tests, not for speed.
//
// Ownership: owns its packets and the teams' scratch memory, on the device and pinned; borrows everything else until
//            the stream has completed the batch.
// Memory:    grows if a batch needs more than any before it, which waits for the device; reserve() grows it beforehand.
//            Other batches allocate nothing but an event.
// Threads:   one at a time. Failure: Error(kMemory), Error(kInternal) with CUDA's message; an error within the kernel
//            is reported by the call that waits for the stream.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "unstarve/device/device.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program_recorder.h"

namespace unstarve {

namespace gpu {

// How the kernel of a batch is distributed over a device.
struct Launch {
  // A team per sample, with barriers and scratch memory; else any thread computes any pixel.
  bool teams = false;
  std::int32_t threads = 0;            // per block
  std::int32_t blocks = 0;             // teams: concurrent teams; each processes sample after sample
  std::int32_t blocks_per_sample = 1;  // otherwise
  std::int64_t scratch_bytes = 0;      // for all teams
};

// For a device with this number of multiprocessors. Pure.
[[nodiscard]] Launch choose_launch(const Recording& recording, Size output, int multiprocessors);

}  // namespace gpu

class BatchRunner {
 public:
  // `device` must outlive the runner.
  explicit BatchRunner(Device& device);
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  // Allocates for batches with this much packet and scratch memory.
  void reserve(std::size_t packet_bytes, std::size_t scratch_bytes);
  // `source` and `output.pixels` are device memory.
  void run(const Recording& recording, const std::uint8_t* source, const gpu::Output& output, Stream& stream);

 private:
  struct Packet {
    std::unique_ptr<Memory> pinned, on_device;
    std::unique_ptr<Event> used;  // after the last batch that read it
  };
  void wait_for_all();

  Device& device_;
  std::array<Packet, 2> packets_;
  std::unique_ptr<Memory> scratch_;
  std::size_t next_ = 0;
};

}  // namespace unstarve
