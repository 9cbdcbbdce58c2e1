#pragma once
// What a plan has to know about the consumer of its batches.

#include <cstdint>

namespace unstarve {

enum class Consumer {
  kHost,        // takes batches in the spec's output format, on the host
  kNormalises,  // copies uint8 batches to a device and normalises them there
};

// Memory that the consumer holds on a device for batches, and whether the device decodes.
struct OnDevice {
  std::uint64_t per_value = 0;  // bytes per value of a batch (3 x height x width values per sample)
  std::uint64_t fixed = 0;      // bytes besides
  bool decodes = false;         // some samples are delivered as files (device/decode_balance.h)
};

// How the plan will be run.
struct RunOptions {
  int usable_cores = 1;  // execution.threads: 0 stands for these
  Consumer consumer = Consumer::kHost;
  std::uint32_t epochs = 0;  // 0: unknown or many; a cache pays off from the second epoch on
  bool grow = false;         // batch slots may be added during the run, which needs fewer at the start
  OnDevice on_device{};
};

}  // namespace unstarve
