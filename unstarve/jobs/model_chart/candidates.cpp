#include "unstarve/jobs/model_chart/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/infer/import/import_model.h"
#include "unstarve/infer/import/torch_import.h"
#include "unstarve/models/catalogue.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 0;  // of random weights

bool is_network(std::string_view name) {
  try {
    (void)parse_model_name(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether the file has weights only, so that the network is one of the zoo.
bool has_zoo_network(const fs::path& weights) {
  return fs::is_directory(weights) || weights.extension() == ".safetensors";
}

// With the size of the file, which must be the one that is compared. A dynamic one is set.
infer::Graph import_onnx(const fs::path& file, int image_size) {
  infer::Graph graph;
  try {
    graph = infer::import_model(file);
  } catch (const Error&) {
    return infer::import_model(file, {.image_size = image_size});  // the error of the same file, unless it is the size
  }
  const infer::Shape& shape = graph.value(graph.inputs.at(0)).type.shape;
  if (shape.size() == 4 && shape[2] == shape[3] && shape[3] != image_size)
    throw Error(ErrorKind::kArgument,
                fmt::format("--weights: {} has images of {} pixels; expected {}, the value of --size. Pass --size {}",
                            file.string(), shape[3], image_size, shape[3]));
  return graph;
}

infer::Graph import_weights(const CandidateNetwork& candidate, int image_size) {
  if (candidate.weights.extension() == ".onnx") return import_onnx(candidate.weights, image_size);
  infer::ImportOptions options;
  options.image_size = image_size;
  try {
    return infer::import_model(candidate.weights, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) throw;
  }
  // The file does not name its network.
  const std::string stem = candidate.weights.stem().string();
  options.model = candidate.network.empty() ? stem : candidate.network;
  if (!is_network(options.model))
    throw Error(ErrorKind::kArgument,
                fmt::format("--weights: {} does not name its network; expected the name in front of it, for example "
                            "resnet50={}",
                            candidate.weights.string(), candidate.weights.string()));
  return infer::import_model(candidate.weights, options);
}

}  // namespace

const std::vector<std::string>& default_networks() {
  static const std::vector<std::string> names{"resnet18",
                                              "resnet34",
                                              "resnet50",
                                              "mobilenet_v1",
                                              "mobilenet_v1_0.5",
                                              "mobilenet_v2",
                                              "mobilenet_v2_0.75",
                                              "mobilenet_v2_0.5",
                                              "mobilenet_v3_large",
                                              "mobilenet_v3_small",
                                              "mobilenet_v3_large_0.75",
                                              "mobilenet_v3_small_0.75",
                                              "efficientnet_b0"};
  return names;
}

std::vector<CandidateNetwork> candidates_named(std::string_view list) {
  std::vector<CandidateNetwork> candidates;
  const auto add = [&](std::string_view name) {
    try {
      (void)parse_model_name(name);
    } catch (const Error& error) {
      throw Error(ErrorKind::kArgument, fmt::format("--networks: {}", error.what()));
    }
    if (std::ranges::find(candidates, name, &CandidateNetwork::network) != candidates.end())
      throw Error(ErrorKind::kArgument, fmt::format("--networks: found {} twice; expected each network once", name));
    candidates.push_back({std::string(name), {}});
  };
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view name = list.substr(begin, end - begin);
    if (name == "default")
      for (const std::string& each : default_networks()) add(each);
    else
      add(name);
    begin = end + 1;
  }
  return candidates;
}

CandidateNetwork candidate_of_weights(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || fs::exists(word)) return {"", word};
  CandidateNetwork candidate{word.substr(0, equals), word.substr(equals + 1)};
  if (has_zoo_network(candidate.weights)) try {
      (void)parse_model_name(candidate.network);
    } catch (const Error& error) {
      throw Error(ErrorKind::kArgument, fmt::format("--weights {}: {}", word, error.what()));
    }
  return candidate;
}

CandidateGraph import_candidate(const CandidateNetwork& candidate, const CandidateShape& shape) {
  if (candidate.weights.empty()) {
    try {
      return {candidate.network,
              infer::importer_module().random({candidate.network, shape.image_size, shape.classes, kSeed})};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      throw Error(error.kind(), fmt::format("prepare {}: {}", candidate.network, error.what()));
    }
  }
  infer::Graph graph = import_weights(candidate, shape.image_size);
  std::string name = candidate.network;
  if (has_zoo_network(candidate.weights)) {
    name = graph.name;
    if (!candidate.network.empty() && name != candidate.network)
      throw Error(ErrorKind::kArgument, fmt::format("--weights: {} is a file of {}; expected weights of {}",
                                                    candidate.weights.string(), name, candidate.network));
  }
  return {name.empty() ? candidate.weights.stem().string() : name, std::move(graph)};
}

}  // namespace unstarve
