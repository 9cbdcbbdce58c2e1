#include "unstarve/jobs/quarantine.h"

#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/jobs/pack/pack_key.h"

namespace unstarve {

std::string quarantine_lines(std::span<const BadSample> bad) {
  std::string lines;
  for (const BadSample& sample : bad) {
    const RecordPlace place = PackKeys::place(sample.location);
    const nlohmann::ordered_json entry = {{"file", place.file}, {"offset", place.offset}, {"reason", sample.reason}};
    // Names and reasons may hold any bytes.
    lines += entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return lines;
}

void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad) {
  write_file_atomically(path, quarantine_lines(bad));
}

}  // namespace unstarve
