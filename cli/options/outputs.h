#pragma once
// The files that commands write, checked before long work and written after it.
//
// Threads: one. Failure: Error.

#include <filesystem>
#include <initializer_list>
#include <string>

#include "../command.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/observe/report.h"

namespace unstarve::cli {

// Fails before long work, not after it: throws Error(kIo) if no file can be created in the folder of a file that one of
// `options` names; Error(kArgument) for a file that the command reads, --out aside, and for one file of two options.
// Messages begin with the option; with several faults, one line for each option.
void check_outputs(const Arguments& arguments, std::initializer_list<const char*> options);
// The same for a folder of `option` that is created when it is first written to; "": none.
void check_output_folder(const std::string& option, const std::filesystem::path& folder);

// The files of a command that measures: check_measurement_files() before, write_measurement_files() after.
void check_measurement_files(const Arguments& arguments);  // --report, --trace and --tensorboard
void write_measurement_files(const Arguments& arguments, const Recording& recording, Report report);

// Writes --report, with a link to the file of --trace if there is one.
void write_report_file(const Arguments& arguments, Report report);

}  // namespace unstarve::cli
