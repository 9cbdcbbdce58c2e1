#include <algorithm>
#include <array>

#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

// Each is defined in its own file. Of processes:
extern const Rule kFewWorkers, kManyWorkers, kUnevenWorkers, kSerialInput, kLargeImages, kSlowReads, kLock,
    kStorageWait, kCpuQuota, kOtherPrograms, kOperatorThreads, kPythonBound, kSmallSteps, kLoggingStall,
    kCheckpointStall, kRecompilation, kGrowingMemory, kSlowStart, kStragglerRank;
// Of traces:
extern const Rule kInputWait, kPageableCopies, kExposedCopies, kFloatCopies, kTinyCopies, kLaunchBound, kHiddenSyncs,
    kTensorCoresUnused, kAllocationsInSteps, kCheckpointIdle, kLoggingIdle, kStepOutliers, kCommunicationExposed,
    kMemoryHeadroom, kAcceleratorFull, kFewSteps;

std::span<const Rule> rules() {
  static const std::array kRules{kFewWorkers,
                                 kManyWorkers,
                                 kUnevenWorkers,
                                 kSerialInput,
                                 kLargeImages,
                                 kSlowReads,
                                 kLock,
                                 kStorageWait,
                                 kCpuQuota,
                                 kOtherPrograms,
                                 kOperatorThreads,
                                 kPythonBound,
                                 kSmallSteps,
                                 kLoggingStall,
                                 kCheckpointStall,
                                 kRecompilation,
                                 kGrowingMemory,
                                 kSlowStart,
                                 kStragglerRank,
                                 kInputWait,
                                 kPageableCopies,
                                 kExposedCopies,
                                 kFloatCopies,
                                 kTinyCopies,
                                 kLaunchBound,
                                 kHiddenSyncs,
                                 kTensorCoresUnused,
                                 kAllocationsInSteps,
                                 kCheckpointIdle,
                                 kLoggingIdle,
                                 kStepOutliers,
                                 kCommunicationExposed,
                                 kMemoryHeadroom,
                                 kAcceleratorFull,
                                 kFewSteps};
  return kRules;
}

std::vector<RunFinding> findings_of(const RunProfile& profile) {
  std::vector<RunFinding> findings;
  for (const Rule& rule : rules()) {
    if (std::optional<RunFinding> finding = rule.find(profile)) {
      finding->rule = rule.name;
      findings.push_back(std::move(*finding));
    }
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const RunFinding& a, const RunFinding& b) { return a.lost > b.lost; });
  return findings;
}

}  // namespace unstarve
