#pragma once
// What several verbs have in common: options, settings from a file or from the data, printing one JSON object.
//
// Threads: one. Failure: Error.

#include <string>

#include "../command.h"
#include "unstarve/jobs/settings.h"

namespace unstarve::cli {

inline Option json_option() { return {"--json", "", "", "print one JSON object instead of text"}; }
inline Option data_option(bool required = true) {
  return {"DATA", "", "", "folder with a folder per class, CIFAR binaries, or synthetic:classes=10,images=2000,size=32,seed=1",
          required, Completes::kPath};
}
inline Option split_option() { return {"--split", "NAME", "", "part of the data: train, test or val"}; }
inline Option model_option() {
  return {"--model", "NAME", "cifar_net up to 40 px, else resnet18", "network to train", false, Completes::kModel};
}
inline Option device_option() {
  return {"--device", "NAME", "cpu", "cpu, cuda, cuda:N, or emulated:<accelerator>-<workload>", false, Completes::kDevice};
}
inline Option image_size_option() { return {"--image-size", "PX", "the data's own up to 40 px, else 224", "side of the training images"}; }
inline Option cache_option() { return {"--cache", "WHAT", "nothing", "keep encoded records or pixels: encoded, pixels"}; }
inline Option cache_folder_option() {
  return {"--cache-folder", "DIR", "", "keep pixels in a file there, shared by processes; else in memory", false, Completes::kPath};
}
inline Option read_ahead_option() {
  return {"--read-ahead", "N", "as the data reward it", "records read before the loader's threads ask, so many at once"};
}
inline Option cache_limit_option() { return {"--cache-mb", "N", "1024", "bytes to keep, in units of 10^6"}; }
inline Option config_option() {
  return {"--config", "FILE", "", "settings as unstarve tune writes them", false, Completes::kPath};
}

// Settings of --config with --model, --device, --split and DATA on top, or defaults made from the data; then --batch,
// --threads, --prefetch and what is to be cached. Throws Error.
[[nodiscard]] Settings settings_from(const Arguments& arguments);

// Prints text to standard output and checks that it went there (a full disk, a closed pipe). Throws Error(kIo).
void print_result(const std::string& text);

}  // namespace unstarve::cli
