// Fewer bits per value: Pillow's ImageOps.posterize, torchvision's RandomPosterize.

#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"

namespace unstarve {
namespace {

class Posterize final : public ColourOperation {
 public:
  Posterize(int bits, double probability) : ColourOperation(probability, false), bits_(bits) {}

 private:
  void change(Frame& frame, Random&, Scratch& scratch) const override { posterize(frame, bits_, scratch); }

  int bits_;
};

}  // namespace

void posterize(Frame& frame, int bits, Scratch& scratch) {
  const int mask = 0xFF & ~(0xFF >> bits);
  chain_of(frame, scratch).add_table(table_of([&](int value) { return value & mask; }));
}

std::unique_ptr<Operation> make_posterize(const OpParams& params) {
  const Parameters p("posterize", params, {"bits", "probability"});
  return std::make_unique<Posterize>(p.integer("bits", 4, 1, 8), p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
