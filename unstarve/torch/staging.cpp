#include "unstarve/torch/staging.h"

#include <chrono>
#include <exception>

#include <ATen/DeviceAccelerator.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

torch::ScalarType element_type(ElementType type) {
  switch (type) {
    case ElementType::kUint8: return torch::kUInt8;
    case ElementType::kBfloat16: return torch::kBFloat16;
    case ElementType::kFloat16: return torch::kHalf;
    case ElementType::kFloat32: break;
  }
  return torch::kFloat32;
}

void check(const HostBatch& batch) {
  if ((batch.pixels == nullptr && batch.gather.empty()) || batch.labels.empty() || batch.size.width <= 0 ||
      batch.size.height <= 0) {
    throw Error(ErrorKind::kArgument,
                fmt::format("loading a batch: found {} samples of {} x {} at {}; expected at least one",
                            batch.labels.size(), batch.size.width, batch.size.height, fmt::ptr(batch.pixels)));
  }
  if (batch.targets.size() % batch.labels.size() != 0) {
    throw Error(ErrorKind::kArgument,
                fmt::format("loading a batch: found {} values of targets for {} samples; expected "
                            "as many for each",
                            batch.targets.size(), batch.labels.size()));
  }
}

// A tensor of the batch's memory, which keeps its owner. libtorch has no read-only views; nothing writes through these.
template <class T>
torch::Tensor view(const T* data, std::size_t elements, torch::ScalarType type, const HostBatch& batch) {
  const auto size = static_cast<std::int64_t>(elements);
  auto* const address = const_cast<T*>(data);
  if (!batch.owner) return torch::from_blob(address, {size}, torch::dtype(type));
  return torch::from_blob(
      address, {size}, [owner = batch.owner](void*) {}, torch::dtype(type));
}

torch::Tensor as_images(const torch::Tensor& flat, const HostBatch& batch) {
  const auto samples = static_cast<std::int64_t>(batch.labels.size());
  if (batch.format.layout == Layout::kNhwc) {
    return flat.view({samples, batch.size.height, batch.size.width, kChannels}).permute({0, 3, 1, 2});
  }
  return flat.view({samples, kChannels, batch.size.height, batch.size.width});
}

}  // namespace

Staging::Staging(torch::Device device) : device_(device), images_(device) {
  if (device.is_cpu()) return;
  copies_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/false);
  for (Slot& slot : slots_) {
    slot.started.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    slot.ready.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    slot.free.emplace(device.type());
  }
}

Staging::~Staging() {
  // Device and host memory must not be released while a copy runs.
  try {
    if (copies_) copies_->synchronize();
  } catch (const std::exception&) {  // an error of the device, which an earlier call has reported
  }
}

void Staging::load(const HostBatch& batch) {
  check(batch);
  const auto begin = std::chrono::steady_clock::now();
  const auto samples = static_cast<std::int64_t>(batch.labels.size());
  const auto image =
      static_cast<std::size_t>(kChannels * batch.size.height) * static_cast<std::size_t>(batch.size.width);
  const torch::Tensor labels = view(batch.labels.data(), batch.labels.size(), torch::kInt64, batch);
  torch::Tensor pixels, numbers, targets;
  if (batch.gather.empty())
    pixels = view(batch.pixels, batch.labels.size() * image, element_type(batch.format.type), batch);
  else
    numbers = view(batch.gather.data(), batch.gather.size(), torch::kInt32, batch);
  if (!batch.targets.empty()) targets = view(batch.targets.data(), batch.targets.size(), torch::kFloat32, batch);

  if (!copies_) {
    if (targets.defined()) targets = targets.view({samples, -1});
    if (numbers.defined()) pixels = gather(slots_[slot_], batch, numbers);
    current_ = {as_images(pixels, batch), labels, targets, batch.format.normalisation};
  } else {
    slot_ = 1 - slot_;
    Slot& slot = slots_[slot_];
    if (slot.free->was_marked_for_recording()) slot.free->block(*copies_);
    const c10::StreamGuard guard(*copies_);
    if (timing_) slot.started->record(*copies_);
    // Waits for the copies from the pinned memory of this slot, two batches ago.
    if (slot.ready->was_marked_for_recording()) slot.ready->synchronize();
    const torch::Tensor device_labels = copy_small(slot.labels, labels);
    if (targets.defined()) targets = copy_small(slot.targets, targets).view({samples, -1});
    if (numbers.defined()) {
      pixels = gather(slot, batch, copy_small(slot.gather, numbers));
    } else {
      torch::Tensor target = memory_for(slot, pixels.numel(), pixels.scalar_type());
      target.copy_(pixels, /*non_blocking=*/batch.pinned);
      pixels = target;
    }
    current_ = {as_images(pixels, batch), device_labels, targets, batch.format.normalisation};
    slot.ready->record(*copies_);
  }
  host_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Memory of the slot for pixels.
torch::Tensor Staging::memory_for(Slot& slot, std::int64_t elements, torch::ScalarType type) {
  if (!slot.pixels.defined() || slot.pixels.numel() < elements || slot.pixels.scalar_type() != type) {
    // Memory is released and allocated across streams, so both must be idle. Once per batch shape.
    if (!device_.is_cpu()) at::accelerator::synchronizeDevice(device_.index());
    slot.pixels = torch::empty({elements}, torch::dtype(type).device(device_));
  }
  return slot.pixels.narrow(0, 0, elements);
}

torch::Tensor Staging::gather(Slot& slot, const HostBatch& batch, const torch::Tensor& numbers) {
  const auto samples = static_cast<std::int64_t>(batch.labels.size());
  const std::int64_t height = batch.size.height, width = batch.size.width;
  torch::Tensor pixels =
      memory_for(slot, samples * height * width * kChannels, torch::kUInt8).view({samples, height, width, kChannels});
  images_.gather(numbers, samples, batch.size, pixels);
  return pixels.view(-1);
}

torch::Tensor Staging::copy_small(SmallCopy& copy, const torch::Tensor& flat) {
  if (!copy.device.defined() || copy.device.numel() < flat.numel()) {
    at::accelerator::synchronizeDevice(device_.index());
    copy.device = torch::empty({flat.numel()}, flat.options().device(device_));
    copy.pinned = torch::empty({flat.numel()}, flat.options().pinned_memory(true));
  }
  torch::Tensor pinned = copy.pinned.narrow(0, 0, flat.numel());
  pinned.copy_(flat);
  torch::Tensor target = copy.device.narrow(0, 0, flat.numel());
  target.copy_(pinned, /*non_blocking=*/true);
  return target;
}

const Staging::Current& Staging::current() {
  if (!current_.pixels.defined())
    throw Error(ErrorKind::kArgument, "training: step requested before load(); load a batch first");
  if (copies_) slots_[slot_].ready->block(at::accelerator::getCurrentStream(device_.index()));
  return current_;
}

void Staging::used() {
  if (!copies_) return;
  Slot& slot = slots_[slot_];
  slot.free->record(at::accelerator::getCurrentStream(device_.index()));
  slot.ready->synchronize();
}

double Staging::copy_ms() {
  if (!copies_) return host_ms_;
  Slot& slot = slots_[slot_];
  if (!slot.started->was_marked_for_recording()) return 0;
  slot.ready->synchronize();
  return slot.started->elapsedTime(*slot.ready);
}

}  // namespace unstarve
