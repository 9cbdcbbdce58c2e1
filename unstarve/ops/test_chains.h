#pragma once
// For tests: a chain of operations run on the host and by the kernels.

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/ops/gpu/batch_recorder.h"
#include "unstarve/ops/gpu/host_run.h"
#include "unstarve/ops/gpu/packet.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/ops/test_support.h"

namespace unstarve::testing {

struct Chain {
  std::vector<OpSpec> specs;
  std::vector<std::unique_ptr<Operation>> operations;

  Chain() = default;
  explicit Chain(std::vector<OpSpec> all) : specs(std::move(all)) {
    for (const OpSpec& spec : specs) operations.push_back(make_operation(spec));
  }
};

// Keys of a sample's draws.
struct Key {
  std::uint64_t seed = 5;
  std::uint32_t draw = 2;
  std::uint64_t id = 0;
};

// Runs the chain as the loader's worker does.
inline Frame run_operations(const Chain& chain, Frame frame, const Key& key, Scratch& scratch) {
  for (std::size_t i = 0; i < chain.operations.size(); ++i) {
    Random random(key.seed, key.draw, key.id, static_cast<std::uint32_t>(i));
    frame.crop(chain.operations[i]->select(frame.size(), random));
    chain.operations[i]->apply(frame, random, scratch);
  }
  return frame;
}

// The constants with which Storer computes its values.
inline gpu::Output output_of(const StoreFormat& format, Size size, void* pixels) {
  gpu::Output output = gpu::make_output(format);
  output.size = size;
  output.pixels = pixels;
  return output;
}

// Runs a chain on one image on the host and with the kernels, to uint8 rows, and compares the results.
class HostAndDevice {
 public:
  bool equal(const Chain& chain, const PixelView& pixels, const Key& key,
             gpu::TeamOrder order = gpu::TeamOrder::kForwards) {
    const Frame frame = run_operations(chain, Frame(pixels), key, scratch_);
    size_ = frame.size();
    const StoreFormat format{ElementType::kUint8, Layout::kNhwc, {}};
    const Storer storer(format);
    host_.resize(storer.sample_bytes(size_));
    storer.store(frame, host_.data());

    BatchRecorder recorder(chain.specs, chain.operations, size_);
    recorder.add({0, pixels.size(), pixels.row_stride, pixels.pixel_stride, pixels.channel_stride}, key.seed, key.draw,
                 key.id);
    recording_ = recorder.recording();
    packet_.reserve_discard(gpu::packet_bytes(recording_));
    gpu::write_packet(recording_, packet_.data());
    memory_.reserve_discard(static_cast<std::size_t>(recording_.scratch.bytes()));
    device_.assign(host_.size(), 0xEE);
    gpu::run_on_host(gpu::read_packet(recording_, packet_.data()), {pixels.data, memory_.data()},
                     output_of(format, size_, device_.data()), order);
    return host_ == device_;
  }
  [[nodiscard]] const Recording& recording() const { return recording_; }
  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] const std::vector<std::uint8_t>& made() const { return host_; }

 private:
  Scratch scratch_;
  Size size_;
  Recording recording_;
  AlignedBytes packet_, memory_;
  std::vector<std::uint8_t> host_, device_;
};

}  // namespace unstarve::testing
