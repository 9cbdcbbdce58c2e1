#include "unstarve/torch/networks/starting_network.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/infer/pruning/prune_channels.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/import/importer.h"
#include "unstarve/torch/networks/graph_network.h"

namespace unstarve {
namespace {

// Whether the file has a structure that is not that of a network of the zoo. Nothing: it cannot be read.
std::optional<bool> contains_graph(const std::filesystem::path& path) {
  try {
    const MappedFile file(path);
    return has_own_graph(parse_safetensors(file.bytes(), path.string()));
  } catch (const Error&) {  // of whoever reads the file next
    return std::nullopt;
  }
}

void check_classes(const infer::Graph& graph, const TrainSettings& settings, const std::string& path) {
  const infer::Shape& shape = graph.value(graph.outputs.at(0)).type.shape;
  if (shape.size() == 2 && shape[1] == settings.classes) return;
  throw Error(ErrorKind::kInput,
              fmt::format("loading weights {}: the output of the network is {}; expected [batch, {}], the classes of "
                          "the data. Train the network of the zoo on this data first",
                          path, infer::text_of(shape), settings.classes));
}

}  // namespace

StartingNetwork starting_network(const TrainSettings& settings, const StartingFile& start) {
  if (start.path.empty()) return {};
  const bool prunes = settings.prune.channels() && !start.resumes;
  const std::optional<bool> found = contains_graph(start.path);
  if (!found && !prunes) return {};  // restore() names an intact checkpoint in its error
  const bool has_structure = found.value_or(false);
  if (settings.prune.channels() && start.resumes && !has_structure)
    throw Error(ErrorKind::kInput,
                fmt::format("loading weights {}: found a checkpoint with all channels; expected one of a run with "
                            "--prune-pattern channels. Prune its weights with --weights instead of --resume",
                            start.path.string()));
  if (!prunes && !has_structure) return {};
  infer::Graph graph = infer::import_network({start.path, settings.model, settings.image_size, 0});
  check_classes(graph, settings, start.path.string());
  StartingNetwork result;
  if (prunes) {
    infer::ChannelPruning pruning = infer::prune_channels(graph, settings.prune.sparsity);
    graph = std::move(pruning.graph);
    result.pruned = std::move(pruning.channels);
  }
  result.network = std::make_shared<GraphNetwork>(std::move(graph));
  return result;
}

}  // namespace unstarve
