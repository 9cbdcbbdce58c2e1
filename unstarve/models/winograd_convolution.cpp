#include "unstarve/models/winograd_convolution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "unstarve/models/winograd_tiles.h"

namespace unstarve {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kNhwc = torch::MemoryFormat::ChannelsLast;
constexpr auto kPlanes = static_cast<std::int64_t>(kTilePlanes);

torch::Tensor kernel_matrix() {  // 36 x 9
  const auto transform = kernel_transform();
  torch::Tensor matrix = torch::empty({kPlanes, 9}, torch::kFloat32);
  std::copy_n(transform[0].data(), matrix.numel(), matrix.mutable_data_ptr<float>());
  return matrix;
}

// 36 x in x out
torch::Tensor transformed_weight(const torch::Tensor& weight) {
  const std::int64_t out = weight.size(0), in = weight.size(1);
  return torch::mm(kernel_matrix(), weight.permute({2, 3, 1, 0}).reshape({9, in * out})).view({kPlanes, in, out});
}

// In the memory layout of the weight, which accumulation and the exchange of ranks expect.
torch::Tensor weight_gradient(const torch::Tensor& weight, const torch::Tensor& transformed) {
  const std::int64_t out = weight.size(0), in = weight.size(1);
  const torch::Tensor values = torch::mm(kernel_matrix().t(), transformed.view({kPlanes, in * out}));
  return torch::empty_like(weight).copy_(values.view({3, 3, in, out}).permute({3, 2, 0, 1}));
}

std::int64_t tiles_per_image(const torch::Tensor& x) { return (x.size(2) + 3) / 4 * ((x.size(3) + 3) / 4); }

constexpr std::int64_t kBlock = 32;  // channels of one task
std::int64_t blocks_of(std::int64_t channels) { return (channels + kBlock - 1) / kBlock; }

// Images that are transformed at a time: enough for every thread and for efficient matrix products; no more, because
// of the caches. All chunks have about the same size.
std::int64_t chunk_of(const torch::Tensor& x) {
  constexpr std::int64_t kTilesPerThread = 200;
  const std::int64_t threads = at::get_num_threads(), samples = x.size(0), blocks = blocks_of(x.size(1));
  const std::int64_t most = std::clamp<std::int64_t>(
      std::max(kTilesPerThread * threads / tiles_per_image(x), (threads + blocks - 1) / blocks), 1, samples);
  const std::int64_t chunks = (samples + most - 1) / most;
  return (samples + chunks - 1) / chunks;
}

// The tiles of some adjacent images.
class ImageTiles {
 public:
  // For images of the size of `images`, at most `chunk` at a time.
  ImageTiles(const torch::Tensor& images, std::int64_t chunk)
      : channels_(images.size(1)),
        grid_{static_cast<std::size_t>(images.size(2)), static_cast<std::size_t>(images.size(3)),
              static_cast<std::size_t>(channels_)},
        per_image_(tiles_per_image(images)),
        memory_(torch::empty({kPlanes * odd(chunk * per_image_) * channels_}, torch::kFloat32)) {}

  // 36 x tiles x channels, with an odd number of tiles, so that planes of up to 256 channels begin in different sets of
  // the caches. The extra tile is zero.
  torch::Tensor of(std::int64_t images) {
    const std::int64_t used = images * per_image_, tiles = odd(used);
    grid_.plane = static_cast<std::size_t>(tiles * channels_);
    torch::Tensor all = memory_.narrow(0, 0, kPlanes * tiles * channels_).view({kPlanes, tiles, channels_});
    if (tiles > used) all.narrow(1, used, 1).zero_();
    return all;
  }
  // Calls transform(grid, channels, offset in the images, tiles) for the last of(images), which begin at `first`: for
  // blocks of channels of each image, concurrently.
  template <class Transform>
  void for_each(std::int64_t first, std::int64_t images, const Transform& transform) {
    const std::int64_t blocks = blocks_of(channels_);
    const auto pixels = static_cast<std::int64_t>(grid_.height * grid_.width);
    auto* const tiles = memory_.mutable_data_ptr<float>();
    at::parallel_for(0, images * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t image = i / blocks, channel = i % blocks * kBlock;
        const ChannelRange range{static_cast<std::size_t>(channel),
                                 static_cast<std::size_t>(std::min(channels_, channel + kBlock))};
        transform(grid_, range, (first + image) * pixels * channels_, tiles + image * per_image_ * channels_);
      }
    });
  }

 private:
  static std::int64_t odd(std::int64_t tiles) { return tiles | 1; }

  std::int64_t channels_;
  TileGrid grid_;
  std::int64_t per_image_;
  torch::Tensor memory_;
};

template <class Body>
void for_chunks(std::int64_t images, std::int64_t chunk, const Body& body) {
  for (std::int64_t first = 0; first < images; first += chunk) body(first, std::min(chunk, images - first));
}

torch::Tensor convolve(const torch::Tensor& x, const torch::Tensor& weight) {
  const std::int64_t chunk = chunk_of(x);
  torch::Tensor y = torch::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options(), kNhwc);
  const torch::Tensor kernels = transformed_weight(weight);
  ImageTiles inputs(x, chunk), outputs(y, chunk);
  const auto* const from = x.const_data_ptr<float>();
  auto* const to = y.mutable_data_ptr<float>();
  for_chunks(x.size(0), chunk, [&](std::int64_t first, std::int64_t images) {
    const torch::Tensor in = inputs.of(images);
    torch::Tensor out = outputs.of(images);
    inputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      input_to_tiles(grid, range, from + offset, tiles);
    });
    torch::bmm_out(out, in, kernels);
    outputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      tiles_to_output(grid, range, tiles, to + offset);
    });
  });
  return y;
}

// Undefined where not needed.
struct WinogradGradients {
  torch::Tensor x;
  torch::Tensor weight;
};
using Needed = std::array<bool, 2>;

WinogradGradients winograd_gradients(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& gradient,
                                     Needed needed) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const torch::Tensor dy = gradient.contiguous(kNhwc);
  const std::int64_t chunk = chunk_of(x);
  WinogradGradients result;
  torch::Tensor kernels, dkernels;
  if (needed[0]) {
    result.x = torch::empty_like(x, torch::TensorOptions(), kNhwc);
    kernels = transformed_weight(weight).transpose(1, 2);
  }
  if (needed[1]) dkernels = torch::zeros({kPlanes, x.size(1), dy.size(1)}, x.options());
  ImageTiles inputs(x, chunk), outputs(dy, chunk);
  const auto *const pixels = x.const_data_ptr<float>(), *const slopes = dy.const_data_ptr<float>();
  auto* const to = needed[0] ? result.x.mutable_data_ptr<float>() : nullptr;
  for_chunks(x.size(0), chunk, [&](std::int64_t first, std::int64_t images) {
    torch::Tensor in = inputs.of(images);
    const torch::Tensor out = outputs.of(images);
    outputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      output_gradient_to_tiles(grid, range, slopes + offset, tiles);
    });
    if (needed[1]) {
      inputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
        input_to_tiles(grid, range, pixels + offset, tiles);
      });
      dkernels.baddbmm_(in.transpose(1, 2), out);
    }
    if (needed[0]) {
      torch::bmm_out(in, out, kernels);
      inputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
        tiles_to_input_gradient(grid, range, tiles, to + offset);
      });
    }
  });
  if (needed[1]) result.weight = weight_gradient(weight, dkernels);
  return result;
}

class WinogradConvolution final : public torch::autograd::Function<WinogradConvolution> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight) {
    context->save_for_backward({x, weight});
    return convolve(x, weight);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    const Needed needed{context->needs_input_grad(0), context->needs_input_grad(1)};
    if (torch::GradMode::is_enabled()) {  // for second-order gradients
      const auto [dx, dweight, unused] = torch::convolution_backward(
          gradients[0], kept[0], kept[1], {}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1, {needed[0], needed[1], false});
      return {dx, dweight};
    }
    const WinogradGradients result = winograd_gradients(kept[0], kept[1], gradients[0], needed);
    return {result.x, result.weight};
  }
};

bool is_float_on_cpu(const torch::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == torch::kFloat32 && tensor.dim() == 4;
}

}  // namespace

bool winograd_pays(const torch::Tensor& x, const torch::Tensor& weight) {
  constexpr std::int64_t kLeastChannels = 32, kLeastTiles = 64;  // below, the transforms cost more than they save
  constexpr double kLeastSaving = 2.5;                           // the multiplications of direct convolution
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;    // of the tiles of one image
  // Tracing would not record what is written through pointers.
  if (at::autocast::is_autocast_enabled(at::kCPU) || torch::jit::tracer::isTracing()) return false;
  if (!is_float_on_cpu(x) || !is_float_on_cpu(weight) || !x.is_contiguous(kNhwc) || weight.size(1) != x.size(1) ||
      weight.size(2) != 3 || weight.size(3) != 3)
    return false;
  const std::int64_t samples = x.size(0), in = x.size(1), out = weight.size(0), tiles = tiles_per_image(x);
  const double saving = static_cast<double>(9 * x.size(2) * x.size(3)) / static_cast<double>(kPlanes * tiles);
  return std::min(in, out) >= kLeastChannels && samples * tiles >= kLeastTiles && saving >= kLeastSaving &&
         samples * blocks_of(std::min(in, out)) >= at::get_num_threads() &&
         tiles * (in + out) * kPlanes * static_cast<std::int64_t>(sizeof(float)) <= kMostBytes;
}

torch::Tensor winograd_convolution(const torch::Tensor& x, const torch::Tensor& weight) {
  return WinogradConvolution::apply(x, weight);
}

}  // namespace unstarve
