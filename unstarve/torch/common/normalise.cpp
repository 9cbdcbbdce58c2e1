#include "unstarve/torch/common/normalise.h"

#include <array>

#include <ATen/Parallel.h>

namespace unstarve {
namespace {

struct Affine {
  std::array<float, kChannels> scale;
  std::array<float, kChannels> bias;
};

Affine affine_of(const Normalisation& normalisation) {
  Affine affine{};
  for (std::size_t c = 0; c < kChannels; ++c) {
    affine.scale[c] = 1 / (255 * normalisation.std[c]);
    affine.bias[c] = -normalisation.mean[c] / normalisation.std[c];
  }
  return affine;
}

struct Interleaved {
  bool in, out;
};

// One pass over one image. A plain loop, because broadcasting kernels of libtorch have an inner loop over only three
// elements for interleaved channels.
void normalise_image(const std::uint8_t* in, float* out, std::int64_t pixels, Interleaved interleaved,
                     const Affine& affine) {
  const std::int64_t in_step = interleaved.in ? kChannels : 1;
  const std::int64_t in_plane = interleaved.in ? 1 : pixels;
  if (interleaved.out) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        out[i * kChannels + c] =
            static_cast<float>(in[i * in_step + c * in_plane]) * affine.scale[channel] + affine.bias[channel];
      }
    }
    return;
  }
  for (std::int64_t c = 0; c < kChannels; ++c) {
    const float scale = affine.scale[static_cast<std::size_t>(c)];
    const float bias = affine.bias[static_cast<std::size_t>(c)];
    for (std::int64_t i = 0; i < pixels; ++i) {
      out[c * pixels + i] = static_cast<float>(in[i * in_step + c * in_plane]) * scale + bias;
    }
  }
}

torch::Tensor per_channel(const std::array<float, kChannels>& values, torch::Device device) {
  return torch::tensor({values[0], values[1], values[2]}).to(device).view({1, kChannels, 1, 1});
}

torch::Tensor normalise_on_host(const torch::Tensor& pixels, const Affine& affine, torch::MemoryFormat format) {
  torch::Tensor out = torch::empty(pixels.sizes(), torch::dtype(torch::kFloat32), format);
  const bool interleaved = !pixels.is_contiguous();
  const torch::Tensor source = interleaved ? pixels.contiguous(torch::MemoryFormat::ChannelsLast) : pixels;
  const std::int64_t image_pixels = pixels.size(2) * pixels.size(3);
  const auto* in = source.const_data_ptr<std::uint8_t>();
  auto* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, pixels.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      normalise_image(in + n * kChannels * image_pixels, to + n * kChannels * image_pixels, image_pixels,
                      {interleaved, format == torch::MemoryFormat::ChannelsLast}, affine);
    }
  });
  return out;
}

}  // namespace

void Normaliser::prepare(const Normalisation& normalisation, torch::Device device) {
  if (scale_.defined() && prepared_ == normalisation && scale_.device() == device) return;
  const Affine affine = affine_of(normalisation);
  scale_ = per_channel(affine.scale, device);
  bias_ = per_channel(affine.bias, device);
  prepared_ = normalisation;
}

torch::Tensor Normaliser::operator()(const torch::Tensor& pixels, const Normalisation& normalisation,
                                     torch::MemoryFormat format) {
  if (pixels.is_cpu()) return normalise_on_host(pixels, affine_of(normalisation), format);
  prepare(normalisation, pixels.device());
  torch::Tensor out = torch::empty(pixels.sizes(), scale_.options(), format);
  out.copy_(pixels);
  return torch::addcmul_out(out, bias_, out, scale_);
}

}  // namespace unstarve
