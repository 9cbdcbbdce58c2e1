#include "unstarve/storage/folder/listing_view.h"

#include <algorithm>
#include <array>

#include "unstarve/core/error.h"
#include "unstarve/storage/crc32c.h"

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

class Writer {
 public:
  void add_name(std::string& section, std::string_view name) {
    append_little(section, static_cast<std::uint64_t>(names.size()));
    names.append(name);
    names.push_back('\0');
  }
  void add_class(const std::string& name, const ClassFiles& of) {
    append_little(classes, static_cast<std::uint64_t>(files.size() / 8));
    add_name(classes, name);
    const std::uint64_t behind = names.size();
    for (const std::uint64_t at : of.names) append_little(files, behind + at);
    names.append(of.pool.data(), of.pool.size());
  }
  void add(std::span<const SeenFolder> seen) {
    for (const SeenFolder& folder : seen) {
      append_little(folders, folder.stamp.inode);
      append_little(folders, folder.stamp.modified_ns);
      append_little(folders, folder.stamp.changed_ns);
      append_little(folders, folder.stamp.bytes);
      append_little(folders, folder.stamp.device);
      add_name(folders, folder.path);
    }
  }
  void add(std::span<const SeenLink> seen) {
    for (const SeenLink& link : seen) {
      append_little(links, static_cast<std::uint64_t>(link.kind));
      add_name(links, link.path);
    }
  }

  std::string classes, files, folders, links, names;
};

}  // namespace

std::string listing_bytes(std::span<const std::string> names, std::span<const ClassFiles> files,
                          std::span<const SeenFolder> root, std::span<const SeenLink> root_links) {
  Writer writer;
  std::size_t name_bytes = 0, count = 0;
  for (const ClassFiles& of : files) {
    name_bytes += of.pool.size();
    count += of.names.size();
  }
  writer.names.reserve(name_bytes + (names.size() + root_links.size()) * 64);
  writer.files.reserve(count * 8);
  for (std::size_t i = 0; i < names.size(); ++i) writer.add_class(names[i], files[i]);
  writer.add(root);
  writer.add(root_links);
  for (const ClassFiles& of : files) {
    writer.add(of.folders);
    writer.add(of.links);
  }
  const std::array<const std::string*, 5> sections = {&writer.classes, &writer.files, &writer.folders, &writer.links,
                                                      &writer.names};
  constexpr std::array<std::size_t, 5> kEach = {16, 8, kFolderBytes, kLinkBytes, 1};
  std::string bytes;
  std::size_t total = kHeaderBytes;
  for (const std::string* const section : sections) total += section->size();
  bytes.reserve(total);
  for (std::size_t i = 0; i < sections.size(); ++i)
    append_little(bytes, static_cast<std::uint64_t>(sections[i]->size() / kEach[i]));
  append_little(bytes, std::uint32_t{0});
  append_little(bytes, kListingVersion);
  for (const std::string* const section : sections) bytes += *section;
  std::string crc;
  append_little(crc, checksum(as_bytes(bytes)));
  bytes.replace(kCrcAt, crc.size(), crc);
  return bytes;
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
