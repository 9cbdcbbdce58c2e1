#include "unstarve/storage/bytes/byte_source.h"

#include <algorithm>
#include <array>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr std::array<std::string_view, 5> kSchemes = {"http://", "https://", "s3://", "gs://", "az://"};

}  // namespace

void ByteSource::prefetch(std::uint64_t /*offset*/, std::size_t /*length*/) const noexcept {}

void ByteSource::read_many(std::span<const ReadRange> ranges) const {
  for (const ReadRange& range : ranges) read(range.offset, range.out);
}

void check_range(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  if (offset <= source.size() && length <= source.size() - offset) return;
  throw argument_error("read {}: {} bytes at offset {} are beyond its end at {}", source.name(), length, offset,
                       source.size());
}

std::string read_text(const ByteSource& source, std::uint64_t max_bytes) {
  std::string text(static_cast<std::size_t>(std::min(source.size(), max_bytes)), '\0');
  source.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

bool is_url(std::string_view text) noexcept {
  return std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view s) { return text.starts_with(s); });
}

bool is_bucket_url(std::string_view text) noexcept { return is_url(text) && !text.starts_with("http"); }

bool has_scheme(std::string_view text) noexcept {
  const std::string_view scheme = text.substr(0, text.find("://"));
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return scheme.size() < text.size() && !scheme.empty() && letter(scheme.front()) &&
         std::all_of(scheme.begin(), scheme.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; });
}

std::string shown_name(const std::string& text) {
  if (!text.starts_with("http://") && !text.starts_with("https://")) return text;
  const std::size_t begin = text.find("://") + 3, query = std::min(text.find('?'), text.size());
  const std::size_t at = text.rfind('@', query);  // also after the first '/': a password may contain one
  const std::size_t host = at == std::string::npos ? begin : at + 1;
  return text.substr(0, begin) + text.substr(host, query - host) + (query < text.size() ? "?..." : "");
}

}  // namespace unstarve
