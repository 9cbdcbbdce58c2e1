#pragma once
// Settings that are measured: a Rig in this process, or in a process of its own that starts with the host settings.
//
// Threads: one. Failure: as Rig; for another process also Error(kInternal) with its message, or if it ends.

#include <cstddef>
#include <memory>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/jobs/ladder/rig.h"

namespace unstarve {

class Dataset;

// The shortest useful block, in seconds. Shorter ones measure the scheduler of the OS rather than the settings.
inline constexpr double kShortestBlock = 0.1;

// What the first blocks show.
struct FirstMeasurements {
  std::size_t memory_bytes = 0;  // peak; 0: unknown
  double step_s = 0;             // estimate
};

class Subject {
 public:
  virtual ~Subject() = default;

  virtual Block run(double seconds, int min_steps) = 0;  // as Rig::run()
  // Records the steps of all following blocks, with the parts of the network's step.
  virtual void record() = 0;
  [[nodiscard]] virtual Profile profile() = 0;  // of the recorded steps
  [[nodiscard]] virtual const Settings& settings() const = 0;
  [[nodiscard]] virtual const FirstMeasurements& first() const = 0;
};

// In this process, whose host settings are not those of `settings`. `number`: as in start_of_measurement().
[[nodiscard]] std::unique_ptr<Subject> measure_here(const Settings& settings,
                                                    const std::shared_ptr<const Dataset>& dataset, const Target& target,
                                                    std::uint32_t number = 0);
// In another one, which opens the data of `settings`. `program`: path of the program.
[[nodiscard]] std::unique_ptr<Subject> measure_in_process(const Settings& settings, const Target& target,
                                                          const std::string& program, const HostFacts& facts,
                                                          std::uint32_t number = 0);

// The other process: builds the settings that it reads from descriptor `in` and answers requests on `out` until `in` is
// closed. Returns the exit code. The program runs it for the argument kMeasureCommand, which is not a command for
// users.
inline constexpr const char* kMeasureCommand = "measure-settings";
[[nodiscard]] int serve_measurements(int in, int out);

}  // namespace unstarve
