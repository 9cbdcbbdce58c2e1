#include "unstarve/diagnose/probes/timeline_recorder.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace unstarve {
namespace {

constexpr std::size_t kPoints = 600;

}  // namespace

void TimelineRecorder::add(double seconds, std::span<const ProcessUse> processes, double gpu,
                           const NetworkBytes& network) {
  double main = 0, loader = 0, other = 0, storage = 0, resident = 0, read = 0, faults = 0;
  const auto grown = [](std::int64_t from, std::int64_t to) {
    return static_cast<double>(std::max<std::int64_t>(to - from, 0));
  };
  std::map<int, ProcessUse> now;
  for (const ProcessUse& process : processes) {
    if (process.pid == 0) continue;
    ProcessUse& use = now[process.pid];
    use.cpu_s = process.cpu_s;
    use.storage_bytes = process.storage_bytes;
    use.read_bytes = process.read_bytes;
    use.major_faults = process.major_faults;
    // Pages of files grow while a program reads a memory-mapped dataset, and the kernel drops them without a loss.
    if (process.role == ProcessRole::kMain && !process.ended)
      resident += static_cast<double>(process.anonymous_bytes >= 0 ? process.anonymous_bytes : process.resident_bytes);
    const auto known = before_.find(process.pid);
    const ProcessUse before = known == before_.end() ? ProcessUse{} : known->second;
    (process.role == ProcessRole::kMain     ? main
     : process.role == ProcessRole::kLoader ? loader
                                            : other) += std::max(process.cpu_s - before.cpu_s, 0.0);
    storage += grown(before.storage_bytes, process.storage_bytes);
    read += grown(before.read_bytes, process.read_bytes);
    faults += grown(before.major_faults, process.major_faults);
  }
  before_ = std::move(now);
  const NetworkBytes network_before = std::exchange(network_before_, network);
  const double before_s = std::exchange(seconds_, seconds);
  const double elapsed = seconds - before_s;
  if (before_s < 0 || elapsed <= 0) return;  // the beginning
  // The points that end between the latest call and this one.
  while (static_cast<double>(timeline_.main.size() + 1) * timeline_.interval_s <= seconds) {
    if (gpu >= 0) timeline_.gpu.resize(timeline_.main.size());
    if (gpu >= 0 || !timeline_.gpu.empty()) timeline_.gpu.push_back(std::max(gpu, 0.0));
    timeline_.main.push_back(main / elapsed);
    timeline_.loader.push_back(loader / elapsed);
    timeline_.other.push_back(other / elapsed);
    timeline_.storage_bytes_per_s.push_back(storage / elapsed);
    timeline_.resident_bytes.push_back(resident);
    timeline_.read_bytes_per_s.push_back(read / elapsed);
    timeline_.received_bytes_per_s.push_back(grown(network_before.received, network.received) / elapsed);
    timeline_.sent_bytes_per_s.push_back(grown(network_before.sent, network.sent) / elapsed);
    timeline_.major_faults_per_s.push_back(faults / elapsed);
    if (timeline_.main.size() < kPoints) continue;
    for (auto* list : {&timeline_.main, &timeline_.loader, &timeline_.other, &timeline_.storage_bytes_per_s,
                       &timeline_.resident_bytes, &timeline_.gpu, &timeline_.read_bytes_per_s,
                       &timeline_.received_bytes_per_s, &timeline_.sent_bytes_per_s, &timeline_.major_faults_per_s}) {
      for (std::size_t i = 0; i < list->size() / 2; ++i) (*list)[i] = ((*list)[2 * i] + (*list)[2 * i + 1]) / 2;
      list->resize(list->size() / 2);
    }
    timeline_.interval_s *= 2;
  }
}

}  // namespace unstarve
