#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/jobs/bench.h"

namespace unstarve {

std::string to_text(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  std::string text;
  const auto row = [&](const char* name, const std::string& what, double rate, const std::string& more) {
    text += fmt::format("  {:<12} {:<24} {:>10.0f} img/s  {}\n", name, what, rate, more);
  };
  row("storage", "reading, one thread", f.storage, "");
  row("loader", "read to batch", f.loader, fmt::format("{:.1f} of {} cores busy", f.loader_cores, f.usable_cores));
  row("copy", r.target.cuda() ? (r.settings.pipeline.execution.pinned ? "pinned" : "pageable") : "within the host",
      f.copy, fmt::format("{:.1f} GB/s", r.copy_gb_per_s));
  row(r.target.emulated() ? "accelerator" : "network", r.target.emulated() ? r.target.name : "resident batch",
      f.network, "");
  row("together", "", f.together,
      fmt::format("overlap {:.1f} %, utilisation {:.1f} %, data wait {:.1f} %", 100 * r.verdict.overlap,
                  100 * f.utilisation, 100 * f.data_wait));
  text += "  verdict      " + r.verdict.sentence + "\n";
  return text;
}

std::string to_json(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  nlohmann::ordered_json json;
  json["data"] = r.data;
  json["format"] = r.format;
  json["device"] = r.target.name;
  json["model"] = r.target.emulated() ? r.target.accelerator() : r.settings.train.model;
  json["batch"] = r.settings.pipeline.batch.size;
  json["storage"] = f.storage;
  json["loader"] = f.loader;
  json["copy"] = f.copy;
  json["network"] = f.network;
  json["together"] = f.together;
  json["data_wait"] = f.data_wait;
  json["overlap"] = r.verdict.overlap;
  json["utilisation"] = f.utilisation;
  json["bottleneck"] = to_string(r.verdict.bottleneck);
  json["verdict"] = r.verdict.sentence;
  json["profile"] = nlohmann::ordered_json::parse(to_json(r.profile));
  return json.dump();
}

}  // namespace unstarve
