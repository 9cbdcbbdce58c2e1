#include "unstarve/storage/record_writer.h"

#include <array>

#include "unstarve/core/error.h"
#include "unstarve/storage/recordio_writer.h"
#include "unstarve/storage/tfrecord_writer.h"
#include "unstarve/storage/webdataset_writer.h"

namespace unstarve {
namespace {

std::unique_ptr<RecordWriter> no_parquet(ByteSink&, const std::vector<std::string>&) {
  throw Error(ErrorKind::kMissing,
              "pack: this build writes no Parquet; it needs Arrow C++: install the pyarrow wheel (pip install pyarrow) "
              "and configure again");
}

constexpr std::array<WriterFormat, 4> kFormats = {{
    {"tfrecord", ".tfrecord", "", make_tfrecord_writer},
    {"webdataset", ".tar", "", make_webdataset_writer},
    {"parquet", ".parquet", "", no_parquet},
    {"recordio", ".rec", ".idx", make_recordio_writer},
}};

}  // namespace

std::span<const WriterFormat> writer_formats() { return kFormats; }

const WriterFormat& find_writer_format(std::string_view name) {
  std::string known;
  for (const WriterFormat& format : kFormats) {
    if (name == format.name) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw Error(ErrorKind::kArgument, "--format: found \"" + std::string(name) + "\", expected one of " + known);
}

}  // namespace unstarve
