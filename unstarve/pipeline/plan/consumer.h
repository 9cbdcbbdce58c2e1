#pragma once
// The conditions under which a plan runs: cores, consumer, number of epochs.

#include <cstdint>

namespace unstarve {

enum class Consumer {
  kHost,        // uses batches in the spec's output format, on the host
  kNormalises,  // copies uint8 batches to a device and normalises them there
};

// The device of the consumer.
struct OnDevice {
  std::uint64_t per_value = 0;  // bytes that it holds per value of a batch (3 x height x width values per sample)
  std::uint64_t fixed = 0;      // bytes that it holds for any batch size
  bool decodes = false;         // some samples are delivered as files (device/decode_balance.h)
};

struct RunOptions {
  int usable_cores = 1;  // the default of execution.threads
  Consumer consumer = Consumer::kHost;
  std::uint32_t epochs = 0;  // 0: unknown or many; caches save time from the second epoch on
  bool grow = false;         // batch slots may be added during the run, so fewer are allocated at the start
  OnDevice on_device{};
};

}  // namespace unstarve
