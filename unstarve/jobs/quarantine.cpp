#include "unstarve/jobs/quarantine.h"

#include "unstarve/core/file.h"
#include "unstarve/storage/dataset/quarantine_entry.h"

namespace unstarve {

std::string quarantine_lines(std::span<const BadSample> bad) {
  std::string lines;
  for (const BadSample& sample : bad) lines += quarantine_line(sample.location, sample.reason);
  return lines;
}

std::string quarantine_lines(std::span<const CorruptRecord> corrupt) {
  std::string lines;
  for (const CorruptRecord& record : corrupt) lines += quarantine_line(record.location, record.reason);
  return lines;
}

void write_quarantine(const std::filesystem::path& path, std::span<const BadSample> bad) {
  write_file_atomically(path, quarantine_lines(bad));
}

void write_quarantine(const std::filesystem::path& path, std::span<const CorruptRecord> corrupt) {
  write_file_atomically(path, quarantine_lines(corrupt));
}

}  // namespace unstarve
