#pragma once
// The scalars and the text of a recording for TensorBoard. Scalars of a run are written to a subfolder of its name.
//
// Threads, failure: as EventFile.

#include <filesystem>

#include "unstarve/jobs/common/recording.h"

namespace unstarve {

void write_recording_events(const std::filesystem::path& folder, const Recording& recording);

}  // namespace unstarve
