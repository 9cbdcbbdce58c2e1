#include "unstarve/codecs/jpeg/layout/baseline_plan.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr int kBlock = 8;

// One axis: its pixels, those of an MCU and of a chroma sample.
struct Axis {
  int side, mcu, up;
};
// The MCUs that contain pixels [first, end), and the MCUs of the whole axis.
struct Mcus {
  int first, end, all;
};
Mcus cover(int first, int end, const Axis& axis, bool smooth) {
  const auto [side, mcu, up] = axis;
  // With two pixels per sample: the pixels of the previous and of the next sample.
  const int margin = up == 2 && smooth ? 2 : 0;
  const int last = std::min((end - 1) / up * up + margin, side - 1);
  return {std::max(first / up * up - margin, 0) / mcu, last / mcu + 1, (side + mcu - 1) / mcu};
}

// The sizes of blocks and of chroma at this reduction.
BaselinePlan scale_of(const BaselineLayout& image, int reduction) {
  BaselinePlan plan;
  plan.block = kBlock / reduction;
  const bool both_halved = image.horizontal == 2 && image.vertical == 2;
  plan.chroma_block = both_halved && reduction > 1 ? 2 * plan.block : plan.block;
  plan.up_x = image.horizontal * plan.block / plan.chroma_block;
  plan.up_y = image.vertical * plan.block / plan.chroma_block;
  plan.smooth = plan.block > 1;
  return plan;
}

}  // namespace

BaselinePlan plan_baseline(const BaselineLayout& image, int reduction, const Rect& rect) {
  BaselinePlan plan = scale_of(image, reduction);
  const auto reduced = [reduction](int side) { return (side + reduction - 1) / reduction; };
  const Axis x{reduced(image.size.width), plan.block * image.horizontal, plan.up_x};
  const Axis y{reduced(image.size.height), plan.block * image.vertical, plan.up_y};
  const Mcus columns = cover(rect.x, rect.x + rect.width, x, plan.smooth);
  const Mcus rows = cover(rect.y, rect.y + rect.height, y, plan.smooth);
  plan.first_column = columns.first, plan.end_column = columns.end, plan.columns = columns.all;
  plan.first_row = rows.first, plan.end_row = rows.end, plan.rows = rows.all;
  return plan;
}

BaselinePlan plan_baseline(const BaselineLayout& image) {
  return plan_baseline(image, 1, {0, 0, image.size.width, image.size.height});
}

bool upsamples_alike(const BaselineLayout& image, int reduction) {
  constexpr int kLeastSmooth = 3;
  const BaselinePlan scale = scale_of(image, reduction);
  const bool smooths_rows = image.components == 3 && scale.up_x == 2 && scale.smooth;
  return !smooths_rows || image.size.width > (kLeastSmooth - 1) * 2 * reduction;
}

}  // namespace unstarve
