#pragma once
// The files that commands write, checked before long work and written after it.
//
// Threads: one. Failure: Error.

#include <filesystem>
#include <string>
#include <vector>

#include "../command.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/observe/report.h"

namespace unstarve::cli {

// Fails before long work, not after it: throws Error(kIo) if no file can be created in the folder of a file that one of
// `options` names; Error(kArgument) for an empty name, for a file that the command reads, --out aside, and for one file
// of two options. Messages begin with the option; with several faults, one line for each option. Call it once per
// command, with all options.
void check_outputs(const Arguments& arguments, const std::vector<const char*>& options);
// The same for a folder that is created when it is first written to; "": none.
void check_output_folder(const std::string& option, const std::filesystem::path& folder);
// The same for that of `option`, or `fallback`; Error(kArgument) for an empty name.
void check_output_folder(const Arguments& arguments, const char* option, const char* fallback = "");
// Creates a folder; "": none. Throws Error(kIo).
void make_folder(const std::filesystem::path& folder);

// The files of a command that measures: check_measurement_files() before, write_measurement_files() after.
// --report, --trace and --tensorboard, and the files of `more` options.
void check_measurement_files(const Arguments& arguments, std::vector<const char*> more = {});
void write_measurement_files(const Arguments& arguments, const Recording& recording, Report report);

// Writes --report, with a link to the file of --trace if there is one.
void write_report_file(const Arguments& arguments, Report report);

}  // namespace unstarve::cli
