#include "unstarve/jobs/ladder/step_profile.h"

#include <algorithm>

#include "unstarve/core/statistics.h"

namespace unstarve {

std::vector<StepPart> summarise(const std::vector<StepParts>& steps) {
  std::vector<StepPart> parts;
  const auto add = [&](const char* name, const auto& value_ms) {
    std::vector<double> values;
    for (const StepParts& step : steps) values.push_back(value_ms(step));
    if (values.empty()) return;
    double sum = 0;
    for (double value : values) sum += value;
    if (sum <= 0) return;
    parts.push_back({name, sum / static_cast<double>(values.size()), median(values), quantile(values, 0.95)});
  };
  add("wait", [](const StepParts& s) { return static_cast<double>(s.wait_ns) / 1e6; });
  add("copy", [](const StepParts& s) { return static_cast<double>(s.copy_ns) / 1e6; });
  add("forward", [](const StepParts& s) { return s.network.forward_ms; });
  add("backward", [](const StepParts& s) { return s.network.backward_ms; });
  add("optimiser", [](const StepParts& s) { return s.network.optimiser_ms; });
  // The rest: all compute time of an emulated accelerator, little of a network.
  add("compute", [](const StepParts& s) {
    return std::max(0.0, static_cast<double>(s.compute_ns) / 1e6 - s.network.forward_ms - s.network.backward_ms -
                             s.network.optimiser_ms);
  });
  return parts;
}

std::vector<UtilisationPoint> utilisation_over_time(const std::vector<StepParts>& steps, std::int64_t nominal_step_ns,
                                                    std::size_t points) {
  std::vector<UtilisationPoint> line;
  const std::size_t stride = std::max<std::size_t>(1, (steps.size() + points - 1) / points);
  std::int64_t at = 0, wall = 0, busy = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    at += steps[i].total_ns();
    wall += steps[i].total_ns();
    busy += nominal_step_ns > 0 ? nominal_step_ns : steps[i].compute_ns;
    if ((i + 1) % stride == 0 || i + 1 == steps.size()) {
      line.push_back(
          {static_cast<double>(at) / 1e9, std::min(1.0, static_cast<double>(busy) / static_cast<double>(wall))});
      wall = busy = 0;
    }
  }
  return line;
}

}  // namespace unstarve
