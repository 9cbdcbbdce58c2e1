#pragma once
// A training run as an entry of DAWNBench (https://github.com/stanford-futuredata/dawn-bench-entries).
//
//   NAME.tsv    epoch, hours, top1Accuracy, and with more than 10 classes, as for ImageNet, top5Accuracy: a line for
//               each evaluation; accuracies in percent
//   NAME.json   version, author, authorEmail, framework, model, hardware, costPerHour, timestamp, misc
//
// Hours are those since the begin of the run, with opening the data and making the network, but without evaluations and
// checkpoints, as DAWNBench requires (its issues 9, 12 and 21).
//
// Threads: pure functions, except write_dawnbench().

#include <array>
#include <filesystem>
#include <string>

namespace unstarve {

struct TrainResult;

// "NAME <MAIL>", or "" for empty fields, which have to be filled in before a submission. Throws Error(kArgument).
struct DawnbenchAuthor {
  std::string name, mail;
};
[[nodiscard]] DawnbenchAuthor dawnbench_author(const std::string& text);

[[nodiscard]] std::string dawnbench_tsv(const TrainResult& result);
// `hardware`: a short description. `date`: yyyy-mm-dd.
[[nodiscard]] std::string dawnbench_json(const TrainResult& result, const DawnbenchAuthor& author,
                                         const std::string& hardware, const std::string& date);
// This machine, as DAWNBench describes hardware: "1 NVIDIA H200 / 24 GB / 2 CPU (AMD EPYC)".
[[nodiscard]] std::string dawnbench_hardware(const TrainResult& result);

// NAME.tsv and NAME.json of --dawnbench `path`, which is NAME, or NAME with one of these endings.
[[nodiscard]] std::array<std::filesystem::path, 2> dawnbench_files(const std::filesystem::path& path);
// Writes both. Throws Error(kIo).
void write_dawnbench(const TrainResult& result, const std::filesystem::path& path, const DawnbenchAuthor& author);

}  // namespace unstarve
