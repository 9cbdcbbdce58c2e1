#pragma once
// A data set without its projection: equal records, read by read_all() with all that lies beside image and label.
//
// For who wants to see what leaving the rest alone saves (pass dead_field_removal, switched off).
//
// Ownership: shares the data set.
// Threads and failure: as Dataset.
// Cost:      records are read one by one, also by read_many(), and hints are not followed.

#include <cstdint>
#include <memory>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class AllFields : public Dataset {
 public:
  // Stored bytes that were brought and dropped so far.
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
};

[[nodiscard]] std::shared_ptr<const AllFields> with_all_fields(std::shared_ptr<const Dataset> dataset);

}  // namespace unstarve
