#pragma once
// Reads an ONNX file as a graph. Does not trust the file.
//
//   bytes ──proto.h──▶ messages ──nodes.h──▶ typed operators ──▶ Graph with inferred types
//
// Accepts opsets 13 to 17 of the standard domain; weights in the file itself, as raw data or as typed fields. Constant
// nodes become constants. Types in the file, other than those of inputs, are not used: they are inferred. The metadata
// may have the normalisation of the images (graph/normalisation_text.h).
//
// Threads: pure.
// Failure: Error(kInput) "read '<origin>': <found>; expected <what>". Unsupported operators are listed all together.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

struct ReadOptions {
  std::int64_t image_size =
      0;  // height and width of the input, where the file leaves them open; 0: must be in the file
};

// `origin`: name of the file in messages. The result has no violation().
[[nodiscard]] Graph read_onnx(std::span<const std::uint8_t> file, const std::string& origin,
                              const ReadOptions& options = {});

// Only the normalisation, of any ONNX file; nothing: it has none. Fails for a damaged file, as read_onnx().
[[nodiscard]] std::optional<Normalisation> read_onnx_normalisation(std::span<const std::uint8_t> file,
                                                                   const std::string& origin);

}  // namespace unstarve::infer
