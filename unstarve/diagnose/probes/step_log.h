#pragma once
// Steps that the program marks by un.step(), which writes them to a file in the folder of the environment variable
// UNSTARVE_STEPS (python/unstarve/step_log.py):
//
//   <process id>.steps    int64 count; float64 first; float64 ring[2048], the time of step i at i modulo 2048
//
// Times are seconds of CLOCK_MONOTONIC. Numbers have the machine's byte order.
//
// Threads: any. Failure: files of another form are ignored; a program may end while it writes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

inline constexpr const char* kStepsVariable = "UNSTARVE_STEPS";
inline constexpr const char* kStepsFolder = "unstarve-steps";  // TemporaryFolder

// The log with most steps; `source` is empty if there are fewer than two.
[[nodiscard]] StepUse read_step_logs(const std::filesystem::path& folder);

// The end of the first step of that log, seconds of CLOCK_MONOTONIC; 0: there is none.
[[nodiscard]] double read_first_step(const std::filesystem::path& folder);

// The steps of every process, by its id. Ends are seconds of CLOCK_MONOTONIC plus `to_unix_s`. Logs whose times
// decrease are left out.
[[nodiscard]] std::map<int, RankSteps> read_rank_steps(const std::filesystem::path& folder, double to_unix_s);
// The ends of the latest steps of a process, seconds of CLOCK_MONOTONIC, ascending; at most 2048. Empty: it marks none.
[[nodiscard]] std::vector<double> read_step_times(const std::filesystem::path& folder, std::uint32_t process);

}  // namespace unstarve
