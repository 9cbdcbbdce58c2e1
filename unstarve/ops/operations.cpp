#include "unstarve/ops/operations.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "unstarve/core/format_error.h"
#include "unstarve/core/suggestion.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/familiar_names.h"

namespace unstarve {

#define OPERATION(name, help) std::unique_ptr<Operation> make_##name(const OpParams& params);
#include "unstarve/ops/operation_table.inl"
#undef OPERATION

namespace {

constexpr std::array kOperations = {
#define OPERATION(name, help) OperationInfo{#name, help, make_##name},
#include "unstarve/ops/operation_table.inl"
#undef OPERATION
};

// Readers take no lock, which a fork could copy while it is held.
struct AddedOperations {
  std::mutex mutex;                             // of writers
  std::list<std::vector<OperationInfo>> lists;  // every list so far: readers may hold an earlier one
  std::atomic<const std::vector<OperationInfo>*> current = &lists.emplace_back();
};

AddedOperations& added_operations() {
  static AddedOperations added;
  return added;
}

}  // namespace

std::vector<OperationInfo> operations() {
  std::vector<OperationInfo> all(kOperations.begin(), kOperations.end());
  const std::vector<OperationInfo>& added = *added_operations().current.load(std::memory_order_acquire);
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

void add_operation(const OperationInfo& info) {
  const auto reject = [&](const char* why) { throw argument_error("add operation '{}': {}", info.name, why); };
  if (info.name.empty() || info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    reject("expected a name of lower-case letters, digits and underscores");
  if (info.make == nullptr) reject("no factory; expected `make`");
  const auto taken = [&](const OperationInfo& other) { return other.name == info.name; };
  AddedOperations& added = added_operations();
  const std::lock_guard lock(added.mutex);
  if (std::any_of(kOperations.begin(), kOperations.end(), taken) ||
      std::any_of(added.lists.back().begin(), added.lists.back().end(), taken))
    reject("the name is taken; expected a unique name");
  std::vector<OperationInfo> list = added.lists.back();
  list.push_back(info);
  added.current.store(&added.lists.emplace_back(std::move(list)), std::memory_order_release);
}

std::unique_ptr<Operation> make_operation(const OpSpec& spec) {
  std::vector<std::string_view> known;
  for (const OperationInfo& info : operations()) {
    if (info.name == spec.name) return info.make(spec.params);
    known.push_back(info.name);
  }
  if (std::ranges::find(batch_operations(), spec.name, &BatchOperationInfo::name) != batch_operations().end())
    throw argument_error(
        "'{}' is an operation on batches; expected an operation on images. Use batch_operations (YAML) "
        "or batch_operation() (Python).",
        spec.name);
  const std::string_view instead = use_instead(spec.name);
  throw argument_error("unknown operation '{}'; known: {}{}", spec.name, fmt::join(known, ", "),
                       instead.empty() ? suggestion(spec.name, known) : std::string(instead));
}

std::vector<ParameterInfo> parameters_of(std::string_view operation) {
  const DescribedParameters described(operation);
  for (const OperationInfo& info : operations())
    if (info.name == operation) (void)info.make({});
  return described.list();
}

}  // namespace unstarve
