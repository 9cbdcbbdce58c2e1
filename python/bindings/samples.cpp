#include "python/bindings/samples.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "python/bindings/bindings.h"
#include "python/bindings/gil.h"
#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/order/run_state.h"
#include "unstarve/pipeline/order/sample_facts.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/dataset/data_identity.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// (name, function that maps ids to whether each passes); None: all pass
using Predicate = std::optional<std::pair<std::string, nb::callable>>;

void filter_ids(const Predicate& predicate, std::vector<std::uint32_t>& ids) {
  const GilAcquire acquire;
  const auto passes = nb::cast<std::vector<bool>>(predicate->second(ids));
  if (passes.size() != ids.size())
    throw Error(ErrorKind::kInternal, fmt::format("filter: {} results for {} samples", passes.size(), ids.size()));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (passes[i]) ids[kept++] = ids[i];
  ids.resize(kept);
}

// Throws the exception of a signal handler (Ctrl-C) if the calling thread is the main thread.
void check_signals() {
  const GilAcquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

using Weights = std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

SampleSetPtr choose(const std::string& text, const DatasetPtr& dataset, const std::vector<Predicate>& predicates,
                    const Weights& weights) {
  const PipelineSpec spec = pipeline_from_yaml(text, "pipeline");
  std::vector<SamplePredicate> filters(predicates.size());
  for (std::size_t i = 0; i < predicates.size(); ++i)
    if (const Predicate& predicate = predicates[i])
      filters[i] = {predicate->first, [&predicate](std::vector<std::uint32_t>& ids) { filter_ids(predicate, ids); }};
  if (weights && !filters.empty()) filters[0].weights = {weights->data(), weights->size()};
  const GilRelease release;
  check_spec(spec);
  return std::const_pointer_cast<SampleSet>(choose_samples(spec, *dataset, 0, filters, check_signals));
}

// `any_size`: the samples may differ in size, because functions of the user follow.
void check_samples(const std::string& text, const DatasetPtr& dataset, const SampleSetPtr& samples, bool any_size) {
  const PipelineSpec spec = pipeline_from_yaml(text, "pipeline");
  const GilRelease release;
  if (any_size)
    require_labels(spec, *dataset);
  else
    check_data(spec, *dataset, *samples, check_signals);
}

SampleFacts facts_of(const Dataset& dataset) { return {dataset, read_topology().usable(), check_signals}; }

std::vector<std::optional<std::int64_t>> labels_of(const DatasetPtr& dataset, const std::vector<std::uint32_t>& ids) {
  const GilRelease release;
  return facts_of(*dataset).labels(ids);
}

// (width, height, bytes)
using ImageTuple = std::tuple<int, int, std::uint64_t>;

std::vector<std::optional<ImageTuple>> images_of(const DatasetPtr& dataset, const std::vector<std::uint32_t>& ids) {
  const GilRelease release;
  std::vector<std::optional<ImageTuple>> list;
  for (const auto& image : facts_of(*dataset).images(ids))
    list.push_back(image ? std::optional(ImageTuple{image->size.width, image->size.height, image->bytes})
                         : std::nullopt);
  return list;
}

// (records, (first, count) of the runs of ids, other ids as bytes of uint32, first sample of each group, weights, ends
// of the shares as bytes of uint64)
using SetState = std::tuple<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>, nb::bytes,
                            std::vector<std::uint64_t>, std::vector<double>, nb::bytes>;

SetState state_of(const SampleSet& set) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  for (const SampleIds::Run& run : set.ids().runs()) runs.emplace_back(run.first, run.count);
  const std::span<const std::uint32_t> list = set.ids().list();
  const std::vector<std::uint64_t>& ends = set.shares().ends();
  return {set.records(), std::move(runs), nb::bytes(list.data(), list.size_bytes()),
          set.begin(),   set.weights(),   nb::bytes(ends.data(), ends.size() * sizeof(ends[0]))};
}

void set_state(SampleSet& set, const SetState& state) {
  const auto& [records, runs, bytes, begin, weights, shares] = state;
  SampleIds ids(records);
  for (const auto& [first, count] : runs) ids.add(first, count);
  ids.add({static_cast<const std::uint32_t*>(bytes.data()), bytes.size() / sizeof(std::uint32_t)});
  new (&set) SampleSet(records, std::move(ids), begin, weights);
  std::vector<std::uint64_t> ends(shares.size() / sizeof(std::uint64_t));
  if (!ends.empty()) std::memcpy(ends.data(), shares.data(), shares.size());
  set.set_shares(Shares(std::move(ends)));
}

// The endless sequence of the batches of a run.
class Run {
 public:
  Run(const std::string& text, SampleSetPtr samples, const std::vector<Stretch>& stretches, EpochPosition start)
      : spec_(pipeline_from_yaml(text, "pipeline")),
        order_(Order(spec_.order, spec_.batch, basis_of(std::move(samples), stretches)), std::move(start), 0),
        epoch_(order_.start().epoch),
        batch_(order_.start().batch) {}

  // Returns (epoch, batch, whether it is the last of the epoch, (id, draw) of each sample).
  std::tuple<std::uint32_t, std::uint64_t, bool, std::vector<std::pair<std::uint64_t, std::uint32_t>>> next() {
    const Order& order = order_.of_epoch(epoch_);
    const Order::Epoch epoch(order, epoch_);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> samples(order.batch_samples(batch_));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample sample = epoch.sample(batch_, i);
      samples[i] = {sample.id, sample.draw};
    }
    const std::uint32_t this_epoch = epoch_;
    const std::uint64_t batch = batch_;
    const bool last = batch + 1 == order.batches_per_epoch();
    epoch_ += last ? 1 : 0;
    batch_ = last ? 0 : batch + 1;
    return {this_epoch, batch, last, std::move(samples)};
  }

 private:
  PipelineSpec spec_;
  RunOrder order_;
  std::uint32_t epoch_;
  std::uint64_t batch_;
};

std::vector<MixtureStretch> stretches_of(const std::vector<Stretch>& stretches) {
  return basis_of(nullptr, stretches).stretches;
}

std::vector<Stretch> tuples_of(const std::vector<MixtureStretch>& stretches) {
  std::vector<Stretch> tuples;
  for (const MixtureStretch& stretch : stretches) tuples.emplace_back(stretch.from, stretch.given, stretch.weights);
  return tuples;
}

std::string state_text(const RunState& run, const ProgressTuple& progress, const std::vector<Stretch>& stretches) {
  const auto& [epoch, offset, used, samples, ahead] = progress;
  return run.text({{epoch, 0, offset, unpacked(used)}, samples, unpacked(ahead)}, stretches_of(stretches));
}

// Returns (epoch, samples used, bits of later ones, stretches, samples per bucket).
std::tuple<std::uint32_t, std::uint64_t, nb::bytes, std::vector<Stretch>, std::uint64_t> start_of(
    const RunState& run, const std::vector<std::string>& states) {
  const RunStart start = run.start(states);
  return {start.at.epoch, start.at.offset, packed(start.at.used), tuples_of(start.stretches), start.bucket_run};
}

// Makes single samples of a pipeline, of the size that the operations give them.
//
// Threads: thread-safe; each call of make() uses its own worker buffers.
class SampleReader {
 public:
  SampleReader(const std::string& text, DatasetPtr dataset, SampleSetPtr samples) {
    PipelineSpec spec = pipeline_from_yaml(text, "pipeline");
    const GilRelease release;
    PlannedRun run = plan_run(std::move(spec), std::move(dataset), {}, {std::move(samples), {}});
    plan_ = std::make_unique<Plan>(std::move(run.plan));
    resources_ = open_resources(*plan_, run.execution, run.data);
    if (plan_->stages.size() > 1)
      throw Error(ErrorKind::kArgument, "operations: found a schedule before map(); expected constant values");
    plan_->store().sizes = SampleSizes::kAny;
  }

  nb::tuple make(std::uint64_t id, std::uint32_t draw) {
    if (id >= resources_.dataset->size()) throw nb::index_error("sample id");
    auto memory = std::make_unique<AlignedBytes>();
    std::int64_t label = 0;
    Size size;
    {
      const GilRelease release;
      std::unique_ptr<SampleProgram> worker = take();
      StageTotals totals;
      label = worker->make({id, draw}, totals, false);
      size = worker->output_size();
      memory->reserve_discard(std::max<std::size_t>(worker->output_bytes(), 1));
      worker->store(memory->data(), totals, false);
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(worker));  // a worker that threw is not reused
    }
    return nb::make_tuple(array(std::move(memory), size), label);
  }

  [[nodiscard]] std::string location(std::uint64_t id) const {
    const GilRelease release;
    return resources_.dataset->location(id);
  }

 private:
  std::unique_ptr<SampleProgram> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<SampleProgram> worker = std::move(idle_.back());
        idle_.pop_back();
        return worker;
      }
    }
    return std::make_unique<SampleProgram>(*plan_, resources_);
  }

  // bfloat16 is represented as uint16, which NumPy supports.
  [[nodiscard]] nb::object array(std::unique_ptr<AlignedBytes> memory, Size made) const {
    const StoreFormat& output = plan_->store().format;
    const auto height = static_cast<std::size_t>(made.height), width = static_cast<std::size_t>(made.width);
    const std::size_t channels = kChannels;
    const bool last = output.layout == Layout::kNhwc;
    const std::size_t shape[3] = {last ? height : channels, last ? width : height, last ? channels : width};
    void* const data = memory->data();
    const nb::capsule owner(memory.release(), [](void* p) noexcept { delete static_cast<AlignedBytes*>(p); });
    switch (output.type) {
      case ElementType::kUint8: return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, 3, shape, owner));
      case ElementType::kFloat32: return nb::cast(nb::ndarray<nb::numpy, float>(data, 3, shape, owner));
      case ElementType::kBfloat16: return nb::cast(nb::ndarray<nb::numpy, std::uint16_t>(data, 3, shape, owner));
      case ElementType::kFloat16:
        return nb::cast(nb::ndarray<nb::numpy>(data, 3, shape, owner, nullptr, kFloat16Numbers));
    }
    throw Error(ErrorKind::kInternal, "unknown element type");
  }

  std::unique_ptr<Plan> plan_;
  Resources resources_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SampleProgram>> idle_;
};

}  // namespace

EpochPosition position_of(const PositionTuple& position) {
  const auto& [epoch, batch, offset, used] = position;
  return {epoch, batch, offset, unpacked(used)};
}

OrderBasis basis_of(SampleSetPtr samples, const std::vector<Stretch>& stretches) {
  OrderBasis basis{std::move(samples), {}};
  for (const auto& [from, given, weights] : stretches) basis.stretches.push_back({from, given, weights});
  return basis;
}

nb::bytes packed(const std::vector<bool>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<bool> unpacked(const nb::bytes& bytes) {
  std::vector<bool> bits;
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    if ((static_cast<unsigned char>(bytes.c_str()[i / 8]) >> (i % 8) & 1) == 0) continue;
    bits.resize(i + 1);
    bits[i] = true;
  }
  return bits;
}

void bind_samples(nb::module_& m) {
  nb::class_<SampleSet>(m, "SampleSet")
      .def("__len__", &SampleSet::size)
      .def("next", &SampleSet::next, "id"_a)
      .def("first", [](const SampleSet& set) { return set.id(0); })
      .def("__getstate__", &state_of)
      .def("__setstate__", &set_state);
  m.def("choose", &choose, "spec"_a, "dataset"_a, "predicates"_a, "weights"_a.none() = nb::none(),
        nb::sig("def choose(spec: str, dataset: Dataset, predicates: collections.abc.Sequence[tuple[str, "
                "collections.abc.Callable[[list[int]], list[bool]]] | None], "
                "weights: numpy.typing.NDArray[numpy.float64] | None = None) -> SampleSet"));
  m.def("check_samples", &check_samples, "spec"_a, "dataset"_a, "samples"_a, "any_size"_a);
  m.def("labels_of", &labels_of, "dataset"_a, "ids"_a);
  m.def("images_of", &images_of, "dataset"_a, "ids"_a);
  nb::class_<Run>(m, "Run")
      .def(
          "__init__",
          [](Run* self, const std::string& spec, SampleSetPtr samples, const std::vector<Stretch>& stretches,
             const PositionTuple& position) {
            new (self) Run(spec, std::move(samples), stretches, position_of(position));
          },
          "spec"_a, "samples"_a, "stretches"_a, "position"_a)
      .def("next", &Run::next, nb::lock_self());
  nb::class_<RunState>(m, "RunState")
      .def(
          "__init__",
          [](RunState* self, const std::string& spec, SampleSetPtr samples, const DatasetPtr& dataset) {
            new (self) RunState(pipeline_from_yaml(spec, "pipeline"), std::move(samples), data_identity(*dataset));
          },
          "spec"_a, "samples"_a, "dataset"_a)
      .def("first_stretches", [](const RunState& run) { return tuples_of(run.first_stretches()); })
      .def("text", &state_text, "progress"_a, "stretches"_a)
      .def("start", &start_of, "states"_a);
  nb::class_<SampleReader>(m, "SampleReader")
      .def(nb::init<const std::string&, DatasetPtr, SampleSetPtr>(), "spec"_a, "dataset"_a, "samples"_a)
      .def("make", &SampleReader::make, "id"_a, "draw"_a,
           nb::sig("def make(self, id: int, draw: int) -> tuple[numpy.typing.NDArray[typing.Any], int]"))
      .def("location", &SampleReader::location, "id"_a);
}

}  // namespace unstarve::python
