#include "unstarve/storage/unknown_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/folder/manifest_rows.h"

namespace unstarve {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  const char* what;
};

// The magic numbers of the formats' own specifications.
constexpr std::array<Beginning, 5> kBeginnings = {{
    {"BZh"sv, "compressed with bzip2, which is not supported: decompress it, or use gzip or Zstandard"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed with xz, which is not supported: decompress it, or use gzip or Zstandard"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive, which is not supported: unpack it"},
    {"PK\x03\x04"sv, "a zip archive, which is not supported: unpack it"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, which is not supported: write its images as .npy, or pack them"},
}};

// In lower case, without surrounding blanks.
std::string beginning_of_text(std::span<const std::uint8_t> head) {
  return lower(trim(as_text(head.first(std::min<std::size_t>(head.size(), 200)))));
}

bool is_named_as_list(const std::string& name) {
  return std::ranges::any_of(std::array{".csv", ".tsv", ".jsonl", ".ndjson", ".json"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string describe_unknown_file(const std::string& name, std::span<const std::uint8_t> head) {
  const std::string_view bytes = as_text(head);
  for (const Beginning& one : kBeginnings)
    if (bytes.starts_with(one.bytes)) return std::string(": it is ") + one.what;
  const std::string text = beginning_of_text(head);
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) {
    return ": it is a web page, perhaps a login or error page: open it in a browser";
  }
  if (!is_named_as_list(name)) return "";
  const std::string columns = join(manifest_columns(bytes, {}));
  if (columns.empty()) return "";
  return ": found the columns " + columns + ", none of which is known to contain image paths. Name it: " + name +
         "#path=COLUMN,label=COLUMN";
}

}  // namespace unstarve
