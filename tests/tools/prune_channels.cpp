// Removes channels from a model, and writes the same model with these channels set to zero instead, so that a test can
// compare both: where zeros stay zeros, they compute the same.
//
//   prune_channels MODEL.onnx SHARE ZEROED.onnx PRUNED.onnx
//
// SHARE of the multiply-adds is removed. Prints the share that was removed.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "unstarve/core/file.h"
#include "unstarve/infer/graph/multiply_adds.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/infer/pruning/channel_choice.h"
#include "unstarve/infer/pruning/remove_channels.h"

namespace {

using namespace unstarve::infer;

// Sets the rows of a constant to zero, one for each channel of the result of a layer or batch norm.
void zero_rows(Graph& graph, ValueId id, std::size_t axis, const std::vector<ChannelId>& channels,
               const std::vector<bool>& removed) {
  Tensor tensor = *graph.value(id).constant;
  std::vector<float> values = floats_of(tensor);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.type.shape.size(); ++i)
    inner *= static_cast<std::size_t>(tensor.type.shape[i]);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (removed[channels[i / inner % channels.size()]]) values[i] = 0;
  graph.values[id].constant = std::make_shared<const Tensor>(make_tensor(tensor.type.shape, values));
}

Graph zeroed(Graph graph, const ChannelMap& map, const std::vector<bool>& removed) {
  for (const Node& node : graph.nodes) {
    const std::vector<ChannelId>& channels = map.channels[node.output];
    const auto zero = [&](std::size_t input, std::size_t axis = 0) {
      if (input < node.inputs.size()) zero_rows(graph, node.inputs[input], axis, channels, removed);
    };
    if (node.kind == OpKind::kConv) {
      zero(1);
      zero(2);
    } else if (node.kind == OpKind::kGemm) {
      zero(1, std::get<GemmAttributes>(node.attributes).transpose_b ? 0 : 1);
      zero(2);
    } else if (node.kind == OpKind::kMatMul && graph.value(node.inputs[1]).constant) {
      zero(1, 1);
    } else if (node.kind == OpKind::kBatchNormalization) {
      zero(2);
      zero(3);
    }
  }
  return graph;
}

void write(const char* path, const Graph& graph) { unstarve::write_file_atomically(path, format_onnx(graph)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: prune_channels MODEL.onnx SHARE ZEROED.onnx PRUNED.onnx\n", stderr);
    return 2;
  }
  try {
    const Graph graph = read_onnx_file(argv[1]);
    const ChannelMap map = map_channels(graph);
    const std::vector<bool> removed = choose_channels(graph, map, std::atof(argv[2]));
    const Graph pruned = remove_channels(graph, map, removed);
    write(argv[3], zeroed(graph, map, removed));
    write(argv[4], pruned);
    std::printf("%.6f\n", 1 - multiply_adds(pruned) / multiply_adds(graph));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
