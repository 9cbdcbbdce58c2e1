#pragma once
// The fields of a batch with types and shapes.
//
// Threads: pure.

#include <cstddef>
#include <string>
#include <vector>

namespace unstarve {

struct Plan;

// A field of a batch.
struct BatchField {
  std::string name;
  std::string type;                // of an element: "uint8"
  std::vector<std::size_t> shape;  // the batch size first; pixels in the order of the layout
};
// Those that consumers receive: image, label, id, and target if batch operations blend labels. With padding or
// schedules the shape of the image is that of the largest.
[[nodiscard]] std::vector<BatchField> batch_fields(const Plan& plan);

}  // namespace unstarve
