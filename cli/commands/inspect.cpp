#include "unstarve/jobs/data/inspect.h"

#include <fmt/format.h>

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/data/quarantine.h"
#include "unstarve/jobs/probe/io_probe.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {
namespace {

int run_io(const Arguments& arguments) {
  const PipelineSpec spec = spec_from(arguments);
  if (!spec.mix.empty())
    throw Error(ErrorKind::kArgument,
                fmt::format("--io: found {} sources in {}; expected one. Pass the path of one source.", spec.mix.size(),
                            arguments.text("DATA")));
  if (spec.source.take || spec.source.filter != FilterSpec{})
    emit_notice("--io measures all files of the source: filter and take of the spec are ignored");
  const IoResult result = with_progress([&](const Progress& progress) {
    return run_io_probe(spec.source.path, arguments.number("--seconds", 6, 0.01, 3600), progress);
  });
  print_result(arguments, result);
  return kDone;
}

int run_inspect_command(const Arguments& arguments, const std::string&) {
  const bool io = arguments.has("--io");
  for (const char* const option : {"--quarantine", "--split", "--strict", "--threads"})
    if (io && arguments.has(option))
      throw Error(ErrorKind::kArgument,
                  fmt::format("{}: not supported with --io, which reads no records. Pass one.", option));
  if (!io && arguments.has("--seconds"))
    throw Error(ErrorKind::kArgument, "--seconds: no effect without --io; expected both or neither");
  if (io) return run_io(arguments);
  check_outputs(arguments, {"--quarantine"});
  const InspectResult result = with_progress([&](const Progress& progress) {
    const PipelineSpec spec = spec_from(arguments);
    const auto data = open_data(spec);
    const int threads = static_cast<int>(arguments.integer("--threads", 0, 1, 1024));
    const auto samples = samples_of_sources(spec, *data, threads);
    return inspect_dataset(*data, name_of_sources(spec), threads, progress, samples.get());
  });
  print_result(arguments, result);
  if (arguments.has("--quarantine")) write_quarantine(arguments.text("--quarantine"), result.corrupt);
  return arguments.has("--strict") && !result.corrupt.empty() ? kCheckFailed : kDone;
}

}  // namespace

Command inspect_command() {
  return {"inspect",
          "Describe a dataset and check that every record can be decoded",
          "Reads and decodes every record. Prints format, samples, classes, bytes and image sizes, and each corrupt "
          "record with its location and reason. With --io, it measures how many reads and bytes per second the storage "
          "delivers instead.",
          "  unstarve inspect photos/\n"
          "  unstarve inspect photos/ --json --strict || echo damaged\n"
          "  unstarve inspect 'shards/train-{000..007}.tar'\n"
          "  unstarve inspect photos/ --quarantine bad.jsonl\n"
          "  unstarve pack photos/ good/ --format tfrecord --exclude bad.jsonl\n"
          "  unstarve inspect photos/ --io",
          {data_option(),
           split_option(),
           {"--threads", "N", "all usable cores", "threads for decoding"},
           {"--strict", "", "", "exit with 1 if a record is corrupt"},
           {"--quarantine", "FILE", "", "write corrupt records to this file, for unstarve pack --exclude", false,
            Completes::kPath},
           {"--io", "", "", "measure the storage instead: reads and bytes per second"},
           {"--seconds", "S", "6", "duration of --io"},
           json_option()},
          run_inspect_command};
}

}  // namespace unstarve::cli
