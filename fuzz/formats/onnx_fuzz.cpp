// Arbitrary bytes as an ONNX file: a valid graph that is written and read again as it was, or rejected with
// Error(kInput).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/infer/passes/pass.h"

namespace {

using unstarve::infer::Graph;

void check_written(const Graph& graph) {
  std::string file;
  try {
    file = unstarve::infer::format_onnx(graph);
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
    return;
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file.data());
  if (unstarve::infer::format_onnx(unstarve::infer::read_onnx({bytes, file.size()}, "written")) != file) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Graph graph;
  try {
    graph = unstarve::infer::read_onnx({data, size}, "fuzz", {.image_size = 8});
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
    return 0;
  }
  if (!unstarve::infer::violation(graph).empty()) std::abort();
  check_written(graph);
  if (graph.constant_bytes() < 65536) check_written(unstarve::infer::run_passes(graph).graph);
  return 0;
}
