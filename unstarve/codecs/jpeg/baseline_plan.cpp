#include "unstarve/codecs/jpeg/baseline_plan.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr int kBlock = 8;

// The MCUs along one axis that hold pixels [first, end), `factor` pixels to a chroma sample.
void cover(int first, int end, int side, int factor, int& first_mcu, int& end_mcu, int& mcus) {
  const int mcu = kBlock * factor;
  mcus = (side + mcu - 1) / mcu;
  // With two pixels to a sample, the pixels of the sample before and of the sample behind.
  const int margin = factor == 2 ? 2 : 0;
  first_mcu = std::max(first / factor * factor - margin, 0) / mcu;
  const int last = std::min((end - 1) / factor * factor + margin, side - 1);
  end_mcu = last / mcu + 1;
}

}  // namespace

BaselinePlan plan_baseline(const BaselineImage& image, const Rect& rect) {
  BaselinePlan plan;
  cover(rect.x, rect.x + rect.width, image.size.width, image.horizontal, plan.first_column, plan.end_column,
        plan.columns);
  cover(rect.y, rect.y + rect.height, image.size.height, image.vertical, plan.first_row, plan.end_row, plan.rows);
  return plan;
}

}  // namespace unstarve
