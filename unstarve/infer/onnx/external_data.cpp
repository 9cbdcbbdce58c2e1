#include "unstarve/infer/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve::infer {

namespace fs = std::filesystem;

std::span<const std::uint8_t> ExternalData::bytes_of(const ProtoTensor& tensor) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    return Error(ErrorKind::kInput, fmt::format("constant '{}' {}; expected {}", tensor.name, found, expected));
  };
  if (folder_.empty()) throw fail("is stored in another file", "weights in the same file");
  const auto entry = [&](std::string_view key) -> std::string {
    const auto found = tensor.external_entries.find(key);
    return found == tensor.external_entries.end() ? std::string() : std::string(found->second);
  };
  const auto number = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const std::string text = entry(key);
    if (text.empty()) return std::nullopt;
    if (const auto value = parse_number<std::uint64_t>(text)) return value;
    throw fail(fmt::format("has the {} '{}'", key, text), "a number of bytes");
  };
  const fs::path location = entry("location");
  const auto is_inside = [](const fs::path& path) {
    return !path.empty() && path.is_relative() && std::ranges::find(path, fs::path("..")) == path.end();
  };
  // Links are resolved, so that they do not lead out of the folder either.
  std::error_code unresolved;
  const fs::path path = fs::weakly_canonical(folder_ / location, unresolved);
  const fs::path root = unresolved ? fs::path() : fs::weakly_canonical(folder_, unresolved);
  if (!is_inside(location) || unresolved || !is_inside(path.lexically_relative(root)))
    throw fail(fmt::format("is stored in '{}'", location.string()), "a file in the folder of the model");
  auto file = files_.find(path);
  if (file == files_.end()) file = files_.emplace(path, MappedFile(path)).first;
  const std::span<const std::uint8_t> all = file->second.bytes();
  const std::uint64_t offset = number("offset").value_or(0);
  const std::uint64_t rest = offset <= all.size() ? all.size() - offset : 0;
  const std::uint64_t length = number("length").value_or(rest);
  if (offset > all.size() || length > rest)
    throw fail(fmt::format("has {} bytes at {} of '{}'", length, offset, location.string()),
               fmt::format("a range within its {} bytes", all.size()));
  return all.subspan(offset, length);
}

}  // namespace unstarve::infer
