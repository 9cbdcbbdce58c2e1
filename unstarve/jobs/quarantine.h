#pragma once
// The quarantine list: which records of a data set could not be used, for `pack --exclude` and for people. One JSON
// object a line, as quarantine_entry.h tells.
//
// Threads: free functions. Failure: Error(kIo); a list that was there before stays when writing fails.

#include <filesystem>
#include <span>
#include <string>

#include "unstarve/jobs/inspect.h"
#include "unstarve/pipeline/executor/loader.h"

namespace unstarve {

// Of a run, and of what inspecting found.
[[nodiscard]] std::string quarantine_lines(std::span<const BadSample> bad);
[[nodiscard]] std::string quarantine_lines(std::span<const CorruptRecord> corrupt);
void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad);
void write_quarantine(const std::filesystem::path& path, std::span<const CorruptRecord> corrupt);

}  // namespace unstarve
