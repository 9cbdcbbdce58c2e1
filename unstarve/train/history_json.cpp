#include "unstarve/train/history_json.h"

#include <nlohmann/json.hpp>

namespace unstarve {

nlohmann::ordered_json to_json(const TrainPoint& point) {
  return {{"step", point.step},
          {"seconds", point.seconds},
          {"loss", point.loss},
          {"learning_rate", point.learning_rate},
          {"data_wait", point.wait_share},
          {"samples_per_s", point.samples_per_s}};
}

nlohmann::ordered_json to_json(const EvaluationPoint& point) {
  return {{"step", point.step},
          {"seconds", point.seconds},
          {"accuracy", point.accuracy},
          {"loss", point.loss},
          {"accuracy_top5", point.accuracy_top5 ? nlohmann::json(*point.accuracy_top5) : nlohmann::json()}};
}

nlohmann::ordered_json to_json(const TrainHistory& h) {
  nlohmann::ordered_json json;
  json["steps"] = h.steps;
  json["samples"] = h.samples;
  json["seconds"] = h.seconds;
  json["samples_per_s"] = static_cast<double>(h.samples) / h.seconds;
  json["data_wait"] = h.wait_seconds / h.seconds;
  json["loss_first"] = h.points.empty() ? nlohmann::json() : nlohmann::json(h.points.front().loss);
  json["loss_last"] = h.points.empty() ? nlohmann::json() : nlohmann::json(h.points.back().loss);
  json["accuracy"] = h.evaluations.empty() ? nlohmann::json() : nlohmann::json(h.evaluations.back().accuracy);
  json["val_loss"] = h.evaluations.empty() ? nlohmann::json() : nlohmann::json(h.evaluations.back().loss);
  json["points"] = nlohmann::json::array();
  for (const TrainPoint& point : h.points) json["points"].push_back(to_json(point));
  json["evaluations"] = nlohmann::json::array();
  for (const EvaluationPoint& point : h.evaluations) json["evaluations"].push_back(to_json(point));
  return json;
}

}  // namespace unstarve
