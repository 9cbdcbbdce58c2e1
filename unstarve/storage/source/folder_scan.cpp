#include "unstarve/storage/source/folder_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "unstarve/core/cancel.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

EntryKind kind_of_mode(mode_t mode) noexcept {
  if (S_ISREG(mode)) return EntryKind::kFile;
  return S_ISDIR(mode) ? EntryKind::kFolder : EntryKind::kOther;
}

FolderEntry folder_entry(int folder, const dirent& entry, const std::string& shown) {
  unsigned char type = entry.d_type;
  struct stat status {};
  if (type == DT_UNKNOWN) {
    if (::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {entry.d_name, EntryKind::kFile, false};  // removed meanwhile
      throw io_error("stat", shown + "/" + entry.d_name, errno);
    }
    if (!S_ISLNK(status.st_mode)) return {entry.d_name, kind_of_mode(status.st_mode), false};
    type = DT_LNK;
  }
  if (type == DT_REG) return {entry.d_name, EntryKind::kFile, false};
  if (type == DT_DIR) return {entry.d_name, EntryKind::kFolder, false};
  if (type != DT_LNK) return {entry.d_name, EntryKind::kOther, false};
  const std::optional<EntryKind> kind = entry_kind(folder, entry.d_name);
  if (!kind) throw io_error("stat", shown + "/" + entry.d_name, errno);
  return {entry.d_name, *kind, true};
}

template <std::size_t N>
bool ends_in_one_of(std::string_view name, const std::array<std::string_view, N>& endings) noexcept {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.size() > ending.size() && ends_in(name, ending); });
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

bool is_left_out(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 7> kOfSystems = {
      "__MACOSX", "@eaDir", "lost+found", "$RECYCLE.BIN", "System Volume Information", "#recycle", "__pycache__"};
  return name.starts_with('.') || std::ranges::find(kOfSystems, name) != kOfSystems.end();
}

FileDescriptor open_folder(int at, const std::string& relative, const std::string& shown) {
  FileDescriptor folder(::openat(at, relative.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) throw io_error("open folder", shown, errno);
  return folder;
}

void scan_folder(FileDescriptor folder, const std::string& shown,
                 const std::function<void(const FolderEntry& entry)>& visit) {
  std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(folder.get()));
  if (!stream) throw io_error("open folder", shown, errno);
  const int descriptor = folder.release();  // the stream owns it
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) throw io_error("read folder", shown, errno);
      return;
    }
    throw_if_cancelled();
    if (!is_left_out(entry->d_name)) visit(folder_entry(descriptor, *entry, shown));
  }
}

std::optional<EntryKind> entry_kind(int at, const char* path) noexcept {
  struct stat status {};
  if (::fstatat(at, path, &status, 0) == 0) return kind_of_mode(status.st_mode);
  if (errno == ENOENT || errno == ELOOP) return EntryKind::kFile;
  return std::nullopt;
}

FolderListing list_folder(const std::string& path) {
  FolderListing listing;
  scan_folder(open_folder(AT_FDCWD, path, path), path, [&](const FolderEntry& entry) {
    (entry.kind == EntryKind::kFolder ? listing.folders : listing.files).emplace_back(entry.name);
  });
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.files.begin(), listing.files.end());
  return listing;
}

bool has_image_extension(std::string_view name) noexcept {
  return ends_in_one_of(name, std::array<std::string_view, 4>{".jpg", ".jpeg", ".png", ".webp"});
}

bool has_unread_image_extension(std::string_view name) noexcept {
  return ends_in_one_of(name, std::array<std::string_view, 12>{".bmp", ".gif", ".tif", ".tiff", ".avif", ".heic",
                                                               ".jfif", ".jp2", ".jxl", ".pgm", ".ppm", ".tga"});
}

}  // namespace unstarve
