#include "unstarve/infer/import/import_model.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/import/torch_import.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/train/checkpoints.h"

namespace unstarve::infer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultImageSize = 224;

// A state_dict has this suffix too, and is then weights of a network.
Error has_own_network(const fs::path& path, const std::string& model) {
  const std::string suffix = path.extension().string();
  const std::string convert =
      suffix == ".pt" || suffix == ".pth"
          ? fmt::format(
                ", or convert a state_dict with unstarve.weights.convert('{}', 'weights.safetensors') in Python",
                path.string())
          : "";
  return {ErrorKind::kArgument, fmt::format("--model: found {} for {}, which has its own network; expected it with "
                                            "weights in a .safetensors file. Remove --model{}",
                                            model, path.string(), convert)};
}

Graph import_any(const fs::path& path, const ImportOptions& options) {
  const std::string suffix = path.extension().string();
  if (std::error_code error; !fs::exists(path, error))
    throw io_error("open", path.string(), error ? error.value() : ENOENT);
  if (fs::is_directory(path))
    return importer_module().network({weights_file(path), options.model, options.image_size, options.classes});
  if (suffix == ".safetensors")
    return importer_module().network({path, options.model, options.image_size, options.classes});
  if (!options.model.empty()) throw has_own_network(path, options.model);
  if (suffix == ".onnx") return read_onnx_file(path, options.image_size);
  if (suffix == ".pt" || suffix == ".pth")
    return importer_module().script({path, options.image_size > 0 ? options.image_size : kDefaultImageSize});
  throw Error(ErrorKind::kInput,
              fmt::format("read '{}': found the suffix '{}'; expected .onnx, .safetensors, .pt or a folder of "
                          "checkpoints",
                          path.string(), suffix));
}

}  // namespace

Graph import_model(const fs::path& path, const ImportOptions& options) {
  Graph graph = import_any(path, options);
  const auto fail = [&](const std::string& found, const std::string& expected) {
    return Error(ErrorKind::kInput, fmt::format("read '{}': {}; expected {}", path.string(), found, expected));
  };
  if (const std::string wrong = violation(graph); !wrong.empty())
    throw Error(ErrorKind::kInternal, fmt::format("read '{}': {}", path.string(), wrong));
  if (const std::string wrong = not_finite(graph); !wrong.empty()) throw fail(wrong, "finite weights");
  const Shape& outputs = graph.value(graph.outputs[0]).type.shape;
  if (options.classes > 0 && (outputs.size() != 2 || outputs[1] != options.classes))
    throw fail(fmt::format("its output is {}", text_of(outputs)), fmt::format("[batch, {}]", options.classes));
  return graph;
}

}  // namespace unstarve::infer
