// Arbitrary bytes as a manifest: kind detection, and parsing as both kinds.
#include <cstddef>
#include <cstdint>

#include "unstarve/storage/formats/folder/manifest_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ManifestColumns& columns : {ManifestColumns{}, ManifestColumns{"p", "l"}, ManifestColumns{"", "none"}}) {
    (void)manifest_kind(text, columns);
    for (const ManifestKind kind : {ManifestKind::kCsv, ManifestKind::kJsonLines}) {
      std::uint64_t last = 0;
      parse_manifest(kind, text, columns, [&](const ManifestRow& row) {
        if (row.line <= last || row.line > size + 1) __builtin_trap();  // rows are in order
        if (row.problem.empty() && row.path.empty()) __builtin_trap();
        last = row.line;
      });
    }
  }
  return 0;
}
