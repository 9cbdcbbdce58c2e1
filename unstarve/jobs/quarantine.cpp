#include "unstarve/jobs/quarantine.h"

#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/jobs/quarantine_entry.h"

namespace unstarve {

std::string quarantine_lines(std::span<const BadSample> bad) {
  std::string lines;
  for (const BadSample& sample : bad) {
    const nlohmann::ordered_json entry = to_json(quarantine_entry(sample.place, sample.reason));
    // Names and reasons may hold any bytes.
    lines += entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return lines;
}

void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad) {
  write_file_atomically(path, quarantine_lines(bad));
}

}  // namespace unstarve
