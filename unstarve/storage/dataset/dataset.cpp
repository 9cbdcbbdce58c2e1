#include "unstarve/storage/dataset/dataset.h"

#include <algorithm>

#include "unstarve/core/map_guard.h"

namespace unstarve {

void check_maps(const RecordBuffer& record) {
  for (const Value& value : record.values) {
    check_map(value.bytes);
    check_map(value.pixels);
  }
}

void Dataset::read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const {
  for (std::size_t i = 0; i < ids.size(); ++i) read(ids[i], records[i]);
}

int Dataset::field_index(FieldKind kind) const {
  const std::vector<Field>& all = fields();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace unstarve
