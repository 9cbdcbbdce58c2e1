#include "unstarve/storage/formats/folder/listing_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc32c.h"

namespace unstarve {
namespace {

constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kCrcAt = 40;
constexpr std::size_t kFolderBytes = 48;
constexpr std::size_t kLinkBytes = 16;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorKind::kInput, "read the listing of a folder: damaged: " + what);
}

std::uint32_t checksum(std::span<const std::uint8_t> bytes) {
  return crc32c(bytes.subspan(kCrcAt + 4), crc32c(bytes.first(kCrcAt)));
}

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

enum Section { kClasses, kFiles, kFolders, kLinks, kNames };
constexpr std::array<std::size_t, 5> kEach = {16, 8, kFolderBytes, kLinkBytes, 1};  // bytes of an element
using Counts = std::array<std::size_t, kEach.size()>;

// A listing whose size is known, filled in place: each section from its own beginning on.
class Writer {
 public:
  explicit Writer(const Counts& counts) {
    std::size_t total = kHeaderBytes;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      next_[i] = total;
      total += counts[i] * kEach[i];
    }
    names_ = next_[kNames];
    bytes_.resize(total);
    std::size_t header = 0;
    for (const std::size_t count : counts) store(header, count);
    static_assert(kListingVersion < 256, "the version's other three bytes are left at 0");
    bytes_[kCrcAt + 4] = static_cast<char>(kListingVersion);
  }

  void add_class(const std::string& name, const ClassFiles& of) {
    put(kClasses, files_);
    add_name(kClasses, name);
    const std::size_t behind = next_[kNames] - names_;
    for (const std::uint64_t at : of.names) put(kFiles, behind + at);
    files_ += of.names.size();
    add_bytes({of.pool.data(), of.pool.size()});
  }
  void add(std::span<const SeenFolder> seen) {
    for (const SeenFolder& folder : seen) {
      put(kFolders, folder.stamp.inode);
      put(kFolders, static_cast<std::uint64_t>(folder.stamp.modified_ns));
      put(kFolders, static_cast<std::uint64_t>(folder.stamp.changed_ns));
      put(kFolders, folder.stamp.bytes);
      put(kFolders, folder.stamp.device);
      add_name(kFolders, folder.path);
    }
  }
  void add(std::span<const SeenLink> seen) {
    for (const SeenLink& link : seen) {
      put(kLinks, static_cast<std::uint64_t>(link.kind));
      add_name(kLinks, link.path);
    }
  }

  [[nodiscard]] std::string finish() && {
    std::string crc;
    append_little(crc, checksum(as_bytes(bytes_)));
    bytes_.replace(kCrcAt, crc.size(), crc);
    return std::move(bytes_);
  }

 private:
  void store(std::size_t& at, std::uint64_t number) {
    std::array<char, 8> little{};
    for (std::size_t i = 0; i < little.size(); ++i) little[i] = static_cast<char>(number >> 8 * i & 255);
    std::memcpy(bytes_.data() + at, little.data(), little.size());
    at += little.size();
  }
  void put(Section section, std::uint64_t number) { store(next_[section], number); }
  void add_bytes(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(next_[kNames]));
    next_[kNames] += bytes.size();
  }
  void add_name(Section section, std::string_view name) {  // the NUL behind it is there
    put(section, next_[kNames] - names_);
    add_bytes(name);
    ++next_[kNames];
  }

  std::string bytes_;
  Counts next_{};  // where in bytes_ each section goes on
  std::size_t names_ = 0;
  std::uint64_t files_ = 0;
};

template <class Seen>
void count(std::span<const Seen> seen, std::size_t& elements, std::size_t& name_bytes) {
  elements += seen.size();
  for (const Seen& each : seen) name_bytes += each.path.size() + 1;
}

}  // namespace

std::string listing_bytes(std::span<const std::string> names, std::span<const ClassFiles> files,
                          std::span<const SeenFolder> root, std::span<const SeenLink> root_links) {
  Counts counts{names.size()};
  for (const std::string& name : names) counts[kNames] += name.size() + 1;
  count(root, counts[kFolders], counts[kNames]);
  count(root_links, counts[kLinks], counts[kNames]);
  for (const ClassFiles& of : files) {
    counts[kFiles] += of.names.size();
    counts[kNames] += of.pool.size();
    count(std::span(of.folders), counts[kFolders], counts[kNames]);
    count(std::span(of.links), counts[kLinks], counts[kNames]);
  }
  Writer writer(counts);
  for (std::size_t i = 0; i < names.size(); ++i) writer.add_class(names[i], files[i]);
  writer.add(root);
  writer.add(root_links);
  for (const ClassFiles& of : files) {
    writer.add(of.folders);
    writer.add(of.links);
  }
  return std::move(writer).finish();
}

ListingView::ListingView(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) damaged("it ends within its header");
  if (checksum(bytes) != load_little<std::uint32_t>(bytes.data() + kCrcAt)) damaged("checksum");
  const std::uint32_t version = load_little<std::uint32_t>(bytes.data() + kCrcAt + 4);
  if (version != kListingVersion) damaged("version " + std::to_string(version));
  std::size_t at = kHeaderBytes;
  const auto section = [&](std::size_t number, std::size_t each) {
    const std::uint64_t count = load_little<std::uint64_t>(bytes.data() + number * 8);
    if (count > (bytes.size() - at) / each) damaged("a section lies outside of it");
    const auto found = bytes.subspan(at, static_cast<std::size_t>(count) * each);
    at += found.size();
    return found;
  };
  classes_ = section(0, kClassBytes);
  files_ = section(1, kNumberBytes);
  folders_ = section(2, kFolderBytes);
  links_ = section(3, kLinkBytes);
  names_ = section(4, 1);
  if (at != bytes.size()) damaged("bytes behind its end");
  check_numbers();
  check_names();
}

void ListingView::check_numbers() const {
  std::uint64_t begin = 0, most = 0;
  const auto number = [](std::span<const std::uint8_t> section, std::size_t offset) {
    return load_little<std::uint64_t>(section.data() + offset);
  };
  for (std::uint64_t i = 0; i < classes(); ++i) {
    if (first_file(i) < begin || first_file(i) > files() || (i == 0 && first_file(0) != 0)) damaged("order of classes");
    begin = first_file(i);
    most = std::max(most, number(classes_, i * kClassBytes + kNumberBytes));
  }
  if (classes() == 0 && files() > 0) damaged("files of no class");
  for (std::uint64_t id = 0; id < files(); ++id) most = std::max(most, number(files_, id * kNumberBytes));
  for (std::size_t i = 0; i < folders_.size(); i += kFolderBytes) most = std::max(most, number(folders_, i + 40));
  for (std::size_t i = 0; i < links_.size(); i += kLinkBytes) {
    if (number(links_, i) > static_cast<std::uint64_t>(EntryKind::kOther)) damaged("kind of a link");
    most = std::max(most, number(links_, i + 8));
  }
  if (names_.empty() || names_.back() != 0 || most >= names_.size()) damaged("a name lies outside of it");
}

void ListingView::check_names() const {
  const std::uint8_t* const p = names_.data();
  // In numbers of a byte and without a branch, which compilers make vectors of.
  const auto is = [](std::uint8_t byte, char c) { return static_cast<std::uint8_t>(byte == c ? 1 : 0); };
  std::uint8_t bad = is(p[0], '.') | is(p[0], '/');
  for (std::size_t i = 1; i < names_.size(); ++i) {
    const std::uint8_t begins = is(p[i - 1], 0) | is(p[i - 1], '/');
    bad = static_cast<std::uint8_t>(bad | (begins & (is(p[i], '.') | is(p[i], '/'))));
  }
  if (bad != 0) damaged("a name that leads out of its folder");
}

std::vector<SeenFolder> ListingView::folders() const {
  std::vector<SeenFolder> seen;
  seen.reserve(folders_.size() / kFolderBytes);
  for (std::size_t i = 0; i < folders_.size(); i += kFolderBytes) {
    const std::uint8_t* const p = folders_.data() + i;
    const FolderStamp stamp{load_little<std::uint64_t>(p + 32), load_little<std::uint64_t>(p),
                            load_little<std::int64_t>(p + 8), load_little<std::int64_t>(p + 16),
                            load_little<std::uint64_t>(p + 24)};
    seen.push_back({name_at(p + 40), stamp});
  }
  return seen;
}

std::vector<SeenLink> ListingView::links() const {
  std::vector<SeenLink> seen;
  seen.reserve(links_.size() / kLinkBytes);
  for (std::size_t i = 0; i < links_.size(); i += kLinkBytes) {
    const std::uint8_t* const p = links_.data() + i;
    seen.push_back({name_at(p + 8), static_cast<EntryKind>(load_little<std::uint64_t>(p))});
  }
  return seen;
}

}  // namespace unstarve
