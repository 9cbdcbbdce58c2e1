#include "unstarve/jobs/pack/pack_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// "<front><word><number>" taken apart; nothing when the text does not end so.
struct Numbered {
  std::string_view front;
  std::uint64_t number = 0;
};

std::optional<Numbered> ends_numbered(std::string_view text, std::string_view word) {
  const std::size_t at = text.rfind(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + word.size());
  Numbered result{text.substr(0, at)};
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), result.number);
  if (digits.empty() || status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return result;
}

constexpr std::string_view kOffset = " at offset ";
constexpr std::string_view kRecord = " record ";

// Where the name of a shard ends and that of a member begins: behind a known extension and a blank.
std::size_t member_at(std::string_view text) {
  for (const std::string_view extension : {".tar ", ".tar.gz ", ".tgz "}) {
    const std::size_t at = text.find(extension);
    if (at != std::string_view::npos) return at + extension.size();
  }
  return std::string_view::npos;
}

std::string base_of(std::string text) {
  text = text.substr(0, text.find('#'));
  const bool url = is_url(text);
  std::error_code none;
  if (!url && fs::is_directory(text, none)) {
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text == "/" ? text : text + "/";
  }
  if (!url && fs::exists(text, none)) return text.substr(0, text.rfind('/') + 1);
  text = text.substr(0, text.find_first_of("*?[{"));
  return text.substr(0, text.rfind('/') + 1);
}

}  // namespace

PackKeys::PackKeys(const std::string& source) : base_(base_of(source)) {
  if (is_url(source)) return;
  std::error_code none;
  absolute_ = fs::absolute(base_.empty() ? "." : base_, none).lexically_normal().string();
  if (!absolute_.ends_with('/')) absolute_ += '/';
}

std::string PackKeys::relative(std::string_view path) const {
  if (!base_.empty() && path.starts_with(base_)) {
    path.remove_prefix(base_.size());
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
  }
  if (absolute_.empty()) return std::string(path);
  std::error_code none;
  const std::string whole = fs::absolute(path, none).lexically_normal().string();
  return whole.starts_with(absolute_) ? whole.substr(absolute_.size()) : std::string(path);
}

std::string PackKeys::key(std::string_view location) const {
  if (const auto numbered = ends_numbered(location, kOffset)) location = numbered->front;
  return relative(location);
}

std::string PackKeys::name(std::string_view key) {
  const auto record = ends_numbered(key, kRecord);
  if (!record) return std::string(key);
  const std::size_t member = member_at(record->front);
  if (member != std::string_view::npos) return std::string(record->front.substr(member));
  return fmt::format("{}-{:08}", record->front, record->number);
}

RecordPlace PackKeys::place(std::string_view location) {
  const auto offset = ends_numbered(location, kOffset);
  if (!offset) return {std::string(location), 0};
  const auto record = ends_numbered(offset->front, kRecord);
  std::string_view file = record ? record->front : offset->front;
  const std::size_t member = member_at(file);
  if (member != std::string_view::npos) file = file.substr(0, member - 1);
  return {std::string(file), offset->number};
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t before) noexcept {
  std::uint64_t hash = before;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

}  // namespace unstarve
