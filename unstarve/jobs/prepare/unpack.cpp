#include "unstarve/jobs/prepare/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnpackPieceBytes = std::size_t{1} << 20;

[[nodiscard]] Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::kInput, "unpack " + where + ": " + what);
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

// Decided by the name, so that a damaged tar is not treated as a single compressed file.
bool is_container(std::string_view name) {
  return ends_with_any(name, {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip"});
}

std::string without_compression(std::string name) {
  for (const std::string_view end : {".gz", ".bz2", ".xz", ".zst"}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return name;
}

// Without leading "./" and trailing '/'.
std::string_view tidy(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  while (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

bool added_by_macos(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "__MACOSX" || part == ".DS_Store" || part.starts_with("._")) return true;
    if (slash == std::string_view::npos) return false;
    name.remove_prefix(slash + 1);
  }
}

// Limits shared by an archive and its inner archives.
struct Allowance {
  std::uint64_t limit = 0;
  std::uint64_t bytes = 0, members = 0;
  std::stop_token stop;

  void take_bytes(std::uint64_t count, const std::string& where) {
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "unpack " + where + ": stopped");
    if (count > limit - bytes) {
      throw bad(where, "unpacks to more than " + format_bytes(limit) + ": rejected as an archive bomb");
    }
    bytes += count;
  }
  void take_member(const std::string& where) {
    if (++members > kMaxMembers) throw bad(where, fmt::format("more than {} members", kMaxMembers));
  }
};

// Reads one archive sequentially, from a file or from the current member of another archive.
class ArchiveReader {
 public:
  ArchiveReader(const fs::path& path, std::string shown, bool container) : ArchiveReader(std::move(shown), container) {
    if (archive_read_open_filename(handle_.get(), path.c_str(), kUnpackPieceBytes) != ARCHIVE_OK) throw damaged();
  }
  ArchiveReader(ArchiveReader& outer, std::string shown) : ArchiveReader(std::move(shown), true) {
    outer_ = &outer;
    piece_.resize(kUnpackPieceBytes);
    if (archive_read_open(handle_.get(), this, nullptr, &ArchiveReader::read_outer, nullptr) != ARCHIVE_OK) {
      throw damaged();
    }
  }

  // Returns false at the end. The name of the member is normalised and inside the folder.
  bool next(Allowance& allowance) {
    const int status = archive_read_next_header(handle_.get(), &entry_);
    if (status == ARCHIVE_EOF) return false;
    if (status < ARCHIVE_WARN) throw damaged();
    allowance.take_member(shown_);
    const char* name = archive_entry_pathname(entry_);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry_);
    if (name == nullptr) throw bad(shown_, "a member name is not readable");
    name_ = tidy(name);
    if (!name_.empty() && name_ != "." && leaves_folder(name)) {
      throw bad(where(), "rejected: the name is outside the folder");
    }
    if (archive_entry_hardlink(entry_) != nullptr) throw bad(where(), "rejected: a link");
    if (!is_file() && !is_folder()) throw bad(where(), "rejected: neither a file nor a folder");
    return true;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_file() const { return archive_entry_filetype(entry_) == AE_IFREG; }
  [[nodiscard]] bool is_folder() const { return archive_entry_filetype(entry_) == AE_IFDIR; }
  [[nodiscard]] const std::string& shown() const { return shown_; }
  [[nodiscard]] std::string where() const { return shown_ + ":" + name_; }

  // Reads bytes of the member into `out`; returns 0 at its end.
  std::size_t read(std::span<std::uint8_t> out) {
    const la_ssize_t count = archive_read_data(handle_.get(), out.data(), out.size());
    if (count < 0) throw bad(where(), reason());
    return static_cast<std::size_t>(count);
  }
  // Number of bytes read from the file.
  [[nodiscard]] std::uint64_t position() const {
    return static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_filter_bytes(handle_.get(), -1)));
  }

 private:
  ArchiveReader(std::string shown, bool container)
      : handle_(archive_read_new(), &archive_read_free), shown_(std::move(shown)) {
    archive* handle = handle_.get();
    if (handle == nullptr) throw Error(ErrorKind::kMemory, "unpack " + shown_ + ": libarchive is out of memory");
    archive_read_support_filter_gzip(handle);
    archive_read_support_filter_bzip2(handle);
    archive_read_support_filter_xz(handle);
    archive_read_support_filter_zstd(handle);
    archive_read_support_format_empty(handle);
    if (container) {
      archive_read_support_format_tar(handle);
      archive_read_support_format_zip(handle);
    } else {
      archive_read_support_format_raw(handle);
    }
  }

  static la_ssize_t read_outer(archive* inner, void* self, const void** buffer) noexcept {
    auto& reader = *static_cast<ArchiveReader*>(self);
    try {
      const std::size_t count = reader.outer_->read(reader.piece_);
      *buffer = reader.piece_.data();
      return static_cast<la_ssize_t>(count);
    } catch (const std::exception& error) {
      archive_set_error(inner, EIO, "%s", error.what());
      return -1;
    }
  }
  [[nodiscard]] std::string reason() const {
    const char* text = archive_error_string(handle_.get());
    return printable(text != nullptr ? text : "damaged");
  }
  [[nodiscard]] Error damaged() const { return bad(shown_, reason()); }

  std::unique_ptr<archive, decltype(&archive_read_free)> handle_;
  std::string shown_;
  archive_entry* entry_ = nullptr;
  std::string name_;
  ArchiveReader* outer_ = nullptr;
  std::vector<std::uint8_t> piece_;
};

// Writes files below one folder.
class Unpacker {
 public:
  Unpacker(Allowance& allowance, std::function<void()> tick) : allowance_(allowance), tick_(std::move(tick)) {
    piece_.resize(kUnpackPieceBytes);
  }

  void unpack_member(ArchiveReader& archive, const fs::path& path) {
    if (path.parent_path() != last_folder_) {
      make_folders(path.parent_path());
      last_folder_ = path.parent_path();
    }
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.valid()) throw io_error("write", path.string(), errno);
    std::uint64_t written = 0;
    while (const std::size_t count = archive.read(piece_)) {
      allowance_.take_bytes(count, archive.where());
      write_fully(file.get(), path.string(), written, {piece_.data(), count});
      written += count;
      count_.bytes += count;
      tick_();
    }
    ++count_.files;
    tick_();
  }
  // Unpacks all members that match the rules.
  void unpack_all(ArchiveReader& archive, const UnpackRules& rules, const fs::path& folder) {
    make_folders(folder);
    while (archive.next(allowance_)) {
      const std::string unpacked = unpacked_name(archive.name(), rules);
      if (unpacked.empty()) continue;
      if (archive.is_folder()) {
        make_folders(folder / unpacked);
      } else {
        unpack_member(archive, folder / unpacked);
      }
    }
  }
  // Unpacks each inner archive to a folder of its name.
  void unpack_each(ArchiveReader& archive, const UnpackRules& rules, const fs::path& folder) {
    make_folders(folder);
    while (archive.next(allowance_)) {
      const std::string unpacked = unpacked_name(archive.name(), rules);
      if (!archive.is_file() || unpacked.empty()) continue;
      if (!is_container(unpacked)) throw bad(archive.where(), "not an archive; expected only archives");
      const fs::path target = folder / unpacked.substr(0, unpacked.find(".tar"));
      if (!fs::exists(target)) unpack_one(archive, target);
      tick_();
    }
  }
  [[nodiscard]] UnpackCount count() const { return count_; }

 private:
  void unpack_one(ArchiveReader& outer, const fs::path& target) {
    fs::path unfinished = target;
    unfinished += ".unpacking";
    fs::remove_all(unfinished);
    last_folder_.clear();
    ArchiveReader inner(outer, outer.where());
    unpack_all(inner, {}, unfinished);
    rename_to(unfinished, target);
  }
  // Path relative to the folder; empty for unwanted members.
  static std::string unpacked_name(std::string_view name, const UnpackRules& rules) {
    if (name.empty() || name == "." || added_by_macos(name)) return "";
    if (!rules.inside.empty()) {
      if (name.size() <= rules.inside.size() + 1 || !name.starts_with(rules.inside) ||
          name[rules.inside.size()] != '/') {
        return "";
      }
      name.remove_prefix(rules.inside.size() + 1);
    }
    const std::string_view first = name.substr(0, name.find('/'));
    const bool left_out = std::ranges::find(rules.leave_out, first) != rules.leave_out.end();
    return left_out ? "" : std::string(name);
  }

  Allowance& allowance_;
  std::function<void()> tick_;
  std::vector<std::uint8_t> piece_;
  fs::path last_folder_;
  UnpackCount count_;
};

// The inner archive rules.member of `outer`.
void unpack_inner(ArchiveReader& outer, Allowance& allowance, Unpacker& unpacker, const UnpackRules& rules,
                  const fs::path& folder) {
  while (outer.next(allowance)) {
    if (outer.name() != rules.member) continue;
    ArchiveReader inner(outer, outer.where());
    return unpacker.unpack_all(inner, rules, folder);
  }
  throw bad(outer.shown(), "does not contain " + rules.member);
}

}  // namespace

std::uint64_t default_unpack_limit(std::uint64_t archive_bytes) noexcept {
  return (std::uint64_t{64} << 20) + 20 * std::min(archive_bytes, std::uint64_t{1} << 50);
}

UnpackCount unpack_archive(const fs::path& path, const UnpackRules& rules, const fs::path& folder,
                           const std::function<void(std::uint64_t bytes)>& advanced, std::stop_token stop) {
  Allowance allowance{.limit = rules.limit_bytes, .stop = stop};
  const bool container = is_container(rules.name);
  ArchiveReader archive(path, path.string(), container);
  std::uint64_t reported = 0;
  Unpacker unpacker(allowance, [&] {
    const std::uint64_t position = archive.position();
    if (advanced && position > reported) advanced(position - reported);
    reported = std::max(reported, position);
  });
  if (!container) {
    make_folders(folder);
    if (!archive.next(allowance)) throw bad(path.string(), "empty archive");
    unpacker.unpack_member(archive, folder / without_compression(rules.name));
  } else if (!rules.member.empty()) {
    unpack_inner(archive, allowance, unpacker, rules, folder);
  } else if (rules.each) {
    unpacker.unpack_each(archive, rules, folder);
  } else {
    unpacker.unpack_all(archive, rules, folder);
  }
  return unpacker.count();
}

}  // namespace unstarve
