#include "unstarve/torch/import/importer.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/script.h>

#include "unstarve/core/file.h"
#include "unstarve/infer/graph/normalisation_text.h"
#include "unstarve/infer/graph/structure.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/zoo.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/import/network_graph.h"
#include "unstarve/torch/import/script_graph.h"
#include "unstarve/torch/updates/training_state.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve::infer {
namespace {

constexpr std::int64_t kStatisticsImages = 8;  // whose statistics the batch norms of a random network have

Error bad_model(const std::filesystem::path& path, std::string_view what) {
  return {ErrorKind::kInput, fmt::format("read '{}': {}", path.string(), what)};
}

std::string first_line(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

// Without the hints of libtorch that follow.
std::string first_sentence(const char* text) {
  const std::string line = first_line(text);
  return line.substr(0, line.find(". "));
}

// Adds the path to errors of `body`, unless they have it.
template <class Body>
Graph with_path(const std::filesystem::path& path, Body&& body) {
  return translate_errors("read '" + path.string() + "'", [&] {
    try {
      return body();
    } catch (const Error& error) {
      const bool has_path = std::string_view(error.what()).starts_with("reading safetensors " + path.string());
      if (error.kind() != ErrorKind::kInput || has_path) throw;
      throw bad_model(path, error.what());
    }
  });
}

// Of the training; 0: the file does not contain it.
std::int64_t trained_image_size(const SafetensorsHeader& header) {
  const auto stored = header.metadata.find(kImageSizeKey);
  if (stored == header.metadata.end()) return 0;
  const std::optional<std::int64_t> side = parse_number<std::int64_t>(stored->second);
  if (side && *side > 0 && *side <= kLargestSide) return *side;
  throw Error(ErrorKind::kInput, fmt::format("found \"{}\" as {}; expected a side length of 1 to {} px", stored->second,
                                             kImageSizeKey, kLargestSide));
}

// The network of the file with its weights.
NetworkPtr load_network(const NetworkFile& file, const ModelEntry& entry, const SafetensorsHeader& header,
                        std::span<const std::uint8_t> bytes) {
  // The number of classes is that of the head's weights; the head has its name in a network of any number.
  const StoredTensor* const head = header.find(head_of(*entry.make(1)) + "weight");
  if (head == nullptr || head->shape.empty() || head->shape[0] < 1 || head->shape[0] > (1 << 20))
    throw Error(
        ErrorKind::kInput,
        fmt::format(
            "found no weights of the last layer of {}; expected the weights of this network. Pass the correct --model",
            entry.name));
  const std::int64_t classes = head->shape[0];
  if (file.classes > 0 && file.classes != classes)
    throw Error(ErrorKind::kInput,
                fmt::format("found weights for {} classes; expected the requested {}", classes, file.classes));
  NetworkPtr network = entry.make(static_cast<int>(classes));
  (void)load_state(network_state(*network), {header, bytes, file.weights.string()},
                   {.ignored = training_state_prefixes()});
  return network;
}

// Gives fixed layers and batch norms the statistics of the images.
void set_statistics(Network& network, const torch::Tensor& images) {
  if (!network.prepared()) network.prepare(images, nullptr);
  for (const auto& module : network.modules(/*include_self=*/false))
    if (auto* const norm = dynamic_cast<BatchNorm*>(module.get())) norm->set_momentum(1);
  network.train();
  (void)network.forward(images);
  network.eval();
}

void check_output(const torch::Tensor& output, const std::string& model) {
  const bool finite = output.isfinite().all().item<bool>();
  if (finite && (output.amax(1) > output.amin(1)).all().item<bool>()) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("random weights of {}: found {} outputs; expected finite numbers that differ", model,
                          finite ? "equal" : "infinite"));
}

}  // namespace

Graph import_network(const NetworkFile& file) {
  return with_path(file.weights, [&] {
    const MappedFile mapped(file.weights);
    const SafetensorsHeader header = parse_safetensors(mapped.bytes(), file.weights.string());
    const auto stored = header.metadata.find(kModelKey);
    if (stored == header.metadata.end() && file.model.empty() && !has_graph(header))
      throw Error(ErrorKind::kArgument, fmt::format("read '{}': the file does not name its network; expected --model, "
                                                    "for example --model resnet50",
                                                    file.weights.string()));
    if (stored != header.metadata.end() && !file.model.empty() && stored->second != file.model)
      throw Error(ErrorKind::kArgument, fmt::format("--model: found {}; expected {}, the network of {}", file.model,
                                                    stored->second, file.weights.string()));
    Graph graph;
    if (has_graph(header)) {
      check_checksum(header, mapped.bytes(), file.weights.string());
      graph = graph_of_checkpoint(header, mapped.bytes());
      if (file.image_size > 0) graph = with_image_size(std::move(graph), file.image_size);
      if (stored != header.metadata.end()) graph.name = stored->second;
    } else {
      const ModelEntry entry = find_model(file.model.empty() ? stored->second : file.model);
      const NetworkPtr network = load_network(file, entry, header, mapped.bytes());
      const std::int64_t trained = trained_image_size(header);
      const std::int64_t usual = trained > 0 ? trained : entry.image_size;
      graph = graph_of_network(*network, file.image_size > 0 ? file.image_size : usual);
      graph.name = file.model.empty() ? stored->second : file.model;
    }
    const auto normalisation = header.metadata.find(kNormalisationKey);
    if (normalisation != header.metadata.end()) graph.normalisation = parse_normalisation(normalisation->second);
    return graph;
  });
}

Graph import_script(const ScriptFile& file) {
  return with_path(file.path, [&] {
    (void)MappedFile(file.path);  // for the error of a missing file
    torch::jit::Module module;
    try {
      module = torch::jit::load(file.path.string(), torch::kCPU);
    } catch (const c10::Error& error) {
      throw Error(ErrorKind::kInput,
                  fmt::format("found no TorchScript ({}); expected a file of torch.jit.save. Convert a state_dict with "
                              "unstarve.weights.convert('{}', 'weights.safetensors') in Python",
                              first_sentence(error.what_without_backtrace()), file.path.string()));
    }
    module.eval();
    std::shared_ptr<torch::jit::Graph> script;
    try {
      // Batch norms are folded by a pass of this project.
      script = torch::jit::freeze(module, std::nullopt, /*optimize_numerics=*/false).get_method("forward").graph();
      torch::jit::RemoveTensorMutation(script);
    } catch (const c10::Error& error) {
      throw Error(ErrorKind::kInput, fmt::format("freezing the module failed ({}); expected one with a forward() that "
                                                 "can be frozen",
                                                 first_line(error.what_without_backtrace())));
    }
    Graph graph = graph_of(*script, image_batch(file.image_size), {});
    graph.name = file.path.stem().string();
    return graph;
  });
}

Graph random_network(const RandomNetwork& of) {
  return translate_errors("random weights of " + of.model, [&] {
    const ModelEntry entry = find_model(of.model);
    const std::int64_t size = of.image_size > 0 ? of.image_size : entry.image_size;
    const torch::NoGradGuard no_grad;
    torch::manual_seed(of.seed);
    const NetworkPtr network = entry.make(of.classes);
    for (torch::Tensor& parameter : network->parameters()) parameter.set_requires_grad(false);
    const torch::Tensor images = torch::randn({kStatisticsImages, 3, size, size});
    try {
      set_statistics(*network, images);
      check_output(network->forward(images), of.model);
    } catch (const c10::Error& error) {
      throw images_too_small(size, error);
    }
    Graph graph = graph_of_network(*network, size);
    graph.name = of.model;
    return graph;
  });
}

}  // namespace unstarve::infer
