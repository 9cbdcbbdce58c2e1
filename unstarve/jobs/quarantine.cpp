#include "unstarve/jobs/quarantine.h"

#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/jobs/quarantine_entry.h"

namespace unstarve {
namespace {

std::string line_of(const RecordPlace& place, const std::string& reason) {
  const nlohmann::ordered_json entry = to_json(quarantine_entry(place, reason));
  // Names and reasons may hold any bytes.
  return entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string quarantine_lines(std::span<const BadSample> bad) {
  std::string lines;
  for (const BadSample& sample : bad) lines += line_of(sample.place, sample.reason);
  return lines;
}

std::string quarantine_lines(std::span<const CorruptRecord> corrupt) {
  std::string lines;
  for (const CorruptRecord& record : corrupt) lines += line_of(record.place, record.reason);
  return lines;
}

void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad) {
  write_file_atomically(path, quarantine_lines(bad));
}

void write_quarantine(const std::filesystem::path& path, std::span<const CorruptRecord> corrupt) {
  write_file_atomically(path, quarantine_lines(corrupt));
}

}  // namespace unstarve
