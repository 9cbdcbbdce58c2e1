// Arbitrary text as a pack manifest, a shard entry, a line of a quarantine list and a catalogue of datasets. Accepted
// input must be equal after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/jobs/pack/pack_manifest.h"
#include "unstarve/jobs/prepare/catalogue.h"
#include "unstarve/storage/dataset/quarantine_entry.h"

namespace {

using namespace unstarve;

template <class Work>
void allow_errors(const Work& work) {
  try {
    work();
  } catch (const Error&) {
  }
}

void require(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  allow_errors([&] {
    const PackManifest manifest = manifest_from_json(text, "m");
    const std::string written = to_json(manifest);
    require(to_json(manifest_from_json(written, "m")) == written);
  });
  allow_errors([&] {
    const ShardEntry entry = shard_entry_from_json(text, "e");
    require(shard_entry_from_json(to_json(entry), "e") == entry);
  });
  allow_errors([&] {
    const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    const QuarantineEntry entry = quarantine_entry_from_json(json, "q");
    require(quarantine_entry_from_json(to_json(entry), "q") == entry);
  });
  allow_errors([&] { (void)parse_catalogue(text, "c"); });
  return 0;
}
