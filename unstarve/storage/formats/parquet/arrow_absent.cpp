// A build without Arrow: the one place that says so.
#include "unstarve/core/error.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"

namespace unstarve {
namespace {

Error missing(const std::string& operation, const char* what) {
  return Error(ErrorKind::kMissing, operation + ": this build " + what +
                                        " no Parquet (that of the tree does: `make setup` installs pyarrow and with it "
                                        "Arrow C++, then configure with -DUNSTARVE_PARQUET=ON; the Python package that "
                                        "pip builds does not)");
}

}  // namespace

std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source, const std::string&,
                                                     const std::string&) {
  throw missing("open parquet " + source->name(), "reads");
}

std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink&, const std::vector<std::string>&) {
  throw missing("write Parquet", "writes");
}

std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink&, const std::vector<std::string>&, std::size_t) {
  throw missing("write Parquet", "writes");
}

std::string arrow_version() { return ""; }

}  // namespace unstarve
