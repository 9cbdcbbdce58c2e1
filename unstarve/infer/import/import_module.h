#pragma once
// The importer of libunstarve_torch.so, which has another entry for it than for training (train/trainer_module.h).
//
//   import_model.h ──▶ torch_import.cpp ──dlopen──▶ unstarve_importer_module() ──▶ torch/import/importer.h ──▶ libtorch
//
// Threads: any.

#include <cstdint>
#include <filesystem>
#include <string>

#include "unstarve/core/error.h"  // used in the interface, therefore part of the stamp
#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// A network of the zoo and its weights.
struct NetworkFile {
  std::filesystem::path weights;  // safetensors: a checkpoint, or a state_dict of torchvision
  std::string model;              // its name; "": that in the checkpoint
  std::int64_t image_size = 0;    // 0: that of the training, else of the network
  std::int64_t classes = 0;       // 0: as in the file
};

struct ScriptFile {
  std::filesystem::path path;   // TorchScript
  std::int64_t image_size = 0;  // height and width of its input: 3 channels
};

// A network of the zoo with random weights, which depend on the name, the classes and the seed only.
//
// The batch norms have the statistics of random images. With those of a new network, mean 0 and variance 1, values
// would shrink or grow from layer to layer.
struct RandomNetwork {
  std::string model;            // its name
  std::int64_t image_size = 0;  // 0: that of the network
  int classes = 1000;
  std::uint64_t seed = 0;
};

struct ImporterModule {
  const char* stamp;  // first member, readable in any module
  Graph (*network)(const NetworkFile& file);
  Graph (*script)(const ScriptFile& file);
  // Throws Error(kInput) for images that the network cannot process; Error(kInternal) if its output for random images
  // is not finite or has the same value for all classes.
  Graph (*random)(const RandomNetwork& network);
};

}  // namespace unstarve::infer

// An exported symbol of the module.
extern "C" const unstarve::infer::ImporterModule* unstarve_importer_module() noexcept;
