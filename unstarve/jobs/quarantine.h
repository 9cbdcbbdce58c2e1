#pragma once
// Writes quarantine lists: records that could not be used, one JSON object per line (quarantine_entry.h). `unstarve
// pack --exclude` reads them.
//
// Threads: free functions. Failure: Error(kIo); an existing list stays unchanged if writing fails.

#include <filesystem>
#include <span>
#include <string>

#include "unstarve/jobs/inspect.h"
#include "unstarve/pipeline/executor/loader.h"

namespace unstarve {

// From the bad samples of a training run, or from the corrupt records of an inspection.
[[nodiscard]] std::string quarantine_lines(std::span<const BadSample> bad);
[[nodiscard]] std::string quarantine_lines(std::span<const CorruptRecord> corrupt);
void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad);
void write_quarantine(const std::filesystem::path& path, std::span<const CorruptRecord> corrupt);

}  // namespace unstarve
