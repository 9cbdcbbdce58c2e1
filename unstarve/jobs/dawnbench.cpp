#include "unstarve/jobs/dawnbench.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/version.h"
#include "unstarve/jobs/train.h"
#include "unstarve/observe/machine.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

// The entries of CIFAR-10 have no column for the top-5 accuracy.
constexpr int kClassesOfCifar = 10;

}  // namespace

DawnbenchAuthor dawnbench_author(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t begin = text.find(" <");
  if (begin == std::string::npos || begin == 0 || text.back() != '>' || text.size() < begin + 4)
    throw Error(
        ErrorKind::kArgument,
        fmt::format("--author: found \"{}\"; expected a name and an address: \"Ada Lovelace <ada@example.org>\"",
                    text));
  return {text.substr(0, begin), text.substr(begin + 2, text.size() - begin - 3)};
}

std::string dawnbench_tsv(const TrainResult& result) {
  const bool top5 = result.settings.train.classes > kClassesOfCifar;
  std::string text = top5 ? "epoch\thours\ttop1Accuracy\ttop5Accuracy\n" : "epoch\thours\ttop1Accuracy\n";
  for (std::size_t i = 0; i < result.history.evaluations.size(); ++i) {
    const EvaluationPoint& point = result.history.evaluations[i];
    text += fmt::format("{:g}\t{:.9f}\t{:.3f}", result.evaluated_epochs.at(i),
                        (result.preparation_seconds + point.training_seconds) / 3600, 100 * point.accuracy);
    text += top5 ? fmt::format("\t{:.3f}\n", 100 * point.accuracy_top5.value()) : "\n";
  }
  return text;
}

std::string dawnbench_json(const TrainResult& result, const DawnbenchAuthor& author, const std::string& hardware,
                           const std::string& date) {
  const TrainSettings& train = result.settings.train;
  nlohmann::ordered_json json{
      {"version", "v1.0"},
      {"author", author.name},
      {"authorEmail", author.mail},
      {"framework", fmt::format("unstarve {} (libtorch {})", kVersion, libtorch_facts().version)},
      {"model", train.model},
      {"hardware", hardware}};
  if (result.price_per_hour > 0) json["costPerHour"] = result.price_per_hour;
  json["timestamp"] = date;
  json["misc"] = {{"batch", result.settings.pipeline.batch.size * result.ranks},
                  {"precision", to_string(train.precision)},
                  {"optimiser", word_of(train.optimiser.name)},
                  {"learning_rate", train.learning_rate},
                  {"schedule", word_of(train.schedule.name)},
                  {"test_augmentation", word_of(train.test_augmentation)},
                  {"preparation_seconds", result.preparation_seconds}};
  if (!result.settings.recipe.empty()) json["misc"]["recipe"] = result.settings.recipe;
  return json_text(json, 4) + "\n";
}

std::string dawnbench_hardware(const TrainResult& result) {
  const MachineFacts machine = read_machine_facts();
  std::string text = fmt::format("{} GB / {} CPU ({})", std::llround(1e-9 * static_cast<double>(machine.memory_bytes)),
                                 machine.topology.usable(), machine.cpu_model);
  if (result.settings.train.device != "cpu")
    text = fmt::format("{} {} / {}", result.ranks, result.device_name, text);
  else if (result.ranks > 1)
    text += fmt::format(", {} ranks", result.ranks);
  return text;
}

std::array<std::filesystem::path, 2> dawnbench_files(const std::filesystem::path& path) {
  std::filesystem::path base = path;
  if (base.extension() == ".json" || base.extension() == ".tsv") base.replace_extension();
  return {base.string() + ".tsv", base.string() + ".json"};
}

void write_dawnbench(const TrainResult& result, const std::filesystem::path& path, const DawnbenchAuthor& author) {
  const auto [tsv, json] = dawnbench_files(path);
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  write_file_atomically(tsv, dawnbench_tsv(result));
  write_file_atomically(json,
                        dawnbench_json(result, author, dawnbench_hardware(result), fmt::format("{:%Y-%m-%d}", today)));
}

}  // namespace unstarve
