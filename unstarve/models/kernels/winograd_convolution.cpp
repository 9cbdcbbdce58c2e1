#include "unstarve/models/kernels/winograd_convolution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/cpu/Utils.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "unstarve/models/kernels/matrix_product.h"
#include "unstarve/models/kernels/winograd_tiles.h"

namespace unstarve {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kNhwc = torch::MemoryFormat::ChannelsLast;
constexpr auto kPlanes = static_cast<std::int64_t>(kTilePlanes);

std::int64_t tiles_per_image(const torch::Tensor& x) { return (x.size(2) + 3) / 4 * ((x.size(3) + 3) / 4); }

constexpr std::int64_t kBlock = 32;  // channels of one task
std::int64_t blocks_of(std::int64_t channels) { return (channels + kBlock - 1) / kBlock; }

// An odd number of cache lines, so that planes begin in different sets of the caches.
std::size_t kernel_plane(std::size_t in, std::size_t out) { return ((in * out + 15) / 16 | 1) * 16; }

KernelGrid kernel_grid(const torch::Tensor& weight) {
  const auto in = static_cast<std::size_t>(weight.size(1)), out = static_cast<std::size_t>(weight.size(0));
  return {in, out, kernel_plane(in, out)};
}

torch::Tensor new_kernel_planes(const torch::Tensor& weight) {
  return torch::empty({kPlanes * static_cast<std::int64_t>(kernel_grid(weight).plane)}, torch::kFloat32);
}

// Calls transform(outputs) for some of the outputs, concurrently.
template <class Transform>
void for_outputs(const torch::Tensor& weight, const Transform& transform) {
  const std::int64_t outputs = weight.size(0);
  at::parallel_for(0, blocks_of(outputs), 1, [&](std::int64_t begin, std::int64_t end) {
    transform(ChannelRange{static_cast<std::size_t>(begin * kBlock),
                           static_cast<std::size_t>(std::min(outputs, end * kBlock))});
  });
}

using KernelsToPlanes = decltype(kernels_to_planes);

torch::Tensor kernel_planes(const torch::Tensor& weight, KernelsToPlanes* to_planes) {
  const torch::Tensor kernels = weight.contiguous(kNhwc);
  torch::Tensor planes = new_kernel_planes(weight);
  for_outputs(weight, [&](ChannelRange outputs) {
    to_planes(kernel_grid(weight), outputs, kernels.const_data_ptr<float>(), planes.mutable_data_ptr<float>());
  });
  return planes;
}

// In the memory layout of the weight, which accumulation and the exchange of ranks expect.
torch::Tensor weight_gradient(const torch::Tensor& weight, const torch::Tensor& planes) {
  torch::Tensor gradient = torch::empty_like(weight, torch::TensorOptions(), kNhwc);
  for_outputs(weight, [&](ChannelRange outputs) {
    planes_to_kernel_gradient(kernel_grid(weight), outputs, planes.const_data_ptr<float>(),
                              gradient.mutable_data_ptr<float>());
  });
  if (gradient.strides() == weight.strides()) return gradient;
  return torch::empty_like(weight).copy_(gradient);
}

// Images that are transformed at a time: enough for every thread and for efficient products; no more, because of the
// caches. All chunks have about the same size.
std::int64_t chunk_of(const torch::Tensor& x) {
  constexpr std::int64_t kTilesPerThread = 96;
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
        memory_(torch::empty({kPlanes * odd(chunk * per_image_) * channels_}, torch::kFloat32)) {
    grid_.bfloat16 = images.scalar_type() == torch::kBFloat16;
    // An odd number of tiles, so that planes of up to 256 channels begin in different sets of the caches.
    grid_.plane = static_cast<std::size_t>(odd(chunk * per_image_) * channels_);
  }

  // Tiles of `images`, in each plane.
  [[nodiscard]] std::size_t count(std::int64_t images) const { return static_cast<std::size_t>(images * per_image_); }
  [[nodiscard]] std::size_t channels() const { return grid_.channels; }
  [[nodiscard]] float* plane(std::size_t i) const { return memory_.mutable_data_ptr<float>() + i * grid_.plane; }

  // Calls transform(grid, channels, offset in the images, tiles) for `images` from `first` on: for blocks of channels
  // of each image, concurrently.
  template <class Transform>
  void for_each(std::int64_t first, std::int64_t images, const Transform& transform) const {
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

// products(i) describes the product of plane i. Blocks of columns are computed concurrently.
template <class Products>
void multiply_planes(std::size_t columns, const Products& products) {
  const std::int64_t blocks = blocks_of(static_cast<std::int64_t>(columns));
  at::parallel_for(0, kPlanes * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto column = static_cast<std::size_t>(i % blocks * kBlock);
      MatrixProduct product = products(static_cast<std::size_t>(i / blocks));
      product.columns = std::min(product.columns - column, static_cast<std::size_t>(kBlock));
      product.b += column;
      product.c += column;
      multiply(product);
    }
  });
}

// to = from x kernels, in each plane; kernels: 36 planes of channels of `from` x channels of `to`.
void multiply_tiles(const ImageTiles& from, const torch::Tensor& kernels, const ImageTiles& to, std::size_t tiles) {
  const std::size_t in = from.channels(), out = to.channels();
  const auto* const all = kernels.const_data_ptr<float>();
  multiply_planes(to.channels(), [&](std::size_t i) {
    return MatrixProduct{tiles, out, in, from.plane(i), in, 1, all + i * kernel_plane(in, out), out, to.plane(i), out};
  });
}

// kernels = transposed outputs x inputs, or += if `add`, in each plane; kernels: 36 planes of out x in.
void kernel_gradients(const ImageTiles& outputs, const ImageTiles& inputs, const torch::Tensor& kernels,
                      std::size_t tiles, bool add) {
  const std::size_t in = inputs.channels(), out = outputs.channels();
  auto* const all = kernels.mutable_data_ptr<float>();
  multiply_planes(inputs.channels(), [&](std::size_t i) {
    return MatrixProduct{out, in, tiles, outputs.plane(i), 1, out, inputs.plane(i), in, all + i * kernel_plane(in, out),
                         in,  add};
  });
}

template <class Body>
void for_chunks(std::int64_t images, std::int64_t chunk, const Body& body) {
  for (std::int64_t first = 0; first < images; first += chunk) body(first, std::min(chunk, images - first));
}

const std::byte* value_at(const torch::Tensor& tensor, std::int64_t offset) {
  return static_cast<const std::byte*>(tensor.const_data_ptr()) + offset * tensor.element_size();
}
std::byte* mutable_value_at(const torch::Tensor& tensor, std::int64_t offset) {
  return static_cast<std::byte*>(tensor.mutable_data_ptr()) + offset * tensor.element_size();
}

torch::Tensor convolve(const torch::Tensor& x, const torch::Tensor& weight) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const std::int64_t chunk = chunk_of(x);
  torch::Tensor y = torch::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options(), kNhwc);
  const torch::Tensor kernels = kernel_planes(weight, kernels_to_transposed_planes);
  const ImageTiles inputs(x, chunk), outputs(y, chunk);
  for_chunks(x.size(0), chunk, [&](std::int64_t first, std::int64_t images) {
    inputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      input_to_tiles(grid, range, value_at(x, offset), tiles);
    });
    multiply_tiles(inputs, kernels, outputs, inputs.count(images));
    outputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      tiles_to_output(grid, range, tiles, mutable_value_at(y, offset));
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
  const bool is_float = x.scalar_type() == torch::kFloat32;
  WinogradGradients result;
  torch::Tensor kernels, dkernels, dx;
  if (needed[0]) {
    result.x = torch::empty_like(x, torch::TensorOptions(), kNhwc);
    kernels = kernel_planes(weight, kernels_to_planes);
    if (!is_float) dx = torch::empty({chunk, x.size(1), x.size(2), x.size(3)}, torch::kFloat32, kNhwc);
  }
  if (needed[1]) dkernels = new_kernel_planes(weight);
  const ImageTiles inputs(x, chunk), outputs(dy, chunk);
  for_chunks(x.size(0), chunk, [&](std::int64_t first, std::int64_t images) {
    outputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
      output_gradient_to_tiles(grid, range, value_at(dy, offset), tiles);
    });
    if (needed[1]) {
      inputs.for_each(first, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
        input_to_tiles(grid, range, value_at(x, offset), tiles);
      });
      kernel_gradients(outputs, inputs, dkernels, inputs.count(images), first > 0);
    }
    if (needed[0]) {
      multiply_tiles(outputs, kernels, inputs, inputs.count(images));
      const torch::Tensor part = result.x.narrow(0, first, images);
      const torch::Tensor sums = is_float ? part : dx.narrow(0, 0, images);
      inputs.for_each(0, images, [&](const TileGrid& grid, ChannelRange range, std::int64_t offset, float* tiles) {
        tiles_to_input_gradient(grid, range, tiles, sums.mutable_data_ptr<float>() + offset);
      });
      if (!is_float) part.copy_(sums);
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
      const auto [dx, dweight, unused] =
          torch::convolution_backward(gradients[0], kept[0], kept[1].to(kept[0].scalar_type()), {}, {1, 1}, {1, 1},
                                      {1, 1}, false, {0, 0}, 1, {needed[0], needed[1], false});
      return {dx, needed[1] ? dweight.to(torch::kFloat32) : dweight};
    }
    const WinogradGradients result = winograd_gradients(kept[0], kept[1], gradients[0], needed);
    return {result.x, result.weight};
  }
};

bool is_float_on_cpu(const torch::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == torch::kFloat32 && tensor.dim() == 4;
}

// Whether multiplications in float32 are fast enough compared with those in bfloat16: AVX-512 computes half as many,
// the matrix units of AMX far more. Other architectures were not measured.
bool replaces_bfloat16() {
  static const bool replaces = [] {
    const auto capabilities = at::cpu::get_cpu_capabilities();
    const auto has = [&](const char* name) {
      const auto found = capabilities.find(name);
      return found != capabilities.end() && found->second.isBool() && found->second.toBool();
    };
    return has("avx2") && !has("amx_bf16");
  }();
  return replaces;
}

// The type of the input and, under autocast, of the other operations.
bool is_type_of_pass(const torch::Tensor& x) {
  if (!at::autocast::is_autocast_enabled(at::kCPU)) return is_float_on_cpu(x);
  return x.is_cpu() && x.dim() == 4 && x.scalar_type() == torch::kBFloat16 &&
         at::autocast::get_autocast_dtype(at::kCPU) == torch::kBFloat16 && replaces_bfloat16();
}

}  // namespace

bool winograd_pays(const torch::Tensor& x, const torch::Tensor& weight) {
  constexpr std::int64_t kLeastChannels = 32, kLeastTiles = 64;  // below, the transforms cost more than they save
  constexpr double kLeastSaving = 2.5;                           // the multiplications of direct convolution
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;    // of the tiles of one image
  // Tracing would not record what is written through pointers.
  if (torch::jit::tracer::isTracing()) return false;
  if (!is_type_of_pass(x) || !is_float_on_cpu(weight) || !x.is_contiguous(kNhwc) || weight.size(1) != x.size(1) ||
      weight.size(2) != 3 || weight.size(3) != 3)
    return false;
  const std::int64_t samples = x.size(0), in = x.size(1), out = weight.size(0), tiles = tiles_per_image(x);
  const double saving = static_cast<double>(9 * x.size(2) * x.size(3)) / static_cast<double>(kPlanes * tiles);
  // In bfloat16, transformed kernels that are larger than the tiles cost what is saved (decision 51).
  const bool few_kernels = x.scalar_type() == torch::kFloat32 || samples * tiles * (in + out) >= in * out;
  return few_kernels && std::min(in, out) >= kLeastChannels && samples * tiles >= kLeastTiles &&
         saving >= kLeastSaving && samples * blocks_of(std::min(in, out)) >= at::get_num_threads() &&
         tiles * (in + out) * kPlanes * static_cast<std::int64_t>(sizeof(float)) <= kMostBytes;
}

torch::Tensor winograd_convolution(const torch::Tensor& x, const torch::Tensor& weight) {
  return WinogradConvolution::apply(x, weight);
}

}  // namespace unstarve
