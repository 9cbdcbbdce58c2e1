#include "unstarve/diagnose/probes/step_log.h"

#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

constexpr std::int64_t kRing = 2048;

struct StepLog {
  std::int64_t count;
  double first;
  double ring[kRing];
};

StepUse steps_of(const StepLog& log) {
  StepUse steps;
  const auto time = [&](std::int64_t i) { return log.ring[i % kRing]; };
  const double seconds = log.count >= 2 ? time(log.count - 1) - log.first : 0;
  if (!(seconds > 0)) return {};
  steps.source = "un.step()";
  steps.count = log.count;
  steps.rate = static_cast<double>(log.count - 1) / seconds;
  for (std::int64_t i = std::max<std::int64_t>(log.count - kRing, 0) + 1; i < log.count; ++i)
    steps.seconds.push_back(time(i) - time(i - 1));
  return steps;
}

}  // namespace

StepUse read_step_logs(const std::filesystem::path& folder) {
  StepUse best;
  std::int64_t most = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".steps") continue;
    StepLog log{};
    std::string bytes;
    try {
      bytes = read_text_file(entry->path());
    } catch (const Error&) {
      continue;  // removed by another program
    }
    if (bytes.size() != sizeof log) continue;
    std::memcpy(&log, bytes.data(), sizeof log);
    if (log.count <= most) continue;
    StepUse steps = steps_of(log);
    if (steps.source.empty()) continue;
    most = log.count;
    best = std::move(steps);
  }
  return best;
}

StepLogFolder::StepLogFolder() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "unstarve-steps-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

StepLogFolder::~StepLogFolder() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace unstarve
