#include "unstarve/storage/bytes/byte_source.h"

#include <algorithm>
#include <array>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/local_bytes.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

constexpr std::array<std::string_view, 4> kSchemes = {"http://", "https://", "s3://", "gs://"};

}  // namespace

void ByteSource::will_read(std::uint64_t /*offset*/, std::size_t /*length*/) const noexcept {}

void ByteSource::read_many(std::span<const ReadRange> ranges) const {
  for (const ReadRange& range : ranges) read(range.offset, range.out);
}

void check_range(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  if (offset <= source.size() && length <= source.size() - offset) return;
  throw Error(ErrorKind::kArgument, "read " + source.name() + ": " + std::to_string(length) + " bytes at offset " +
                                        std::to_string(offset) + " are beyond its end at " +
                                        std::to_string(source.size()));
}

bool is_url(std::string_view text) noexcept {
  return std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view s) { return text.starts_with(s); });
}

std::shared_ptr<const ByteSource> open_bytes(const std::string& path_or_url) {
  if (is_url(path_or_url)) return open_remote_bytes(path_or_url);
  return std::make_shared<LocalBytes>(path_or_url);
}

}  // namespace unstarve
