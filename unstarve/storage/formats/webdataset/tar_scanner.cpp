#include "unstarve/storage/formats/webdataset/tar_scanner.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

constexpr std::size_t kMoreSparseAt = 482;       // in the header
constexpr std::size_t kMoreSparseBlockAt = 504;  // in each block of the sparse map

bool is_extended(char type) noexcept { return type == 'x' || type == 'g' || type == 'L' || type == 'K'; }

std::uint64_t filled(std::uint64_t size) noexcept {
  return (size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

}  // namespace

void TarScanner::next(TarEvent& event) {
  while (!step(event)) {
  }
}

std::span<const std::uint8_t> TarScanner::block_at(std::uint64_t offset) { return bytes_.at(offset, kTarBlockBytes); }

bool TarScanner::step(TarEvent& event) {
  const std::span<const std::uint8_t> bytes = block_at(at_);
  const std::uint64_t begin = pending_.any ? pending_.begin : at_;
  if (bytes.size() < kTarBlockBytes) {
    at_ += bytes.size();
    if (begin != at_) return damaged(begin, at_, "the archive ends inside a header", event);
    event = {};
    return true;
  }
  const TarBlock block(bytes.data(), kTarBlockBytes);
  if (is_zero_block(block)) {
    at_ += kTarBlockBytes;
    return pending_.any && damaged(begin, at_, "an extended header without the member it describes", event);
  }
  TarHeader header;
  bool more_sparse = false;
  try {
    header = parse_tar_header(block);
    more_sparse = header.type == 'S' && block[kMoreSparseAt] != 0;
  } catch (const Error& error) {
    at_ += kTarBlockBytes;
    skip_to_header();
    return damaged(begin, at_, error.what(), event);
  }
  if (is_extended(header.type)) return take_extended(header, event);
  event.header = at_;
  at_ += kTarBlockBytes;
  if (more_sparse) skip_sparse_map();
  return take_member(header, event);
}

// Notes what the header says of the member that follows; true when it is damaged.
bool TarScanner::take_extended(const TarHeader& header, TarEvent& event) {
  const std::uint64_t begin = pending_.any ? pending_.begin : at_;
  if (header.type != 'g') {
    pending_.any = true;
    pending_.begin = begin;
  }
  at_ += kTarBlockBytes;
  try {
    if (header.size > kMaxTarExtendedBytes) {
      throw Error(ErrorKind::kInput, std::string("an extended header '") + header.type + "' of " +
                                         std::to_string(header.size) + " bytes, expected at most " +
                                         std::to_string(kMaxTarExtendedBytes));
    }
    // With what fills the last block, which a cut archive may lack.
    const std::span<const std::uint8_t> there = bytes_.at(at_, filled(header.size));
    at_ += there.size();
    if (there.size() < header.size) throw Error(ErrorKind::kInput, "the archive ends inside an extended header");
    const std::span<const std::uint8_t> body = there.first(header.size);
    if (header.type == 'L') {
      pending_.long_name.assign(body.begin(), std::find(body.begin(), body.end(), 0));
    } else if (header.type != 'K') {
      parse_pax(body, header.type == 'g' ? global_ : pending_.pax);
    }
    return false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    skip_to_header();
    return damaged(begin, at_, error.what(), event);
  }
}

void TarScanner::skip_sparse_map() {
  for (bool more = true; more; at_ += kTarBlockBytes) {
    const std::span<const std::uint8_t> map = block_at(at_);
    if (map.size() < kTarBlockBytes) return;
    more = map[kMoreSparseBlockAt] != 0;
  }
}

// The name that counts: extended headers come before the header's own.
std::string TarScanner::name_of(const TarHeader& header, const Pending& told) const {
  if (told.pax.path) return *told.pax.path;
  if (!told.long_name.empty()) return told.long_name;
  return global_.path ? *global_.path : header.name;
}

// at_ is at the member's bytes, and then behind them. False for a member that is passed over.
bool TarScanner::take_member(const TarHeader& header, TarEvent& event) {
  const std::uint64_t begin = pending_.any ? pending_.begin : event.header;
  const Pending told = std::exchange(pending_, {});
  if (!tar_type_has_body(header.type)) return false;
  const std::uint64_t size = told.pax.size.value_or(global_.size.value_or(header.size));
  const std::uint64_t there = look_at_body(size, event);
  if (there < size) {
    at_ += there;
    return damaged(begin, at_,
                   "a member of " + std::to_string(size) +
                       " bytes reaches beyond the end: the archive was cut, or the size is wrong",
                   event);
  }
  event.data = at_;
  const std::uint64_t end = at_ + size;
  at_ += filled(size);  // beyond the end of an archive that was cut there
  if (header.type == 'S' || told.pax.sparse) {
    return damaged(begin, end, "a sparse member, which is not stored as it is; pack it without --sparse", event);
  }
  if (header.type != '0' && header.type != '7') return false;
  event.name = name_of(header, told);
  if (!event.name.empty() && event.name.back() == '/') return false;  // how v7 told folders
  if (leads_out(event.name)) {
    std::string name = std::move(event.name);
    (void)damaged(begin, end, "the member's name '" + name + "' is absolute or leads out by '..'", event);
    event.name = std::move(name);
    return true;
  }
  event.kind = TarEvent::Kind::kFile;
  event.bytes = size;
  return true;
}

// How many of the body's bytes are there; sets event.body.
std::uint64_t TarScanner::look_at_body(std::uint64_t size, TarEvent& event) {
  if (size <= kForwardPieceBytes) {
    event.body = bytes_.at(at_, size);
    return event.body.size();
  }
  event.body = {};
  std::uint64_t there = 0;
  while (there < size) {
    const std::size_t piece = std::min<std::uint64_t>(size - there, kForwardPieceBytes);
    const std::size_t got = bytes_.at(at_ + there, piece).size();
    there += got;
    if (got < piece) break;
  }
  return there;
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

// To the next block that is a header beyond doubt, or the end. Blocks keep their distance of 512 bytes behind damage.
void TarScanner::skip_to_header() {
  for (;; at_ += kTarBlockBytes) {
    const std::span<const std::uint8_t> bytes = block_at(at_);
    if (bytes.size() < kTarBlockBytes) {
      at_ += bytes.size();
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
