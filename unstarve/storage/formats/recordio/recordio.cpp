#include "unstarve/storage/formats/recordio/recordio.h"

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/recordio/recordio_scan.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/sniff.h"

namespace unstarve {
namespace {

class Recordio final : public RecordFormat {
 public:
  [[nodiscard]] std::string name() const override { return "recordio"; }
  [[nodiscard]] int scan_version() const override { return 1; }
  void scan(ForwardBytes& bytes, RecordSink& sink) const override { RecordioScan(bytes, sink).run(); }

  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes& buffer,
            Value& image) const override {
    if (is_recordio_in_parts(stored) && stored.data() != buffer.data()) {
      buffer.reserve_discard(stored.size() + kReadableBehind);
    }
    image.bytes = parse_recordio_image(join_recordio(stored, buffer.data())).encoded;
  }
};

bool is_shard_name(std::string_view name) { return ends_in(name, ".rec"); }

}  // namespace

std::shared_ptr<const RecordFormat> recordio_format() { return std::make_shared<Recordio>(); }

bool recognises_recordio(const Source& source) {
  return source.folder ? folder_begins(source, is_shard_name, begins_as_recordio) : begins_as_recordio(source.content);
}

std::shared_ptr<const Dataset> open_recordio(const Source& source, const std::string& split) {
  return std::make_shared<RecordFiles>(choose_shards(source, split, is_shard_name), recordio_format());
}

}  // namespace unstarve
