#include "unstarve/jobs/tensorboard/training_events.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/tensorboard/chart_image.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

template <class Point>
std::vector<ChartPoint> curve_of(const std::vector<Point>& points, double Point::*value) {
  std::vector<ChartPoint> curve;
  for (const Point& point : points) curve.push_back({static_cast<double>(point.step), point.*value});
  return curve;
}

}  // namespace

template <class Write>
void TrainingEvents::attempt(Write&& write) {
  if (failed_) return;
  try {
    write();
  } catch (const Error& error) {
    failed_ = true;
    emit_notice(fmt::format("events of TensorBoard not written: {}; training continues without them", error.what()));
  }
}

void TrainingEvents::write_points(const TrainHistory& history) {
  for (; points_ < history.points.size(); ++points_) {
    const TrainPoint& point = history.points[points_];
    file_.scalar("train/loss", point.step, point.loss);
    file_.scalar("train/learning_rate", point.step, point.learning_rate);
    file_.scalar("train/samples_per_s", point.step, point.samples_per_s);
    file_.scalar("train/data_wait", point.step, point.wait_share);
  }
  for (; evaluations_ < history.evaluations.size(); ++evaluations_) {
    const EvaluationPoint& point = history.evaluations[evaluations_];
    file_.scalar("val/accuracy", point.step, point.accuracy);
    file_.scalar("val/loss", point.step, point.loss);
    if (point.accuracy_top5) file_.scalar("val/accuracy_top5", point.step, *point.accuracy_top5);
  }
}

void TrainingEvents::update(const TrainHistory& history) {
  attempt([&] { write_points(history); });
  latest_ = history;
}

void TrainingEvents::finish_early() {
  if (latest_.points.empty()) return;
  TrainHistory history = std::move(latest_);
  history.steps = history.points.back().step;
  finish(history);
}

void TrainingEvents::finish(const TrainHistory& history) {
  update(history);
  attempt([&] { write_charts(history); });
}

void TrainingEvents::write_charts(const TrainHistory& history) {
  const auto chart = [&](const char* tag, const std::vector<ChartPoint>& curve) {
    if (curve.empty()) return;
    const Image image = draw_chart(curve);
    file_.image(tag, history.steps, encode_png(image.view()), image.size());
  };
  chart("charts/train_loss", curve_of(history.points, &TrainPoint::loss));
  chart("charts/learning_rate", curve_of(history.points, &TrainPoint::learning_rate));
  chart("charts/data_wait", curve_of(history.points, &TrainPoint::wait_share));
  chart("charts/val_accuracy", curve_of(history.evaluations, &EvaluationPoint::accuracy));
}

}  // namespace unstarve
