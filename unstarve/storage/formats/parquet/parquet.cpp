#include "unstarve/storage/formats/parquet/parquet.h"

#include <algorithm>
#include <string_view>

#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/sniff.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kLargestCacheMegabytes = std::uint64_t{1} << 24;  // 16 TB

bool is_parquet_name(std::string_view name) { return ends_in(name, ".parquet"); }

}  // namespace

bool recognises_parquet(const Source& source) {
  return source.folder ? folder_begins(source, is_parquet_name, begins_as_parquet) : begins_as_parquet(source.head);
}

std::shared_ptr<const Dataset> open_parquet(const Source& source, const std::string& split) {
  SourceOptions given = source.options;
  ParquetOptions options;
  options.image = given.take_text("image", "");
  options.label = given.take_text("label", "");
  options.cache_bytes = given.take("cache_mb", options.cache_bytes >> 20, 0, kLargestCacheMegabytes) << 20;
  given.refuse_rest();
  return open_parquet_shards(choose_shards(source, split, is_parquet_name), options);
}

std::shared_ptr<const Dataset> open_parquet_shards(std::vector<Shard> shards, const ParquetOptions& options) {
  return std::make_shared<ParquetDataset>(std::move(shards), options);
}

}  // namespace unstarve
