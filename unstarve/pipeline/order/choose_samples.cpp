// Selects records by filter and take of each source, and groups them for mixtures and balanced classes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/order/mixture.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/order/record_list.h"
#include "unstarve/pipeline/order/sample_facts.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Records that are filtered together before `take` is checked.
constexpr std::uint64_t kChunk = 8192;
// Larger labels are not class numbers; one group for each would take more memory than the data.
constexpr std::int64_t kMaxClasses = std::int64_t{1} << 24;

template <class... Args>
[[noreturn]] void reject_choice(const std::string& node, fmt::format_string<Args...> what, Args&&... args) {
  throw argument_error("{}: {}", node, fmt::format(what, std::forward<Args>(args)...));
}

// The numbers of classes that are specified by name, or by number if no class has that name: ascending, unique. Throws
// Error(kArgument), beginning with `node`, for an unknown class. A dataset without class names accepts any number.
std::vector<std::int64_t> class_numbers(const std::vector<std::string>& labels, const std::vector<std::string>& classes,
                                        const std::string& node) {
  std::vector<std::int64_t> numbers;
  for (const std::string& label : labels) {
    const auto named = std::find(classes.begin(), classes.end(), label);
    const auto number = parse_number<std::int64_t>(label);
    if (named != classes.end()) {
      numbers.push_back(named - classes.begin());
    } else if (number && *number >= 0 && (classes.empty() || *number < static_cast<std::int64_t>(classes.size()))) {
      numbers.push_back(*number);
    } else if (classes.empty()) {
      reject_choice(node, "found \"{}\"; expected a number, because the dataset has no class names", label);
    } else {
      constexpr std::size_t kListed = 10;
      const auto listed = std::span(classes).first(std::min(classes.size(), kListed));
      reject_choice(node, "found \"{}\"; expected the name or number of one of {} classes: {}{}", label, classes.size(),
                    fmt::join(listed, ", "), listed.size() < classes.size() ? ", ..." : "");
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

class Conditions {
 public:
  Conditions(const FilterSpec& filter, const std::string& node, const Dataset& dataset) : filter_(filter) {
    if (filter.by_label() && dataset.field_index(FieldKind::kLabel) < 0)
      reject_choice(node, "{} has no labels; expected a dataset with labels", dataset.format());
    if (filter.max_side > 0 && filter.min_side > filter.max_side)
      reject_choice(node + ".min_side", "{} is above max_side {}; expected at most max_side", filter.min_side,
                    filter.max_side);
    if (filter.max_aspect > 0 && filter.max_aspect < 1)
      reject_choice(node + ".max_aspect", "{}; expected 1 (squares) or more, or 0 for no limit", filter.max_aspect);
    keep_ = class_numbers(filter.labels, dataset.classes(), node + ".labels");
    drop_ = class_numbers(filter.drop_labels, dataset.classes(), node + ".drop_labels");
  }
  // Unknown labels pass.
  [[nodiscard]] bool label_passes(std::optional<std::int64_t> label) const {
    if (!label) return true;
    if (!keep_.empty() && !std::binary_search(keep_.begin(), keep_.end(), *label)) return false;
    return !std::binary_search(drop_.begin(), drop_.end(), *label);
  }
  [[nodiscard]] bool size_passes(Size size) const {
    const auto [shorter, longer] = std::minmax(size.width, size.height);
    return shorter >= filter_.min_side && (filter_.max_side == 0 || longer <= filter_.max_side) &&
           (filter_.max_aspect == 0 || longer <= filter_.max_aspect * shorter);
  }

 private:
  const FilterSpec& filter_;
  std::vector<std::int64_t> keep_, drop_;  // ascending
};

class Chooser {
 public:
  Chooser(const PipelineSpec& spec, const Dataset& dataset, int threads, const Check& check)
      : spec_(spec), dataset_(dataset), facts_(dataset, threads, check), ids_(dataset.size()) {}

  // Appends the selected ids of a source.
  void source(const SourceSpec& source, const SamplePredicate* predicate, const std::string& node, std::uint64_t begin,
              std::uint64_t end) {
    const bool all = source.subset.empty() && source.part == PartSpec{};
    if (all && source.filter == FilterSpec{} && predicate == nullptr) {
      ids_.add(begin, std::min(end - begin, source.take.value_or(end - begin)));
      return;
    }
    check_listed(node + ".filter");
    const std::vector<std::uint32_t> listed =
        all ? std::vector<std::uint32_t>() : listed_records(source, node, end - begin);
    const std::uint64_t records = all ? end - begin : listed.size();
    const Conditions conditions(source.filter, node + ".filter", dataset_);
    const std::uint64_t before = ids_.size();
    std::uint64_t needed = source.take.value_or(records), checked = 0, tested = 0;
    const std::uint64_t read_before = facts_.read();
    for (std::uint64_t first = 0; first < records && needed > 0; first += kChunk) {
      std::vector<std::uint32_t> passing;
      for (std::uint64_t i = first; i < std::min(records, first + kChunk); ++i)
        passing.push_back(static_cast<std::uint32_t>(begin + (all ? i : listed[i])));
      checked += pass(source.filter, conditions, passing);
      if (predicate != nullptr) {
        tested += passing.size();
        predicate->keep(passing);
      }
      passing.resize(static_cast<std::size_t>(std::min<std::uint64_t>(passing.size(), needed)));
      ids_.add(passing);
      needed -= passing.size();
    }
    if (checked > 0)
      notes_.push_back(fmt::format("{}: filtered {} images by size before the run, {} records read", node, checked,
                                   facts_.read() - read_before));
    if (predicate != nullptr)
      notes_.push_back(fmt::format("{}: {} selects {} of {} samples, evaluated once before the run", node,
                                   predicate->name, ids_.size() - before, tested));
    if (ids_.size() == before)
      throw input_error("{}: the filter selects none of {} samples; expected at least one", node, records);
  }

  // The weights of the selected samples, from those of all records.
  [[nodiscard]] Shares shares(std::span<const double> given) const {
    if (spec_.order.balance || !spec_.order.shuffle || spec_.order.window > 0 ||
        (!spec_.mix.empty() && spec_.mix[0].weight))
      reject_choice("order.sample_weights",
                    "found with order.balance, order.window, mix[].weight or without shuffling; expected shuffled "
                    "samples without them");
    check_listed("order.sample_weights");
    std::vector<double> read;
    if (given.empty()) {
      read = read_sample_weights(spec_.order.sample_weights, dataset_.size());
      given = read;
    }
    if (given.size() != dataset_.size())
      reject_choice("order.sample_weights", "{} weights; expected {}, one per record", given.size(), dataset_.size());
    std::vector<double> weights(static_cast<std::size_t>(ids_.size()));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = given[ids_[i]];
    try {
      return Shares(weights);
    } catch (const Error& error) {
      reject_choice("order.sample_weights", "{}", error.what());
    }
  }

  // Sorts the ids by class. Samples without a readable label are dropped, or fail the run (errors.policy: fail).
  std::shared_ptr<SampleSet> balanced() {
    if (dataset_.field_index(FieldKind::kLabel) < 0)
      reject_choice("order.balance", "{} has no labels; expected a dataset with labels", dataset_.format());
    check_listed("order.balance");
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(ids_.size()));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint32_t>(ids_[i]);
    const auto labels = facts_.labels(ids);
    std::size_t classes = dataset_.classes().size();
    const std::int64_t most = classes > 0 ? static_cast<std::int64_t>(classes) : kMaxClasses;
    std::uint64_t unknown = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!labels[i]) {
        if (spec_.errors.policy == OnError::kFail) facts_.fail(ids[i]);
        ++unknown;
        continue;
      }
      if (*labels[i] < 0 || *labels[i] >= most)
        throw input_error("order.balance: {} has label {}, which is not a class number", dataset_.location(ids[i]),
                          *labels[i]);
      classes = std::max(classes, static_cast<std::size_t>(*labels[i]) + 1);
    }
    std::vector<std::uint64_t> begin(classes + 1);
    for (const auto& label : labels)
      if (label) ++begin[static_cast<std::size_t>(*label) + 1];
    for (std::size_t c = 0; c < classes; ++c) begin[c + 1] += begin[c];
    std::vector<std::uint32_t> sorted(begin.back());
    std::vector<std::uint64_t> at(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (labels[i]) sorted[at[static_cast<std::size_t>(*labels[i])]++] = ids[i];
    ids_ = SampleIds(dataset_.size());
    ids_.add(sorted);
    if (unknown > 0) notes_.push_back(fmt::format("order.balance: {} samples without a class are dropped", unknown));
    std::vector<double> weights = class_weights(begin);
    return of_groups(std::move(begin), std::move(weights));
  }

  std::shared_ptr<SampleSet> of_groups(std::vector<std::uint64_t> begin, std::vector<double> weights) {
    return std::make_shared<SampleSet>(dataset_.size(), std::move(ids_), std::move(begin), std::move(weights));
  }
  [[nodiscard]] std::uint64_t size() const { return ids_.size(); }
  std::vector<std::string>& notes() { return notes_; }

 private:
  // The records of subset and part, ascending, relative to the source.
  static std::vector<std::uint32_t> listed_records(const SourceSpec& source, const std::string& node,
                                                   std::uint64_t records) {
    std::vector<std::uint32_t> list;
    if (source.subset.empty()) {
      list.resize(static_cast<std::size_t>(records));
      std::iota(list.begin(), list.end(), 0U);
    } else {
      try {
        list = records_in(source.subset, records);
      } catch (const Error& error) {
        reject_choice(node + ".subset", "{}", error.what());
      }
    }
    if (source.part == PartSpec{}) return list;
    if (source.part.to > list.size())
      reject_choice(node + ".part.to", "{}; expected at most the {} records", source.part.to, list.size());
    constexpr std::uint64_t kPartTweak = tweak_of(1, 0);
    const PermutationKeys keys(source.part.seed, 0);
    std::vector<std::uint32_t> part;
    const std::uint64_t end = source.part.to > 0 ? source.part.to : list.size();
    for (std::uint64_t at = source.part.from; at < end; ++at)
      part.push_back(list[keys.permute(list.size(), at, kPartTweak)]);
    std::sort(part.begin(), part.end());
    return part;
  }

  // Facts of records are addressed by 32-bit ids.
  void check_listed(const std::string& node) const {
    if (dataset_.size() > SampleIds::kMostListed)
      reject_choice(node, "supports at most 2^32 records, found {}; only take has no limit", dataset_.size());
  }

  // Removes ids that do not pass. Returns how many sizes were requested.
  std::uint64_t pass(const FilterSpec& filter, const Conditions& conditions, std::vector<std::uint32_t>& ids) {
    if (filter.by_label()) {
      const auto labels = facts_.labels(ids);
      keep(ids, [&](std::size_t i) { return conditions.label_passes(labels[i]); });
    }
    if (!filter.by_header()) return 0;
    const std::uint64_t checked = ids.size();
    const auto sizes = facts_.sizes(ids);
    keep(ids, [&](std::size_t i) { return !sizes[i] || conditions.size_passes(*sizes[i]); });
    return checked;
  }

  // order.class_weights; default 1, and 0 for classes without samples.
  std::vector<double> class_weights(const std::vector<std::uint64_t>& begin) {
    std::vector<double> weights;
    std::uint64_t empty = 0;
    for (std::size_t c = 0; c + 1 < begin.size(); ++c) {
      weights.push_back(begin[c] == begin[c + 1] ? 0 : 1);
      empty += begin[c] == begin[c + 1] ? 1 : 0;
    }
    for (const auto& [name, weight] : spec_.order.class_weights) {
      const std::string node = "order.class_weights." + name;
      const auto number = static_cast<std::size_t>(class_numbers({name}, dataset_.classes(), node).front());
      if (number >= weights.size() || (weight > 0 && weights[number] == 0))
        reject_choice(node, "found a class without samples; expected weight 0");
      weights[number] = weight;
    }
    if (empty > 0) notes_.push_back(fmt::format("order.balance: {} classes without samples are dropped", empty));
    return weights;
  }

  template <class Passes>
  static void keep(std::vector<std::uint32_t>& ids, const Passes& passes) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (passes(i)) ids[kept++] = ids[i];
    ids.resize(kept);
  }

  const PipelineSpec& spec_;
  const Dataset& dataset_;
  SampleFacts facts_;
  SampleIds ids_;
  std::vector<std::string> notes_;
};

void check_weights(const SampleSet& set, const std::string& node) {
  if (set.weights().empty()) return;
  try {
    (void)Mixture(set.weights());
  } catch (const Error& error) {
    reject_choice(node, "{}", error.what());
  }
}

// SampleSet::sizes from the index or the image headers. Reads each record at most once, in parallel.
std::vector<Size> output_sizes(const PipelineSpec& spec, const SampleSet& samples, const SampleFacts& facts) {
  if (spec.batch.pad.to != PadTo::kLargest) return {};
  std::vector<std::unique_ptr<Operation>> operations;
  for (const OpSpec& operation : spec.operations)
    operations.push_back(make_operation(at_epoch(operation, 0)));  // the plan rejects schedules that change sizes
  if (std::any_of(operations.begin(), operations.end(), [](const auto& o) { return o->fixed_output(); })) return {};
  if (samples.records() > std::numeric_limits<std::uint32_t>::max())
    reject_choice("batch.pad.to", "largest supports up to 2^32 records, found {}; expected pad.to: size, or fewer",
                  samples.records());
  std::vector<Size> sizes(static_cast<std::size_t>(samples.records()));
  for (std::uint64_t first = 0; first < samples.size(); first += kChunk) {
    std::vector<std::uint32_t> ids;
    for (std::uint64_t index = first; index < std::min(samples.size(), first + kChunk); ++index)
      ids.push_back(static_cast<std::uint32_t>(samples.id(index)));
    const auto stored = facts.sizes(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!stored[i]) continue;
      try {
        Size size = *stored[i];
        for (const auto& operation : operations) size = operation->output_size(size);
        sizes[ids[i]] = size;
      } catch (const Error&) {
        continue;  // the error policy applies when the sample is loaded
      }
    }
  }
  return sizes;
}

}  // namespace

std::shared_ptr<const SampleSet> choose_samples(const PipelineSpec& spec, const Dataset& dataset, int threads,
                                                std::span<const SamplePredicate> predicates, const Check& check) {
  if (threads == 0) threads = threads_for_facts(spec);
  const bool mixed = !spec.mix.empty();
  const std::vector<SourceSpec> sources = mixed ? spec.mix : std::vector{spec.source};
  const std::vector<std::uint64_t> parts = mixed ? dataset.parts() : std::vector<std::uint64_t>{0, dataset.size()};
  if (parts.size() != sources.size() + 1)
    reject_choice("mix", "{} sources, but the dataset was concatenated from {}", sources.size(), parts.size() - 1);
  if (!predicates.empty() && predicates.size() != sources.size())
    reject_choice("filter", "{} predicates for {} sources; expected one each", predicates.size(), sources.size());
  const auto predicate = [&](std::size_t i) {
    return i < predicates.size() && predicates[i].keep ? &predicates[i] : nullptr;
  };
  std::vector<double> weights;
  for (const SourceSpec& source : sources)
    if (mixed && source.weight) weights.push_back(*source.weight);

  const std::span<const double> sample_weights = predicates.empty() ? std::span<const double>() : predicates[0].weights;
  const bool weighted = !spec.order.sample_weights.empty() || !sample_weights.empty();
  bool chosen = spec.order.balance || weighted;
  for (std::size_t i = 0; i < sources.size(); ++i)
    chosen = chosen || sources[i].take || sources[i].filter.by_label() || sources[i].filter.by_header() ||
             predicate(i) != nullptr || !sources[i].subset.empty() || sources[i].part != PartSpec{};
  std::shared_ptr<SampleSet> set;
  if (chosen) {
    Chooser chooser(spec, dataset, threads, check);
    std::vector<std::uint64_t> begin{0};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      chooser.source(sources[i], predicate(i), mixed ? fmt::format("mix[{}]", i) : "source", parts[i], parts[i + 1]);
      begin.push_back(chooser.size());
    }
    if (weights.empty()) begin = {0, chooser.size()};
    Shares shares = weighted ? chooser.shares(sample_weights) : Shares();
    set = spec.order.balance ? chooser.balanced() : chooser.of_groups(std::move(begin), std::move(weights));
    set->notes = std::move(chooser.notes());
    set->set_shares(std::move(shares));
  } else if (!weights.empty()) {
    set = std::make_shared<SampleSet>(parts, std::move(weights));
  } else {
    set = std::make_shared<SampleSet>(dataset.size());
  }
  check_weights(*set, spec.order.balance ? "order.class_weights" : "mix");
  set->sizes = output_sizes(spec, *set, SampleFacts(dataset, threads, check));
  if (!set->sizes.empty())
    set->notes.push_back(
        fmt::format("batch.pad: determined sizes of {} images by the index or their headers", set->size()));
  return set;
}

}  // namespace unstarve
