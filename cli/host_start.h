#pragma once
// Applies the host settings of a command to this process: sets variables, or starts the program again with them.
//
// A start replaces the process image (execve): process id, descriptors and arguments remain. It happens before data is
// opened, threads start or anything is printed. UNSTARVE_STARTED, with the process id, prevents a second one.
//
// Threads: none but the caller. Failure: Error(kMissing) if the allocator is not on this machine or cannot be loaded,
//          Error(kIo) if the program cannot be started again, Error(kInternal) if the system drops variables.

#include <optional>

#include "command.h"
#include "unstarve/jobs/host/host_settings.h"

namespace unstarve::cli {

// The host settings of the process of a command that trains; nothing for other commands. Opens no data. Throws Error.
[[nodiscard]] std::optional<HostSettings> host_settings_of(const Command& command, const Arguments& arguments);
// Whether the command reports that the allocator is missing on this machine, together with its other faults.
[[nodiscard]] bool reports_allocator(const Command& command, const HostSettings& settings);
// `argv`: of main().
void apply_host_settings(const HostSettings& settings, char** argv);

}  // namespace unstarve::cli
