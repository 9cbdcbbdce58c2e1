// Operations on a device in memory that a framework owns.

#include "python/bindings/bindings.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "python/bindings/gil.h"
#include "python/bindings/samples.h"
#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/device/device_decoder.h"
#include "unstarve/pipeline/device/device_operations.h"
#include "unstarve/pipeline/plan/first_on_device.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

ElementType type_of(const std::string& name) {
  if (name == "uint8") return ElementType::kUint8;
  if (name == "float32") return ElementType::kFloat32;
  if (name == "bfloat16") return ElementType::kBfloat16;
  if (name == "float16") return ElementType::kFloat16;
  throw Error(ErrorKind::kArgument,
              "operations on a device: found dtype " + name + "; expected uint8, float32, bfloat16 or float16");
}

// nvJPEG's threads compete with those of the loader for cores.
constexpr int kCoresPerThread = 4;

// Decoding on the device; without a balance, the host decodes.
struct DeviceDecoding {
  std::shared_ptr<DecodeBalance> balance;
  DatasetPtr dataset;
  std::vector<std::string> nvjpeg;  // libraries to try
};

std::unique_ptr<DeviceDecoder> decoder_for(DeviceDecoding decoding, Device& device) {
  if (!decoding.balance) return {};
  const int threads = std::max(1, read_topology().usable() / kCoresPerThread);
  return std::make_unique<DeviceDecoder>(
      DeviceDecoder::Options{open_nvjpeg(device, decoding.nvjpeg), threads, std::move(decoding.balance),
                             std::move(decoding.dataset)},
      device);
}

// Where a batch is, and its stream (a cudaStream_t). `host` is for batches with files.
struct DeviceAddresses {
  std::uintptr_t source = 0, output = 0, stream = 0, host = 0;
};

using Ids = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Files = nb::ndarray<const std::int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

std::span<const FileExtent> span_of(const Files& files) {
  static_assert(sizeof(FileExtent) == 3 * sizeof(std::int32_t));
  return {reinterpret_cast<const FileExtent*>(files.data()), files.shape(0)};
}

class PyDeviceOperations {
 public:
  PyDeviceOperations(const std::string& spec, const std::string& type, const std::string& device,
                     DeviceDecoding decoding)
      : device_(open_device(device)),
        operations_(pipeline_from_yaml(spec, "pipeline"), type_of(type), *device_,
                    decoder_for(std::move(decoding), *device_)) {}

  // Height and width.
  [[nodiscard]] std::pair<int, int> output_size(std::uint32_t epoch) const {
    return sides(operations_.output_size(epoch));
  }
  [[nodiscard]] std::pair<int, int> largest_output() const { return sides(operations_.largest_output()); }
  [[nodiscard]] std::string explain() const { return operations_.explain(); }
  void run(const Ids& ids, std::uint32_t epoch, const DeviceAddresses& at) {
    const std::span<const std::uint64_t> all(ids.data(), ids.shape(0));
    const GilRelease release;
    const std::lock_guard lock(mutex_);  // one run at a time
    const auto borrowed = device_->borrow_stream(reinterpret_cast<void*>(at.stream));
    operations_.run({all, reinterpret_cast<std::uint8_t*>(at.source)}, epoch, reinterpret_cast<void*>(at.output),
                    *borrowed);
  }
  void run_files(const Ids& ids, std::uint32_t epoch, const Files& files, const DeviceAddresses& at) {
    const std::span<const std::uint64_t> all(ids.data(), ids.shape(0));
    const std::span<const FileExtent> extents = span_of(files);
    const GilRelease release;
    const std::lock_guard lock(mutex_);
    const auto borrowed = device_->borrow_stream(reinterpret_cast<void*>(at.stream));
    operations_.run(
        {all, reinterpret_cast<std::uint8_t*>(at.source), extents, reinterpret_cast<const std::uint8_t*>(at.host)},
        epoch, reinterpret_cast<void*>(at.output), *borrowed);
  }

 private:
  static std::pair<int, int> sides(Size size) { return {size.height, size.width}; }

  std::unique_ptr<Device> device_;
  DeviceOperations operations_;
  std::mutex mutex_;
};

}  // namespace

void bind_device_operations(nb::module_& m) {
  m.def(
      "first_on_device", [](const std::string& spec) { return first_on_device(pipeline_from_yaml(spec, "pipeline")); },
      "spec"_a);
  nb::class_<DecodeBalance>(m, "DecodeBalance");
  m.def(
      "decode_balance",
      [](const std::string& spec) { return make_decode_balance(pipeline_from_yaml(spec, "pipeline")); }, "spec"_a,
      nb::sig("def decode_balance(spec: str) -> DecodeBalance | None"));
  m.attr("MOST_DECODED") = kMostDecoded;
  m.def(
      "decoded_bytes", [](const Files& files) { return decoded_bytes(span_of(files)); }, "files"_a,
      nb::sig("def decoded_bytes(files: numpy.typing.NDArray[numpy.int32]) -> int"));
  nb::class_<DeviceDecoding>(m, "DeviceDecoding")
      .def(nb::init<std::shared_ptr<DecodeBalance>, DatasetPtr, std::vector<std::string>>(), "balance"_a, "dataset"_a,
           "nvjpeg"_a);
  nb::class_<DeviceAddresses>(m, "DeviceAddresses")
      .def(nb::init<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t>(), "source"_a, "output"_a,
           "stream"_a, "host"_a = 0);
  nb::class_<PyDeviceOperations>(m, "DeviceOperations")
      .def(
          "__init__",
          [](PyDeviceOperations* self, const std::string& spec, const std::string& type, const std::string& device,
             const DeviceDecoding* decoding) {
            new (self) PyDeviceOperations(spec, type, device, decoding != nullptr ? *decoding : DeviceDecoding());
          },
          "spec"_a, "type"_a, "device"_a, "decoding"_a.none() = nb::none())
      .def("output_size", &PyDeviceOperations::output_size, "epoch"_a)
      .def_prop_ro("largest_output", &PyDeviceOperations::largest_output)
      .def("explain", &PyDeviceOperations::explain)
      .def("run", &PyDeviceOperations::run, "ids"_a, "epoch"_a, "addresses"_a,
           nb::sig("def run(self, ids: numpy.typing.NDArray[numpy.uint64], epoch: int, addresses: DeviceAddresses) "
                   "-> None"))
      .def("run_files", &PyDeviceOperations::run_files, "ids"_a, "epoch"_a, "files"_a, "addresses"_a,
           nb::sig("def run_files(self, ids: numpy.typing.NDArray[numpy.uint64], epoch: int, "
                   "files: numpy.typing.NDArray[numpy.int32], addresses: DeviceAddresses) -> None"));
}

}  // namespace unstarve::python
