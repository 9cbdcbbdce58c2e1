#include "unstarve/torch/kept_images.h"

#include <algorithm>
#include <array>

#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// The parts of HostBatch::gather.
struct GatherParts {
  torch::Tensor images;   // n
  torch::Tensor rows;     // n x height
  torch::Tensor columns;  // n x width
};

GatherParts parts_of(const torch::Tensor& gather, const torch::Tensor& to) {
  const std::int64_t samples = to.size(0), height = to.size(1), width = to.size(2);
  return {gather.narrow(0, 0, samples), gather.narrow(0, samples, samples * height).view({samples, height}),
          gather.narrow(0, samples * (1 + height), samples * width).view({samples, width})};
}

}  // namespace

void KeptImages::reserve(std::int64_t count, Size size, const Rgb& border) {
  size_ = size;
  images_ = torch::Tensor();  // before memory for the new ones is allocated
  images_ =
      torch::empty({count, size.height + 1, size.width + 1, kChannels}, torch::dtype(torch::kUInt8).device(device_));
  const torch::Tensor colour = torch::tensor({border[0], border[1], border[2]}, torch::kUInt8).to(device_);
  images_.select(1, size.height).copy_(colour);
  images_.select(2, size.width).copy_(colour);
  finish();
}

// gather() runs on another stream.
void KeptImages::finish() const {
  if (!device_.is_cpu()) at::accelerator::synchronizeDevice(device_.index());
}

void KeptImages::keep(std::int64_t first, const HostBatch& batch) {
  const auto samples = static_cast<std::int64_t>(batch.labels.size());
  if (!images_.defined() || first < 0 || first + samples > images_.size(0) || batch.size != size_ ||
      batch.format.type != ElementType::kUint8 || batch.format.layout != Layout::kNhwc)
    throw Error(
        ErrorKind::kArgument,
        fmt::format("keeping images: found {} of {} x {} at {}; expected those that were reserved, as uint8 NHWC",
                    samples, batch.size.width, batch.size.height, first));
  const torch::Tensor pixels = torch::from_blob(const_cast<std::uint8_t*>(batch.pixels),
                                                {samples, size_.height, size_.width, kChannels}, torch::kUInt8);
  images_.narrow(0, first, samples).narrow(1, 0, size_.height).narrow(2, 0, size_.width).copy_(pixels);
  finish();
}

void KeptImages::gather(const torch::Tensor& gather, std::int64_t samples, Size size, torch::Tensor& to) const {
  if (!images_.defined() || gather.numel() != samples * (1 + size.height + size.width))
    throw Error(ErrorKind::kArgument,
                fmt::format("gathering a batch: found {} numbers for {} samples of {} x {}, and {} "
                            "images; expected {}, and images",
                            gather.numel(), samples, size.width, size.height, images_.defined() ? images_.size(0) : 0,
                            samples * (1 + size.height + size.width)));
  device_.is_cpu() ? gather_by_loop(images_, gather, to) : gather_by_index(images_, gather, to);
}

void gather_by_index(const torch::Tensor& images, const torch::Tensor& gather, torch::Tensor& to) {
  const GatherParts parts = parts_of(gather.to(torch::kInt64), to);
  // Indices of shapes n x 1 x 1, n x height x 1 and n x 1 x width are expanded to n x height x width.
  at::index_out(to, images,
                c10::List<std::optional<torch::Tensor>>(
                    {parts.images.view({-1, 1, 1}), parts.rows.unsqueeze(2), parts.columns.unsqueeze(1)}));
}

void gather_by_loop(const torch::Tensor& images, const torch::Tensor& gather, torch::Tensor& to) {
  const GatherParts parts = parts_of(gather, to);
  const std::int64_t height = to.size(1), width = to.size(2);
  const std::int64_t row_bytes = images.size(2) * kChannels, image_bytes = images.size(1) * row_bytes;
  const auto* const from = images.const_data_ptr<std::uint8_t>();
  const auto *const numbers = parts.images.const_data_ptr<std::int32_t>(),
                    *const rows = parts.rows.const_data_ptr<std::int32_t>(),
                    *const columns = parts.columns.const_data_ptr<std::int32_t>();
  auto* const out = to.mutable_data_ptr<std::uint8_t>();
  constexpr std::int64_t kGrain = 64;  // samples
  at::parallel_for(0, to.size(0), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      const std::uint8_t* const image = from + numbers[sample] * image_bytes;
      std::uint8_t* pixel = out + sample * height * width * kChannels;
      for (std::int64_t y = 0; y < height; ++y) {
        const std::uint8_t* const row = image + rows[sample * height + y] * row_bytes;
        for (std::int64_t x = 0; x < width; ++x, pixel += kChannels)
          std::copy_n(row + std::int64_t{columns[sample * width + x]} * kChannels, kChannels, pixel);
      }
    }
  });
}

}  // namespace unstarve
