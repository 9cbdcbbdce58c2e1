#include "python/bindings/device_operations.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/device_operations.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

gpu::OutputType type_of(const std::string& name) {
  if (name == "uint8") return gpu::OutputType::kUint8;
  if (name == "float32") return gpu::OutputType::kFloat32;
  if (name == "bfloat16") return gpu::OutputType::kBfloat16;
  if (name == "float16") return gpu::OutputType::kFloat16;
  throw Error(ErrorKind::kArgument,
              "operations on a device: dtype " + name + ", expected uint8, float32, bfloat16 or float16");
}

class PyDeviceOperations {
 public:
  PyDeviceOperations(const std::string& spec, int height, int width, const std::string& type, const std::string& device)
      : device_(open_device(device)),
        operations_(pipeline_from_yaml(spec, "pipeline"), {width, height}, type_of(type), *device_) {}

  [[nodiscard]] std::pair<int, int> output_size() const {
    return {operations_.output_size().height, operations_.output_size().width};
  }
  [[nodiscard]] std::string explain() const { return operations_.explain(); }
  void run(const nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& ids, std::uint32_t epoch,
           std::uintptr_t source, std::uintptr_t output, std::uintptr_t stream) {
    const std::span<const std::uint64_t> all(ids.data(), ids.shape(0));
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);  // one run at a time
    const auto borrowed = device_->borrow_stream(reinterpret_cast<void*>(stream));
    operations_.run(all, epoch, reinterpret_cast<const std::uint8_t*>(source), reinterpret_cast<void*>(output),
                    *borrowed);
  }

 private:
  std::unique_ptr<Device> device_;
  DeviceOperations operations_;
  std::mutex mutex_;
};

}  // namespace

void bind_device_operations(nb::module_& m) {
  m.def(
      "first_on_device", [](const std::string& spec) { return first_on_device(pipeline_from_yaml(spec, "pipeline")); },
      "spec"_a);
  nb::class_<PyDeviceOperations>(m, "DeviceOperations")
      .def(nb::init<const std::string&, int, int, const std::string&, const std::string&>(), "spec"_a, "height"_a,
           "width"_a, "type"_a, "device"_a)
      .def_prop_ro("output_size", &PyDeviceOperations::output_size)
      .def("explain", &PyDeviceOperations::explain)
      .def("run", &PyDeviceOperations::run, "ids"_a, "epoch"_a, "source"_a, "output"_a, "stream"_a,
           nb::sig("def run(self, ids: numpy.typing.NDArray[numpy.uint64], epoch: int, source: int, output: int, "
                   "stream: int) -> None"));
}

}  // namespace unstarve::python
