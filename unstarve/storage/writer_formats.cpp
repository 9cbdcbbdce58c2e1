#include "unstarve/storage/writer_formats.h"

#include <array>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/formats/webdataset/webdataset.h"

namespace unstarve {
namespace {

constexpr std::array<WriterFormat, 4> kWriterFormats = {{
    {"tfrecord", ".tfrecord", "", make_tfrecord_writer, [] { return make_tfrecord_format(); }},
    {"webdataset", ".tar", "", make_webdataset_writer, [] { return webdataset_format(); }},
    {"parquet", ".parquet", "",
     [](ByteSink& sink, const std::vector<std::string>& classes) { return make_parquet_writer(sink, classes); },
     [] { return std::shared_ptr<const RecordFormat>(); }},
    {"recordio", ".rec", ".idx", make_recordio_writer, [] { return recordio_format(); }},
}};

}  // namespace

const WriterFormat& find_writer_format(std::string_view name) {
  std::string known;
  for (const WriterFormat& format : kWriterFormats) {
    if (name == format.name) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw argument_error("--format: found \"{}\"; expected one of {}", name, known);
}

}  // namespace unstarve
