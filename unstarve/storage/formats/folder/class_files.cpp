#include "unstarve/storage/formats/folder/class_files.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kMaxReserved = 1 << 20;  // a folder keeps its size after files are removed from it

class ClassWalk {
 public:
  ClassWalk(int root, const std::string& root_path, const std::string& name, ClassFiles& files)
      : root_(root), root_path_(root_path), class_(name), files_(files) {}

  // `below` is "" or "sub/folder/".
  void enter(const std::string& below) {
    const std::string relative = class_ + "/" + below;
    const std::string shown = root_path_ + "/" + relative;
    FileDescriptor folder = open_folder(root_, relative, shown);
    // Stamp before reading the entries: a change in between makes the stamp stale.
    files_.folders.push_back({relative, stamp_of(folder, shown)});
    const FolderStamp& stamp = files_.folders.back().stamp;
    if (!entered_.emplace(stamp.device, stamp.inode).second) return;
    // On most file systems a folder is larger than the names in it.
    files_.pool.reserve(files_.pool.size() + static_cast<std::size_t>(std::min(stamp.bytes, kMaxReserved)));
    std::vector<std::string> folders;
    scan_folder(std::move(folder), shown, [&](const FolderEntry& entry) {
      if (entry.kind == EntryKind::kFolder) {
        folders.push_back(below + std::string(entry.name) + "/");
        return;
      }
      if (entry.link) files_.links.push_back({relative + std::string(entry.name), entry.kind});
      if (entry.kind != EntryKind::kFile) return;
      if (has_image_extension(entry.name)) return add_file(below, entry.name);
      if (has_unread_image_extension(entry.name) && files_.unread++ == 0)
        files_.first_unread = relative + std::string(entry.name);
    });
    // Sorted, so that which of two links to one folder is entered does not depend on the file system.
    std::sort(folders.begin(), folders.end());
    for (const std::string& next : folders) enter(next);
  }

 private:
  void add_file(const std::string& below, std::string_view name) {
    files_.names.push_back(files_.pool.size());
    files_.pool.insert(files_.pool.end(), below.begin(), below.end());
    files_.pool.insert(files_.pool.end(), name.begin(), name.end());
    files_.pool.push_back('\0');
  }

  const int root_;
  const std::string& root_path_;
  const std::string& class_;
  ClassFiles& files_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> entered_;  // device and inode, independent of the path
};

// Length of the prefix that all names share.
std::size_t common_prefix(const ClassFiles& files) {
  const std::string_view first(files.pool.data() + files.names.front());
  std::size_t length = first.size();
  for (const std::uint64_t name : files.names) {
    const char* const other = files.pool.data() + name;
    std::size_t same = 0;
    while (same < length && other[same] == first[same]) ++same;
    length = same;
  }
  return length;
}

// The next eight bytes of a name as a number that compares like them; zero-padded after the end of the name.
std::uint64_t first_eight(const char* name) {
  std::uint64_t key = 0;
  for (int i = 0; i < 8; ++i) {
    const auto byte = static_cast<unsigned char>(*name);
    key = key << 8 | byte;
    if (byte != 0) ++name;
  }
  return key;
}

struct KeyedName {
  std::uint64_t key;   // first_eight() after the common prefix
  std::uint64_t name;  // offset in the pool
};

// Sorts names without subfolders. Most comparisons need only the eight bytes after the common prefix.
void sort_plain(ClassFiles& files) {
  const std::size_t prefix = common_prefix(files);
  const char* const pool = files.pool.data();
  std::vector<KeyedName> keyed;
  keyed.reserve(files.names.size());
  for (const std::uint64_t name : files.names) keyed.push_back({first_eight(pool + name + prefix), name});
  std::sort(keyed.begin(), keyed.end(), [pool](const KeyedName& a, const KeyedName& b) {
    return a.key != b.key ? a.key < b.key : std::strcmp(pool + a.name, pool + b.name) < 0;
  });
  std::transform(keyed.begin(), keyed.end(), files.names.begin(), [](const KeyedName& each) { return each.name; });
}

}  // namespace

bool path_comes_before(std::string_view a, std::string_view b) noexcept {
  const auto split = [](std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::pair(std::string_view(), path)
                                           : std::pair(path.substr(0, slash), path.substr(slash + 1));
  };
  return split(a) < split(b);
}

ClassFiles list_class(int root, const std::string& root_path, const std::string& name) {
  ClassFiles files;
  ClassWalk(root, root_path, name, files).enter("");
  if (files.names.empty()) return files;
  if (std::find(files.pool.begin(), files.pool.end(), '/') == files.pool.end()) {
    sort_plain(files);
  } else {
    const char* const pool = files.pool.data();
    std::sort(files.names.begin(), files.names.end(),
              [pool](std::uint64_t a, std::uint64_t b) { return path_comes_before(pool + a, pool + b); });
  }
  return files;
}

}  // namespace unstarve
