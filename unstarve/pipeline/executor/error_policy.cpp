#include "unstarve/pipeline/executor/error_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/delivery/slot.h"
#include "unstarve/pipeline/executor/resources.h"

namespace unstarve {

ErrorPolicy::ErrorPolicy(const ErrorSpec& spec, const Resources& resources, const Order& epoch_order,
                         bool deliver_epoch_ends, bool uneven)
    : spec_(spec),
      resources_(resources),
      order_(epoch_order),
      deliver_epoch_ends_(deliver_epoch_ends),
      uneven_(uneven) {}

// Once there are too many, all workers throw the same error, so that it does not depend on which batch is taken first.
void ErrorPolicy::note_bad(std::uint64_t id, std::uint32_t epoch, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (too_many_) throw Error(*too_many_);
  Bad& bad = bad_.try_emplace(id, Bad{epoch, reason}).first->second;
  bad.epoch = std::min(bad.epoch, epoch);
  const std::int64_t tried = tried_.load(std::memory_order_relaxed);
  if (bad_.size() > spec_.limit) {
    too_many_.emplace(ErrorKind::kInput, fmt::format("{} bad sample{}, more than the limit of {}; the latest: {}",
                                                     bad_.size(), bad_.size() == 1 ? "" : "s", spec_.limit, reason));
  } else if (tried >= static_cast<std::int64_t>(kRateProbation) &&
             static_cast<double>(bad_.size()) > spec_.rate * static_cast<double>(tried)) {
    too_many_.emplace(ErrorKind::kInput,
                      fmt::format("{} bad samples among {}, more than the limit of {:.3g} %; the latest: {}",
                                  bad_.size(), tried, 100 * spec_.rate, reason));
  }
  if (too_many_) throw Error(*too_many_);
}

std::uint64_t ErrorPolicy::replacement(std::uint64_t id, std::uint64_t attempts) const {
  if (attempts + 1 == resources_.samples->size())
    throw input_error("errors: replace: all {} samples are bad; expected at least one good sample", attempts + 1);
  return resources_.samples->next(id);
}

std::optional<Error> ErrorPolicy::failure_of_empty(const Slot& slot) const {
  const std::uint64_t world = order_.world();
  if (uneven_ && world > 1) return {};
  const bool whole_epoch = slot.batch.last_of_epoch && empty_batches_ + 1 >= order_.batches_per_epoch();
  if (world == 1 && !whole_epoch) return {};
  const std::string reason = [&] {
    const std::lock_guard lock(mutex_);
    const auto first = bad_.find(slot.arrays.ids.front());
    return first == bad_.end() ? resources_.dataset->location(slot.arrays.ids.front()) : first->second.reason;
  }();
  if (world == 1)
    return input_error("every sample of epoch {} is bad, and errors: skip leaves none; the first of its last batch: {}",
                       slot.batch.epoch, reason);
  return input_error(
      "every sample of epoch {} batch {} is bad; expected at least one good sample, because each of {} ranks must have "
      "equally many batches. Use errors: replace, or larger batches. The first: {}",
      slot.batch.epoch, slot.batch.index, world, reason);
}

bool ErrorPolicy::leaves_out(const Slot& slot) const {
  if (slot.fill.failure() || slot.delivered.samples > 0 || failure_of_empty(slot)) return false;
  return !(deliver_epoch_ends_ && slot.batch.last_of_epoch);
}

std::vector<BadSample> ErrorPolicy::bad_samples(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<BadSample> list;
  for (const auto& [id, bad] : bad_) {
    if (list.size() == most) break;
    if (bad.epoch > delivered_epoch_.load(std::memory_order_relaxed)) continue;
    list.push_back({id, resources_.dataset->record_location(id), bad.reason});
  }
  return list;
}

std::uint64_t ErrorPolicy::bad_count() const {
  const std::lock_guard lock(mutex_);
  return bad_.size();
}

}  // namespace unstarve
