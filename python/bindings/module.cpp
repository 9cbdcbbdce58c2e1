// The private extension module unstarve._core: datasets and the loader. The Python package around it is the public
// interface.
//
// Threads: every call that may block releases the GIL. Threads of the library acquire it only to call a dataset that is
//          a Python object (python_source.h), and then hold no lock for which a call from Python waits.
//
// Without a GIL (FREE_THREADED): Dataset, SampleSet and RunState are immutable; SampleReader, DeviceOperations,
// DecodeBalance, the notices and Python sources have their own locks. Loader.next(), and Run.next() in samples.cpp, are
// for one thread at a time: they lock their object, but, as with the GIL, not while waiting for a batch. Loader's other
// methods and the deallocation of a batch's arrays are thread-safe. Training is for one thread, except for stop().

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/program.h"
#include "python/bindings/bindings.h"
#include "python/bindings/exit.h"
#include "python/bindings/gil.h"
#include "python/bindings/lending_device.h"
#include "python/bindings/listening.h"
#include "python/bindings/notices.h"
#include "python/bindings/python_source.h"
#include "python/bindings/samples.h"
#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/core/profile.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/settings/settings_schema.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/pipeline/spec/spec_schema.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_json.h"
#include "unstarve/storage/dataset/concatenated.h"
#include "unstarve/storage/dataset/quarantine_entry.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/open.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

DatasetPtr open(const std::string& path, const std::string& split, const std::string& labels, bool next_to_data) {
  if (next_to_data) keep_indexes_next_to(path);
  return std::const_pointer_cast<Dataset>(listening([&] { return open_dataset(path, split, labels); }));
}

DatasetPtr concatenation(const std::vector<DatasetPtr>& parts, const std::vector<std::string>& names) {
  return std::const_pointer_cast<Dataset>(concatenate({parts.begin(), parts.end()}, names));
}

nb::object value_of(const Field& field, const Value& value) {
  if (field.kind == FieldKind::kLabel) return nb::int_(value.integer);
  if (field.kind == FieldKind::kEncodedImage)
    return nb::bytes(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  const auto height = static_cast<std::size_t>(value.pixels.height);
  const auto width = static_cast<std::size_t>(value.pixels.width);
  auto pixels = std::make_unique<std::vector<std::uint8_t>>(height * width * kChannels);
  for (std::size_t y = 0, at = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (int c = 0; c < kChannels; ++c, ++at)
        (*pixels)[at] = value.pixels.at(static_cast<int>(x), static_cast<int>(y), c);
  std::uint8_t* const data = pixels->data();
  nb::capsule owner(pixels.release(), [](void* p) noexcept { delete static_cast<std::vector<std::uint8_t>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {height, width, kChannels}, owner));
}

nb::dict read(const Dataset& dataset, std::uint64_t id) {
  if (id >= dataset.size()) throw nb::index_error("record id");
  RecordBuffer record;
  {
    const GilRelease release;
    dataset.read(id, record);
  }
  nb::dict values;
  for (std::size_t i = 0; i < dataset.fields().size(); ++i)
    values[nb::cast(dataset.fields()[i].name)] = value_of(dataset.fields()[i], record.values[i]);
  check_maps(record);  // after the values were copied
  return values;
}

// Bytes on a device: per value of a batch, and fixed.
using DeviceBytes = std::pair<std::uint64_t, std::uint64_t>;

class PyLoader {
 public:
  // `options`: start, basis, on_device and decode; the constructor sets the others. Memory of `allocate` does not grow,
  // so no slot is allocated while the loader's lock is held without the GIL.
  PyLoader(const std::string& spec, DatasetPtr dataset, nb::object allocate, Loader::Options options) {
    held_ = {dataset, options.basis.samples, options.decode};
    const bool lent = !allocate.is_none();
    options.grow = !lent;
    options.on_notice = queue_notice;
    options.epoch_ends = true;
    options.check_data = false;
    device_ = lent ? lending_device(std::move(allocate)) : open_device("cpu");
    PipelineSpec parsed = pipeline_from_yaml(spec, "pipeline");
    output_ = parsed.output;
    const GilRelease release;
    loader_ = std::make_unique<Loader>(std::move(parsed), std::move(dataset), *device_, std::move(options));
  }

  ~PyLoader() {
    // Joining the threads may block: they may be waiting for a server.
    const GilRelease release;
    // The garbage collector may run during a call of the dataset, in one of the threads that would be joined.
    if (in_python_source())
      std::thread([device = std::move(device_), loader = std::move(loader_)]() mutable {
        const InUse in_use;
        loader.reset();
      }).detach();
    loader_.reset();
  }
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  // Returns the next batch, or nothing after close(). Handles signals and issues warnings while it waits.
  std::optional<Batch> next() {
    while (true) {
      bool ready = false;
      {
        const GilRelease release;
        ready = loader_->wait(kSignalCheck);
      }
      if (ready) return loader_->next();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      // Python code runs only if it must: at exit it would end a daemon thread inside of this call (gil.h).
      if (has_notice()) nb::module_::import_("unstarve.notices").attr("warn_pending")();
    }
  }

  [[nodiscard]] const StoreFormat& output() const { return output_; }
  [[nodiscard]] Loader& loader() { return *loader_; }
  void close() {
    const GilRelease release;
    loader_->close();
  }

 private:
  InUse in_use_;  // by the threads of the loader
  // Objects of Python that the loader shares: released with the GIL, which a deleter of nanobind would request.
  std::vector<std::shared_ptr<const void>> held_;
  std::unique_ptr<Device> device_;
  StoreFormat output_;
  std::unique_ptr<Loader> loader_;
};

// Returns (images, labels, ids, sizes or files or None, number of valid samples, epoch, index, last_of_epoch). The slot
// of the batch is released when the last array is deallocated. bfloat16 is represented as uint16, which NumPy supports.
nb::tuple arrays(Batch batch, const StoreFormat& output) {
  auto* const kept = new Batch(std::move(batch));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Batch*>(p); });
  const std::size_t n = kept->samples();
  const auto height = static_cast<std::size_t>(kept->size().height);
  const auto width = static_cast<std::size_t>(kept->size().width);
  const std::size_t channels = kChannels;
  std::size_t shape[4] = {n, channels, height, width};
  if (output.layout == Layout::kNhwc) {
    shape[1] = height;
    shape[2] = width;
    shape[3] = channels;
  }
  void* const data = const_cast<std::uint8_t*>(kept->pixels());
  nb::object images;
  switch (output.type) {
    case ElementType::kUint8: images = nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, 4, shape, owner)); break;
    case ElementType::kFloat32: images = nb::cast(nb::ndarray<nb::numpy, float>(data, 4, shape, owner)); break;
    case ElementType::kBfloat16: images = nb::cast(nb::ndarray<nb::numpy, std::uint16_t>(data, 4, shape, owner)); break;
    case ElementType::kFloat16:
      images = nb::cast(nb::ndarray<nb::numpy>(data, 4, shape, owner, nullptr, kFloat16Numbers));
      break;
  }
  // With batch operations, rows of probabilities replace the labels.
  nb::object labels;
  if (kept->classes() > 0)
    labels = nb::cast(
        nb::ndarray<nb::numpy, float>(const_cast<float*>(kept->targets().data()), {n, kept->classes()}, owner));
  else
    labels =
        nb::cast(nb::ndarray<nb::numpy, std::int64_t>(const_cast<std::int64_t*>(kept->labels().data()), {n}, owner));
  auto ids = nb::ndarray<nb::numpy, std::uint64_t>(const_cast<std::uint64_t*>(kept->ids().data()), {n}, owner);
  nb::object sizes = nb::none();
  if (!kept->sizes().empty())
    sizes = nb::cast(
        nb::ndarray<nb::numpy, std::int32_t>(const_cast<std::int32_t*>(kept->sizes().front().data()), {n, 2}, owner));
  else if (!kept->files().empty())
    sizes = nb::cast(
        nb::ndarray<nb::numpy, std::int32_t>(const_cast<std::int32_t*>(kept->files().front().data()), {n, 3}, owner));
  return nb::make_tuple(images, labels, nb::cast(ids), sizes, kept->valid(), kept->epoch(), kept->index(),
                        kept->last_of_epoch());
}

ProgressTuple tuple_of(const RankProgress& progress) {
  return {progress.start.epoch, progress.start.offset, packed(progress.start.used), progress.samples,
          packed(progress.used)};
}

// Writes the quarantine file of these (id, reason), in the format of the command line.
void write_quarantine(const std::string& path, const Dataset& dataset,
                      const std::vector<std::pair<std::uint64_t, std::string>>& bad) {
  std::string lines;
  for (const auto& [id, reason] : bad) lines += quarantine_line(dataset.record_location(id), reason);
  const GilRelease release;
  write_file_atomically(path, lines);
}

// Checks nodes that were created from arguments; a parse error is therefore an error of an argument.
void check(const std::string& nodes) {
  try {
    check_spec(pipeline_from_yaml(nodes, "pipeline"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    throw Error(ErrorKind::kArgument, error.what());
  }
}

PipelineSpec checked(PipelineSpec spec) {
  check_utf8(spec);
  return spec;
}

// Returns batches and samples per epoch of one rank, without starting a loader.
std::tuple<std::uint64_t, std::uint64_t> epoch_of(const std::string& spec, SampleSetPtr samples) {
  const PipelineSpec parsed = pipeline_from_yaml(spec, "pipeline");
  const Order order(parsed.order, parsed.batch, basis_of(std::move(samples), {}));
  return {order.batches_per_epoch(), order.samples_per_epoch()};
}

// As argv; borrows the texts.
std::vector<char*> words_of_arguments(std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  return words;
}

int run_program_with(std::vector<std::string> arguments) {
  return cli::run_program(static_cast<int>(arguments.size()), words_of_arguments(arguments).data());
}

// The exit code, the variables (None: the program is done) and whether the process has to start with them.
std::tuple<int, std::optional<Environment>, bool> start_environment_of(std::vector<std::string> arguments) {
  int code = 0;
  auto start = cli::start_environment(static_cast<int>(arguments.size()), words_of_arguments(arguments).data(), code);
  if (!start) return {code, std::nullopt, false};
  return {code, std::move(start->variables), start->needs_start};
}

// Dataset.
void bind_dataset(nb::module_& m) {
  nb::class_<Dataset>(m, "Dataset", nb::is_weak_referenceable())
      .def("__len__", &Dataset::size)
      .def_prop_ro("format", &Dataset::format)
      .def_prop_ro("classes", &Dataset::classes)
      .def_prop_ro("notes", &Dataset::notes)
      .def_prop_ro("fields",
                   [](const Dataset& dataset) {
                     std::vector<std::string> names;
                     for (const Field& field : dataset.fields()) names.push_back(field.name);
                     return names;
                   })
      .def(
          "location",
          [](const Dataset& dataset, std::uint64_t id) {
            if (id >= dataset.size()) throw nb::index_error("record id");
            return dataset.location(id);
          },
          "id"_a)
      .def("read", &read, "id"_a,
           nb::sig("def read(self, id: int) -> dict[str, int | bytes | numpy.typing.NDArray[numpy.uint8]]"));
}

// The command line, and how its modules are found.
void bind_program(nb::module_& m) {
  m.def(
      "set_package_path",
      [](const std::vector<std::string>& folders) {
        set_package_path({folders.begin(), folders.end()});
      },
      "folders"_a);
  m.def(
      "set_python_interpreter", [](const std::string& interpreter) { set_python_interpreter(interpreter); },
      "interpreter"_a);
  m.def("start_environment", &start_environment_of, "arguments"_a);
  m.def("run_program", &run_program_with, "arguments"_a, nb::call_guard<nb::gil_scoped_release>());
}

// From paths, Python objects and documents to datasets.
void bind_sources(nb::module_& m) {
  m.def("open", &open, "path"_a, "split"_a, "labels"_a, "next_to_data"_a);
  m.def("python_source", &python_source, "object"_a, "name"_a, "classes"_a, "concurrency"_a, "labelled"_a);
  m.def("end_source", &end_source, "source"_a);
  m.def("concatenate", &concatenation, "parts"_a, "names"_a);
  m.def(
      "open_sources",
      [](const std::string& text, const std::string& name) {
        const SpecDocument document = read_spec_document(text, name);
        require_source(document.pipeline);
        return std::const_pointer_cast<Dataset>(listening([&] { return open_sources(document.pipeline); }));
      },
      "text"_a, "name"_a);
  m.def(
      "read_document",
      [](const std::string& text, const std::string& name) {
        return json_text(yaml_to_json(to_yaml(checked(read_spec_document(text, name).pipeline))));
      },
      "text"_a, "name"_a);
}

// Loader and its options.
void bind_loader(nb::module_& m) {
  nb::class_<Loader::Options>(m, "LoaderOptions")
      .def(
          "__init__",
          [](Loader::Options* self, const PositionTuple& position, SampleSetPtr samples,
             const std::vector<Stretch>& stretches, const DeviceBytes& device_bytes,
             std::shared_ptr<DecodeBalance> decode) {
            auto* const options = new (self) Loader::Options();
            options->start = position_of(position);
            options->basis = basis_of(std::move(samples), stretches);
            options->on_device = {device_bytes.first, device_bytes.second};
            options->decode = std::move(decode);
          },
          "position"_a, "samples"_a, "stretches"_a, "device_bytes"_a = DeviceBytes(0, 0),
          "decode"_a.none() = nb::none());
  nb::class_<PyLoader>(m, "Loader")
      .def(
          "__init__",
          [](PyLoader* self, const std::string& spec, DatasetPtr dataset, const Loader::Options& options,
             nb::object allocate) { new (self) PyLoader(spec, std::move(dataset), std::move(allocate), options); },
          "spec"_a, "dataset"_a, "options"_a, "allocate"_a.none() = nb::none(),
          nb::sig("def __init__(self, spec: str, dataset: Dataset, options: LoaderOptions, "
                  "allocate: collections.abc.Callable[[int], tuple[int, object]] | None = None) -> None"))
      .def(
          "next",
          [](PyLoader& loader) -> nb::object {
            std::optional<Batch> batch = loader.next();
            return batch ? nb::object(arrays(std::move(*batch), loader.output())) : nb::none();
          },
          nb::lock_self(),
          nb::sig("def next(self) -> tuple[numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[typing.Any], "
                  "numpy.typing.NDArray[numpy.uint64], numpy.typing.NDArray[numpy.int32] | None, int, int, int, bool] "
                  "| None"))
      .def("close", &PyLoader::close)
      .def_prop_ro("forked", [](PyLoader& loader) { return loader.loader().forked(); })
      .def("memory",
           [](PyLoader& loader) {
             const GilRelease release;
             std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> list;
             for (const MemoryShare& share : loader.loader().memory())
               list.emplace_back(share.component, share.bytes, share.most);
             return list;
           })
      .def("progress", [](PyLoader& loader) { return tuple_of(loader.loader().progress()); })
      .def(
          "profile", [](PyLoader& loader) { return to_json(loader.loader().profile()); }, nb::call_guard<GilRelease>())
      .def(
          "explain", [](PyLoader& loader) { return loader.loader().explain(); }, nb::call_guard<GilRelease>())
      .def(
          "bad_samples",
          [](PyLoader& loader, std::size_t most) {
            const GilRelease release;
            std::vector<std::tuple<std::uint64_t, std::string, std::string>> list;
            for (const BadSample& bad : loader.loader().bad_samples(most))
              list.emplace_back(bad.id, to_string(bad.location), bad.reason);
            return list;
          },
          "most"_a);
}

// Specs: checks, sizes, the plan, the names of operations; notices and the quarantine file.
void bind_specs(nb::module_& m) {
  m.def("write_quarantine", &write_quarantine, "path"_a, "dataset"_a, "bad"_a);

  m.def(
      "canonical", [](const std::string& text) { return to_yaml(checked(pipeline_from_yaml(text, "pipeline"))); },
      "spec"_a);
  m.def("check", &check, "spec"_a);
  m.def(
      "size_changes",
      [](const std::string& text) { return size_changes_from(pipeline_from_yaml(text, "pipeline")).has_value(); },
      "spec"_a);
  m.def(
      "sample_of",
      [](const std::string& text, DatasetPtr dataset, SampleSetPtr samples) {
        const GilRelease release;
        PipelineSpec spec = pipeline_from_yaml(text, "pipeline");
        spec.cache = {};  // a cache does not change shapes
        RunOptions options;
        options.usable_cores = read_topology().usable();
        options.grow = true;
        const Plan plan = plan_run(std::move(spec), std::move(dataset), options, {std::move(samples), {}}).plan;
        const Size size = plan.sample_size();
        return std::make_tuple(size.height, size.width, plan.target_classes());
      },
      "spec"_a, "dataset"_a, "samples"_a);
  m.def("schema", &spec_schema);
  m.def("settings_schema", &settings_schema);
  m.def("epoch_of", &epoch_of, "spec"_a, "samples"_a);
  m.def(
      "explain",
      [](const std::string& text, DatasetPtr dataset, SampleSetPtr samples, const DeviceBytes& device_bytes,
         bool decodes) {
        const GilRelease release;
        RunOptions options;
        options.usable_cores = read_topology().usable();
        options.grow = true;
        options.on_device = {device_bytes.first, device_bytes.second, decodes};
        return explain(
            plan_run(pipeline_from_yaml(text, "pipeline"), std::move(dataset), options, {std::move(samples), {}}));
      },
      "spec"_a, "dataset"_a, "samples"_a, "device_bytes"_a = DeviceBytes(0, 0), "decodes"_a = false);
  m.def("operations", [] {
    std::vector<std::pair<std::string, std::string>> list;
    for (const OperationInfo& info : operations()) list.emplace_back(info.name, info.help);
    return list;
  });
  m.def("take_notice", &take_notice);
  m.def("usable_cores", [] { return read_topology().usable(); });
  m.def("batch_operations", [] {
    std::vector<std::pair<std::string, std::string>> list;
    for (const BatchOperationInfo& info : batch_operations()) list.emplace_back(info.name, info.help);
    return list;
  });
}

}  // namespace

NB_MODULE(_core, m) {
  m.def("set_leak_warnings", &nb::set_leak_warnings);
  prepare_exit();
  translate_errors();
  queue_notices();
  bind_dataset(m);
  bind_program(m);
  bind_sources(m);
  bind_samples(m);
  bind_device_operations(m);
  bind_functions(m);
  bind_operation_parameters(m);
  bind_train_settings(m);
  bind_training(m);
  bind_loader(m);
  bind_specs(m);
}

}  // namespace unstarve::python
