#pragma once
// Training settings: plain data, part of the settings file. Does not need libtorch.

#include <cstdint>
#include <string>

namespace unstarve {

enum class Precision { kFloat32, kBfloat16, kFloat16 };
[[nodiscard]] const char* to_string(Precision precision) noexcept;       // "float32", "bfloat16", "float16"
[[nodiscard]] Precision precision_from_string(const std::string& name);  // throws Error(kArgument)

struct TrainSettings {
  std::string model = "resnet18";  // see models/catalogue.h
  int classes = 10;
  int image_size = 224;
  std::string device = "cpu";                 // "cpu", "cuda", "cuda:N"
  Precision precision = Precision::kFloat32;  // autocast; weights stay float32
  bool channels_last = false;
  bool fused_optimiser = false;  // at::_fused_sgd_ instead of one update per parameter
  int operator_threads = 0;      // threads within operators; 0: all usable cores
  double learning_rate = 0.1;    // peak, at the given batch size
  double momentum = 0.9;         // Nesterov
  double weight_decay = 5e-4;
  double label_smoothing = 0.0;
  double warmup = 0.15;    // share of all steps with rising learning rate; afterwards it falls linearly to zero
  std::uint64_t seed = 0;  // of the initial weights
  friend bool operator==(const TrainSettings&, const TrainSettings&) = default;
};

// Throws Error(kArgument), naming the setting, for a value out of range. make_trainer() checks model, device and
// precision.
void check_settings(const TrainSettings& settings);

}  // namespace unstarve
