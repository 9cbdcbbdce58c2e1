#pragma once
// Reads an ONNX file as a graph. Does not trust the file.
//
//   bytes ──proto.h──▶ messages ──nodes.h──▶ typed operators ──▶ Graph with inferred types
//
// Accepts opsets 13 to 28 of the standard domain; weights in the file itself, as raw data or as typed fields, and in
// other files of its folder (external_data.h). Constant nodes become constants, and shapes that the file computes by
// nodes become those of a Reshape (shape_nodes.h). Types in the file, other than those of inputs, are not used: they
// are inferred. The metadata may have the normalisation of the images (graph/normalisation_text.h).
//
// Threads: pure.
// Failure: Error(kInput) "read '<origin>': <found>; expected <what>". Unsupported operators are listed all together.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

struct ReadOptions {
  // Height and width of the input, where the file leaves them open; 0: must be in the file.
  std::int64_t image_size = 0;
  std::filesystem::path folder{};  // of the file, for weights in other files; "": these are an error
};

// `origin`: name of the file in messages. The result has no violation().
[[nodiscard]] Graph read_onnx(std::span<const std::uint8_t> file, const std::string& origin,
                              const ReadOptions& options = {});

// The file at `path`, with weights in other files of its folder. Throws Error(kIo) too.
[[nodiscard]] Graph read_onnx_file(const std::filesystem::path& path, std::int64_t image_size = 0);

// Only the normalisation, of any ONNX file; nothing: it has none. Fails for a damaged file, as read_onnx().
[[nodiscard]] std::optional<Normalisation> read_onnx_normalisation(std::span<const std::uint8_t> file,
                                                                   const std::string& origin);

}  // namespace unstarve::infer
