#pragma once
// A dataset without its projection: the same records, read by read_all() together with every field that read() ignores.
// It measures what ignoring them saves (the pass dead_field_removal, switched off).
//
// Ownership: shares the dataset. Threads and failure: as Dataset.
// Cost:      records are read one by one, also by read_many(); hints are ignored.

#include <cstdint>
#include <memory>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class AllFields : public Dataset {
 public:
  // Stored bytes read and dropped so far.
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
};

[[nodiscard]] std::shared_ptr<const AllFields> with_all_fields(std::shared_ptr<const Dataset> dataset);

}  // namespace unstarve
