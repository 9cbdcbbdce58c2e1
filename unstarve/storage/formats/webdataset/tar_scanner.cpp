#include "unstarve/storage/formats/webdataset/tar_scanner.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

constexpr std::size_t kMoreSparseAt = 482;       // in the header
constexpr std::size_t kMoreSparseBlockAt = 504;  // in each block of the sparse map

bool is_extended(char type) noexcept { return type == 'x' || type == 'g' || type == 'L' || type == 'K'; }

std::uint64_t padded(std::uint64_t size) noexcept {
  return (size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

}  // namespace

void TarScanner::next(TarEvent& event) {
  while (!step(event)) {
  }
}

std::span<const std::uint8_t> TarScanner::block_at(std::uint64_t offset) { return bytes_.at(offset, kTarBlockBytes); }

bool TarScanner::step(TarEvent& event) {
  const std::span<const std::uint8_t> bytes = block_at(offset_);
  const std::uint64_t begin = pending_.any ? pending_.begin : offset_;
  if (bytes.size() < kTarBlockBytes) {
    offset_ += bytes.size();
    if (begin != offset_) return damaged(begin, offset_, "truncated: the archive ends inside a header", event);
    event = {};
    return true;
  }
  const TarBlock block(bytes.data(), kTarBlockBytes);
  if (is_zero_block(block)) {
    offset_ += kTarBlockBytes;
    return pending_.any && damaged(begin, offset_, "an extended header without the member it describes", event);
  }
  TarHeader header;
  bool more_sparse = false;
  try {
    header = parse_tar_header(block);
    more_sparse = header.type == 'S' && block[kMoreSparseAt] != 0;
  } catch (const Error& error) {
    offset_ += kTarBlockBytes;
    skip_to_header();
    return damaged(begin, offset_, error.what(), event);
  }
  if (is_extended(header.type)) return take_extended(header, event);
  event.header = offset_;
  offset_ += kTarBlockBytes;
  if (more_sparse) skip_sparse_map();
  return take_member(header, event);
}

// Stores the fields of an extended header for the next member; returns true if it is damaged.
bool TarScanner::take_extended(const TarHeader& header, TarEvent& event) {
  const std::uint64_t begin = pending_.any ? pending_.begin : offset_;
  if (header.type != 'g') {
    pending_.any = true;
    pending_.begin = begin;
  }
  offset_ += kTarBlockBytes;
  try {
    if (header.size > kMaxTarExtendedBytes) {
      throw input_error("extended header '{}' of {} bytes; expected at most {}", header.type, header.size,
                        kMaxTarExtendedBytes);
    }
    // Includes the padding of the last block, which a truncated archive may lack.
    const std::span<const std::uint8_t> stored = bytes_.at(offset_, padded(header.size));
    offset_ += stored.size();
    if (stored.size() < header.size) {
      throw input_error("truncated: the archive ends inside an extended header");
    }
    const std::span<const std::uint8_t> body = stored.first(header.size);
    if (header.type == 'L') {
      pending_.long_name.assign(body.begin(), std::find(body.begin(), body.end(), 0));
    } else if (header.type != 'K') {
      parse_pax(body, header.type == 'g' ? global_ : pending_.pax);
    }
    return false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    skip_to_header();
    return damaged(begin, offset_, error.what(), event);
  }
}

void TarScanner::skip_sparse_map() {
  for (bool more = true; more; offset_ += kTarBlockBytes) {
    const std::span<const std::uint8_t> map = block_at(offset_);
    if (map.size() < kTarBlockBytes) return;
    more = map[kMoreSparseBlockAt] != 0;
  }
}

// The name of the member: names of extended headers take precedence.
std::string TarScanner::name_of(const TarHeader& header, const Pending& extended) const {
  if (extended.pax.path) return *extended.pax.path;
  if (!extended.long_name.empty()) return extended.long_name;
  return global_.path ? *global_.path : header.name;
}

// offset_ is at the body on entry and after it on exit. Returns false if the member is skipped.
bool TarScanner::take_member(const TarHeader& header, TarEvent& event) {
  const std::uint64_t begin = pending_.any ? pending_.begin : event.header;
  const Pending extended = std::exchange(pending_, {});
  if (header.type == '1' || header.type == '2') return take_link(header, extended, event);
  if (!tar_type_has_body(header.type)) return false;
  const std::uint64_t size = extended.pax.size.value_or(global_.size.value_or(header.size));
  const std::uint64_t available = find_body(size, event);
  if (available < size) {
    offset_ += available;
    return damaged(begin, offset_,
                   fmt::format("truncated, or the size is wrong: the header declares {} bytes, the archive contains {}",
                               size, available),
                   event);
  }
  event.data = offset_;
  const std::uint64_t end = offset_ + size;
  offset_ += padded(size);  // beyond the end of an archive truncated in the padding
  if (header.type == 'S' || extended.pax.sparse) {
    return damaged(begin, end, "a sparse member, which is not supported. Create the archive without --sparse.", event);
  }
  if (header.type != '0' && header.type != '7') return false;
  event.name = name_of(header, extended);
  if (!event.name.empty() && event.name.back() == '/') return false;  // a folder in v7
  if (leaves_folder(event.name)) {
    std::string name = std::move(event.name);
    (void)damaged(begin, end, "member name '" + name + "': absolute, or leaves the folder through '..'", event);
    event.name = std::move(name);
    return true;
  }
  event.kind = TarEvent::Kind::kFile;
  event.bytes = size;
  return true;
}

bool TarScanner::take_link(const TarHeader& header, const Pending& extended, TarEvent& event) {
  event.name = name_of(header, extended);
  if (leaves_folder(event.name)) return false;
  event.kind = TarEvent::Kind::kLink;
  event.reason = header.type == '1' ? "a hard link" : "a symbolic link";
  event.data = offset_;
  event.bytes = 0;
  event.body = {};
  return true;
}

// Returns how many bytes of the body exist; sets event.body.
std::uint64_t TarScanner::find_body(std::uint64_t size, TarEvent& event) {
  if (size <= kForwardPieceBytes) {
    event.body = bytes_.at(offset_, size);
    return event.body.size();
  }
  event.body = {};
  std::uint64_t available = 0;
  while (available < size) {
    const std::size_t piece = std::min<std::uint64_t>(size - available, kForwardPieceBytes);
    const std::size_t got = bytes_.at(offset_ + available, piece).size();
    available += got;
    if (got < piece) break;
  }
  return available;
}

bool TarScanner::damaged(std::uint64_t begin, std::uint64_t end, std::string reason, TarEvent& event) {
  pending_ = {};
  event = {};
  event.kind = TarEvent::Kind::kDamage;
  event.header = begin;
  event.data = begin;
  event.bytes = end - begin;
  event.reason = std::move(reason);
  return true;
}

// Skips to the next block with magic and right checksum, or to the end. Blocks stay aligned to 512 bytes after damage.
void TarScanner::skip_to_header() {
  for (;; offset_ += kTarBlockBytes) {
    const std::span<const std::uint8_t> bytes = block_at(offset_);
    if (bytes.size() < kTarBlockBytes) {
      offset_ += bytes.size();
      return;
    }
    if (is_tar_header(TarBlock(bytes.data(), kTarBlockBytes))) return;
  }
}

std::size_t tar_extension_at(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', base);
  return dot == std::string_view::npos || dot == base ? std::string_view::npos : dot + 1;
}

bool is_tar_metadata(std::string_view path) noexcept {
  const std::string_view first = path.substr(0, path.find('/'));
  return first.size() >= 4 && first.substr(0, 2) == "__" && first.substr(first.size() - 2) == "__";
}

}  // namespace unstarve
