#include "unstarve/jobs/ladder/rung.h"

// Transfers uint8 pixels, a quarter of the bytes of float32; the device casts and normalises.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext&, const Settings& current) {
  if (current.pipeline.output.type == ElementType::kUint8) return "already uint8";
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.pipeline.output.type = ElementType::kUint8;
  return {{settings, "float32 -> uint8, normalised on the device"}};
}

}  // namespace

const Rung kUint8BusRung{"uint8 over the bus", false, false, not_applicable, candidates};

}  // namespace unstarve
