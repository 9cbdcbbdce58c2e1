// Our side of a comparison as a child process of bench/run.py: `unstarve_peer_bench SIDE JOB`.
//
// The protocol is that of unstarve.comparison.serve: {"ready": true} or {"error": text}, then one JSON object for
// each JSON array on stdin: ["run", seconds] -> {"samples", "seconds", "cpu_seconds"};
// ["check", path or null] -> statistics; ["quit"] exits.
#include <array>
#include <iostream>
#include <string>
#include <string_view>

#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/core/simd_targets.h"
#include "unstarve/ops/batch/batch_operation.h"

#include <hwy/targets.h>

namespace {

using unstarve::Error;
using unstarve::ErrorKind;
using unstarve::bench::Side;

struct SideEntry {
  std::string_view name;
  std::unique_ptr<Side> (*make)(const unstarve::bench::Job& job);
};

constexpr std::array<SideEntry, 21> kSides{{{"loader", unstarve::bench::make_loader_side},
                                            {"first-batch", unstarve::bench::make_first_batch_side},
                                            {"cold", unstarve::bench::make_cold_side},
                                            {"bare", unstarve::bench::make_bare_side},
                                            {"memcpy", unstarve::bench::make_memcpy_side},
                                            {"records", unstarve::bench::make_records_side},
                                            {"record-memcpy", unstarve::bench::make_record_memcpy_side},
                                            {"pack", unstarve::bench::make_pack_side},
                                            {"stragglers", unstarve::bench::make_stragglers_side},
                                            {"overlap", unstarve::bench::make_overlap_side},
                                            {"pipeline", unstarve::bench::make_pipeline_side},
                                            {"operations", unstarve::bench::make_operations_side},
                                            {"batch-operations", unstarve::bench::make_batch_operations_side},
                                            {"decode-crop", unstarve::bench::make_decode_crop_side},
                                            {"libjpeg", unstarve::bench::make_libjpeg_side},
                                            {"entropy", unstarve::bench::make_entropy_side},
                                            {"libjpeg-skip", unstarve::bench::make_libjpeg_skip_side},
                                            {"train", unstarve::bench::make_train_side},
                                            {"infer", unstarve::bench::make_infer_side},
                                            {"infer-end-to-end", unstarve::bench::make_infer_end_to_end_side},
                                            {"infer-parts", unstarve::bench::make_infer_parts_side}}};

std::string names(std::string_view between) {
  std::string all;
  for (const SideEntry& entry : kSides) all += std::string(all.empty() ? "" : between) + std::string(entry.name);
  return all;
}

// Limits the instruction set of all threads started later: "instructions": "avx2" in the job disables AVX-512.
void limit_instructions(const unstarve::bench::Job& job) {
  const std::string limit = job.value("instructions", "");
  if (limit.empty()) return;
  if (limit != "avx2") {
    throw Error(ErrorKind::kArgument, "bench: instructions '" + limit + "'; expected avx2");
  }
  // Better instruction sets have lower bits in Highway. Only x86-64 has instruction sets to disable.
  if (HWY_ARCH_X86) hwy::DisableTargets(HWY_AVX2 - 1);
}

std::unique_ptr<Side> make_side(std::string_view name, const unstarve::bench::Job& job) {
  limit_instructions(job);
  for (const SideEntry& entry : kSides)
    if (entry.name == name) return entry.make(job);
  throw Error(ErrorKind::kArgument, "bench: unknown side '" + std::string(name) + "'; expected one of " + names(", "));
}

void answer(const nlohmann::json& value) { std::cout << value.dump() << std::endl; }

nlohmann::json execute(Side& side, const nlohmann::json& command) {
  const std::string name = command.at(0);
  if (name == "run") {
    const unstarve::bench::Block block = side.run(command.at(1));
    return {{"samples", block.samples}, {"seconds", block.seconds}, {"cpu_seconds", block.cpu_seconds}};
  }
  if (name == "check") {
    return side.check(command.at(1).is_null() ? std::nullopt : std::optional<std::string>(command.at(1)));
  }
  throw Error(ErrorKind::kArgument, "bench: unknown command '" + name + "'; expected run, check or quit");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: unstarve_peer_bench " << names("|") << " JOB-AS-JSON (started by bench/run.py)\n";
    return 2;
  }
  try {
    const std::unique_ptr<Side> side = make_side(argv[1], nlohmann::json::parse(argv[2]));
    answer({{"ready", true}});
    for (std::string line; std::getline(std::cin, line);) {
      const nlohmann::json command = nlohmann::json::parse(line);
      if (command.at(0) == "quit") break;
      answer(execute(*side, command));
    }
  } catch (const std::exception& error) {
    answer({{"error", error.what()}});
    return 1;
  }
  return 0;
}
