#include "unstarve/ops/gpu/batch_runner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "unstarve/ops/gpu/host_run.h"
#include "unstarve/ops/gpu/launch.h"
#include "unstarve/ops/gpu/packet.h"

namespace unstarve {
namespace gpu {
namespace {

constexpr std::int32_t kPixelThreads = 256;
// Pixels per thread, so that the start of a block is amortised.
constexpr std::int64_t kPixelsPerThread = 4;
// A multiprocessor holds two teams of this size at 64 registers per thread.
constexpr std::int32_t kTeamThreads = 512;
constexpr std::int32_t kTeamsPerMultiprocessor = 2;

}  // namespace

Launch choose_launch(const Recording& recording, Size output, int multiprocessors) {
  Launch launch;
  const auto samples = static_cast<std::int64_t>(recording.samples.size());
  launch.teams = !recording.single_pass;
  if (launch.teams) {
    launch.threads = kTeamThreads;
    launch.blocks =
        static_cast<std::int32_t>(std::min(samples, std::int64_t{multiprocessors} * kTeamsPerMultiprocessor));
    launch.scratch_bytes = recording.scratch.bytes() * launch.blocks;
  } else {
    launch.threads = kPixelThreads;
    const std::int64_t pixels = std::int64_t{output.width} * output.height;
    constexpr std::int64_t kBlockPixels = kPixelThreads * kPixelsPerThread;
    launch.blocks_per_sample = static_cast<std::int32_t>((pixels + kBlockPixels - 1) / kBlockPixels);
  }
  return launch;
}

}  // namespace gpu

BatchRunner::BatchRunner(Device& device) : device_(device) {}

BatchRunner::~BatchRunner() {
  try {
    wait_for_all();
  } catch (...) {  // the call that waits for the stream reports it
  }
}

void BatchRunner::wait_for_all() {
  for (Packet& packet : packets_) {
    if (packet.used) packet.used->wait();
  }
}

void BatchRunner::reserve(std::size_t packet_bytes, std::size_t scratch_bytes) {
  // Half more than needed, so that batches of similar size soon stop allocating.
  if (!packets_[0].pinned || packets_[0].pinned->bytes() < packet_bytes) {
    wait_for_all();
    packets_ = {};                 // before the larger ones, which may need this memory
    std::array<Packet, 2> larger;  // both packets or none: an allocation may fail
    for (Packet& packet : larger) {
      packet.pinned = device_.allocate_pinned(packet_bytes + packet_bytes / 2);
      packet.on_device = device_.allocate(packet_bytes + packet_bytes / 2);
    }
    packets_ = std::move(larger);
  }
  if (scratch_bytes > 0 && (!scratch_ || scratch_->bytes() < scratch_bytes)) {
    wait_for_all();
    scratch_.reset();
    scratch_ = device_.allocate(scratch_bytes + scratch_bytes / 2);
  }
}

void BatchRunner::run(const Recording& recording, const std::uint8_t* source, const gpu::Output& output,
                      Stream& stream) {
  if (recording.samples.empty()) return;
  const std::size_t bytes = gpu::packet_bytes(recording);
  const bool host = device_.is_host();
  gpu::Launch launch = gpu::choose_launch(recording, output.size, host ? 1 : gpu::cuda_multiprocessors(stream));
  reserve(bytes, static_cast<std::size_t>(launch.scratch_bytes));

  Packet& packet = packets_[next_];
  next_ = 1 - next_;
  if (packet.used) packet.used->wait();
  gpu::write_packet(recording, packet.pinned->data());
  // The batch before may be in another stream, and use the same scratch memory.
  const Packet& last = packets_[next_];
  if (launch.scratch_bytes > 0 && last.used) stream.wait_for(*last.used);
  try {
    device_.copy_to_device(packet.on_device->data(), packet.pinned->data(), bytes, stream);
    const gpu::BatchProgram program = gpu::read_packet(recording, packet.on_device->data());
    const gpu::BatchMemory memory{source, scratch_ ? scratch_->data() : nullptr};
    if (host) {
      gpu::run_on_host(program, memory, output);
    } else {
      gpu::launch_cuda(launch, program, memory, output, stream);
    }
    packet.used = stream.record();
  } catch (...) {
    try {  // the copy may still read the packet
      packet.used = stream.record();
    } catch (...) {  // the device no longer works
    }
    throw;
  }
}

}  // namespace unstarve
