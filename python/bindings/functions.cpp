// Operations, decoding and encoding of single images, for the functions of the Python package.
//
// Threads: every call releases the GIL while it works. Each thread has its own memory for intermediate images, which
//          grows with its largest image and is freed at its end; a forked process can continue to use it.

#include "python/bindings/bindings.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/bindings/encoded_image.h"
#include "python/bindings/gil.h"
#include "python/bindings/result_memory.h"
#include "python/bindings/text.h"
#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/functions/operation_chain.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// (top, left, height, width), as torchvision orders them
using RegionTuple = std::tuple<int, int, int, int>;
// (seed, epoch, sample, index of the first operation)
using DrawsTuple = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t>;
using Means = std::pair<std::array<float, kChannels>, std::array<float, kChannels>>;
using Pixels = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, kChannels>, nb::device::cpu>;

ImageWorkspace& workspace() {
  thread_local ImageWorkspace own;
  return own;
}

OpValue value_of(const std::string& parameter, nb::handle value) {
  OpValue made;
  std::vector<double> numbers;
  double number = 0;
  if (PyBool_Check(value.ptr()) != 0) {
    made.word = nb::cast<bool>(value) ? "true" : "false";
  } else if (PyUnicode_Check(value.ptr()) != 0) {
    made.word = nb::cast<std::string>(value);
  } else if (nb::try_cast(value, number)) {
    made.numbers = {number};
  } else if (nb::try_cast(value, numbers)) {
    made.numbers = std::move(numbers);
  } else {
    throw Error(ErrorKind::kArgument,
                fmt::format("{}: found {}; expected a number, several numbers, a word or a Boolean", parameter,
                            nb::cast<std::string>(nb::repr(value))));
  }
  return made;
}

std::vector<OpSpec> specs_of(const std::vector<std::pair<std::string, nb::dict>>& operations) {
  std::vector<OpSpec> specs;
  for (const auto& [name, parameters] : operations) {
    OpSpec& spec = specs.emplace_back(OpSpec{name, {}});
    for (const auto& [key, value] : parameters) {
      const auto parameter = nb::cast<std::string>(key);
      spec.params[parameter] = value_of(name + "(" + parameter + ")", value);
    }
  }
  return specs;
}

SampleDraws draws_of(const DrawsTuple& draws) {
  const auto& [seed, epoch, sample, first] = draws;
  return {seed, epoch, sample, first};
}

PixelView view_of(const Pixels& pixels) {
  return {pixels.data(),
          static_cast<int>(std::min<std::size_t>(pixels.shape(1), 1u << 30)),
          static_cast<int>(std::min<std::size_t>(pixels.shape(0), 1u << 30)),
          pixels.stride(0),
          pixels.stride(1),
          pixels.stride(2)};
}

enum class Form { kHwc, kChw, kGrey, kNormalised };

Form form_of(const std::string& name) {
  if (name == "HWC") return Form::kHwc;
  if (name == "CHW") return Form::kChw;
  if (name == "L") return Form::kGrey;
  if (name == "normalised") return Form::kNormalised;
  throw Error(ErrorKind::kArgument, "form: found '" + name + "'; expected HWC, CHW, L or normalised");
}

// An array of a result in memory of its own.
struct Made {
  std::unique_ptr<AlignedBytes> memory;
  std::vector<std::size_t> shape;
  bool floats = false;

  [[nodiscard]] nb::object array() {
    std::uint8_t* const data = memory->data();
    const nb::capsule owner(memory.release(), [](void* p) noexcept {
      give_result_memory(std::unique_ptr<AlignedBytes>(static_cast<AlignedBytes*>(p)));
    });
    if (floats) return nb::cast(nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner));
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, shape.size(), shape.data(), owner));
  }
};

// A chain of operations and the form of its result: uint8 HWC or CHW, one grey channel, or float32 CHW after the
// normalisation.
class ImageFunction {
 public:
  ImageFunction(const std::vector<std::pair<std::string, nb::dict>>& operations, const std::string& form,
                const std::optional<Means>& normalisation, bool reduce, std::int64_t max_pixels)
      : form_(form_of(form)),
        format_(format_of(form_, normalisation)),
        chain_(specs_of(operations), format_.normalisation),
        storer_(format_),
        how_{{}, reduce, max_pixels} {}
  ImageFunction(const ImageFunction&) = delete;
  ImageFunction& operator=(const ImageFunction&) = delete;

  [[nodiscard]] bool random() const { return chain_.random(); }

  nb::object decode(nb::handle source, const std::optional<RegionTuple>& region, const DrawsTuple& draws) const {
    EncodedImage encoded(source);
    DecodeOptions how = how_;
    if (region)
      how.region = Rect{std::get<1>(*region), std::get<0>(*region), std::get<3>(*region), std::get<2>(*region)};
    Made made;
    {
      const GilRelease release;
      try {
        made = store(chain_.apply(encoded.bytes(), how, draws_of(draws), workspace()));
      } catch (const Error& error) {
        throw encoded.named(error);
      }
    }
    return made.array();
  }

  nb::object apply(const Pixels& pixels, const DrawsTuple& draws) const {
    const PixelView view = view_of(pixels);
    Made made;
    {
      const GilRelease release;
      made = store(chain_.apply(view, draws_of(draws), workspace()));
    }
    return made.array();
  }

 private:
  static StoreFormat format_of(Form form, const std::optional<Means>& normalisation) {
    StoreFormat format;
    format.type = form == Form::kNormalised ? ElementType::kFloat32 : ElementType::kUint8;
    format.layout = form == Form::kHwc || form == Form::kGrey ? Layout::kNhwc : Layout::kNchw;
    if (normalisation) format.normalisation = {normalisation->first, normalisation->second};
    return format;
  }

  [[nodiscard]] Made store(Frame frame) const {
    Made made;
    const auto height = static_cast<std::size_t>(frame.height), width = static_cast<std::size_t>(frame.width);
    made.floats = format_.type == ElementType::kFloat32;
    if (form_ == Form::kGrey) {  // all channels are equal: the chain ends with grayscale
      const Image& image = make_pixels(frame, workspace().scratch);
      made.shape = {height, width};
      made.memory = take_result_memory(height * width);
      for (std::size_t i = 0; i < height * width; ++i) made.memory->data()[i] = image.data()[i * kChannels];
      return made;
    }
    made.shape = format_.layout == Layout::kNchw ? std::vector<std::size_t>{kChannels, height, width}
                                                 : std::vector<std::size_t>{height, width, kChannels};
    made.memory = take_result_memory(storer_.sample_bytes(frame.size()));
    storer_.store(frame, made.memory->data());
    return made;
  }

  Form form_;
  StoreFormat format_;
  OperationChain chain_;
  Storer storer_;
  DecodeOptions how_;
};

// (format, height, width, channels as stored, EXIF orientation, kind of JPEG)
std::tuple<std::string, int, int, int, int, std::string> image_info(nb::handle source) {
  EncodedImage encoded(source);
  ImageHeader header;
  {
    const GilRelease release;
    try {
      header = workspace().decoder.open(encoded.bytes());
    } catch (const Error& error) {
      throw encoded.named(error);
    }
  }
  return {to_string(header.encoding), header.size.height,
          header.size.width,          header.components,
          header.orientation,         header.encoding == Encoding::kJpeg ? to_string(header.jpeg) : ""};
}

nb::bytes encode(const Pixels& pixels, int quality, const std::string& subsampling) {
  thread_local JpegEncoder encoder;
  const PixelView view = view_of(pixels);
  const ChromaSampling sampling = subsampling == "4:4:4"   ? ChromaSampling::k444
                                  : subsampling == "4:2:2" ? ChromaSampling::k422
                                  : subsampling == "grey"  ? ChromaSampling::kGrey
                                                           : ChromaSampling::k420;
  std::vector<std::uint8_t> file;
  {
    const GilRelease release;
    encoder.encode(view, quality, sampling, file);
  }
  return nb::bytes(file.data(), file.size());
}

}  // namespace

void bind_functions(nb::module_& m) {
  nb::class_<ImageFunction>(m, "ImageFunction")
      .def(
          nb::init<const std::vector<std::pair<std::string, nb::dict>>&, const std::string&,
                   const std::optional<Means>&, bool, std::int64_t>(),
          "operations"_a, "form"_a, "normalisation"_a.none(), "reduce"_a, "max_pixels"_a,
          nb::sig("def __init__(self, operations: collections.abc.Sequence[tuple[str, dict[str, typing.Any]]], form: "
                  "str, normalisation: tuple[collections.abc.Sequence[float], collections.abc.Sequence[float]] | None, "
                  "reduce: bool, max_pixels: int) -> None"))
      .def_prop_ro("random", &ImageFunction::random)
      .def("decode", &ImageFunction::decode, "source"_a, "region"_a.none(), "draws"_a,
           nb::sig("def decode(self, source: object, region: tuple[int, int, int, int] | None, "
                   "draws: tuple[int, int, int, int]) -> numpy.typing.NDArray[typing.Any]"))
      .def("apply", &ImageFunction::apply, "pixels"_a, "draws"_a,
           nb::sig("def apply(self, pixels: numpy.typing.NDArray[numpy.uint8], draws: tuple[int, int, int, int]) "
                   "-> numpy.typing.NDArray[typing.Any]"));
  m.def("image_info", &image_info, "source"_a,
        nb::sig("def image_info(source: object) -> tuple[str, int, int, int, int, str]"));
  m.def("encode_jpeg", &encode, "pixels"_a, "quality"_a, "subsampling"_a,
        nb::sig("def encode_jpeg(pixels: numpy.typing.NDArray[numpy.uint8], quality: int, subsampling: str) -> bytes"));
}

}  // namespace unstarve::python
