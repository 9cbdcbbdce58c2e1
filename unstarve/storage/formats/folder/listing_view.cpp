#include "unstarve/storage/formats/folder/listing_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kCrcAt = 40;
constexpr std::size_t kFolderBytes = 48;
constexpr std::size_t kLinkBytes = 16;

[[noreturn]] void damaged(const std::string& what) { throw input_error("read folder listing: damaged: {}", what); }

std::uint32_t checksum(std::span<const std::uint8_t> bytes) {
  return crc32c(bytes.subspan(kCrcAt + 4), crc32c(bytes.first(kCrcAt)));
}

class Writer {
 public:
  void add_class(const std::string& name, const ClassFiles& listed) {
    append_little(classes_, static_cast<std::uint64_t>(files_.size() / ListingView::kNumberBytes));
    add_name(classes_, name);
    const std::uint64_t begin = names_.size();
    for (const std::uint64_t offset : listed.names) append_little(files_, begin + offset);
    names_.append(listed.pool.data(), listed.pool.size());
  }
  void add(std::span<const SeenFolder> seen) {
    for (const SeenFolder& folder : seen) {
      append_little(folders_, folder.stamp.inode);
      append_little(folders_, folder.stamp.modified_ns);
      append_little(folders_, folder.stamp.changed_ns);
      append_little(folders_, folder.stamp.bytes);
      append_little(folders_, folder.stamp.device);
      add_name(folders_, folder.path);
    }
  }
  void add(std::span<const SeenLink> seen) {
    for (const SeenLink& link : seen) {
      append_little(links_, static_cast<std::uint64_t>(link.kind));
      add_name(links_, link.path);
    }
  }

  [[nodiscard]] std::string finish() const {
    std::string listing;
    listing.reserve(kHeaderBytes + classes_.size() + files_.size() + folders_.size() + links_.size() + names_.size());
    append_little(listing, static_cast<std::uint64_t>(classes_.size() / ListingView::kClassBytes));
    append_little(listing, static_cast<std::uint64_t>(files_.size() / ListingView::kNumberBytes));
    append_little(listing, static_cast<std::uint64_t>(folders_.size() / kFolderBytes));
    append_little(listing, static_cast<std::uint64_t>(links_.size() / kLinkBytes));
    append_little(listing, static_cast<std::uint64_t>(names_.size()));
    append_little(listing, std::uint32_t{0});
    append_little(listing, kListingVersion);
    for (const std::string* section : {&classes_, &files_, &folders_, &links_, &names_}) listing += *section;
    std::string crc;
    append_little(crc, checksum(as_bytes(listing)));
    return listing.replace(kCrcAt, crc.size(), crc);
  }

 private:
  void add_name(std::string& section, std::string_view name) {
    append_little(section, static_cast<std::uint64_t>(names_.size()));
    names_.append(name).push_back('\0');
  }

  std::string classes_, files_, folders_, links_, names_;
};

}  // namespace

std::string listing_bytes(std::span<const std::string> names, std::span<const ClassFiles> files,
                          std::span<const SeenFolder> root, std::span<const SeenLink> root_links) {
  Writer writer;
  for (std::size_t i = 0; i < names.size(); ++i) writer.add_class(names[i], files[i]);
  writer.add(root);
  writer.add(root_links);
  for (const ClassFiles& of : files) {
    writer.add(of.folders);
    writer.add(of.links);
  }
  return writer.finish();
}

ListingView::ListingView(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) damaged("truncated inside the header");
  if (checksum(bytes) != load_little<std::uint32_t>(bytes.data() + kCrcAt)) damaged("checksum");
  const std::uint32_t version = load_little<std::uint32_t>(bytes.data() + kCrcAt + 4);
  if (version != kListingVersion) damaged(fmt::format("version {}", version));
  std::size_t offset = kHeaderBytes;
  const auto section = [&](std::size_t number, std::size_t each) {
    const std::uint64_t count = load_little<std::uint64_t>(bytes.data() + number * 8);
    if (count > (bytes.size() - offset) / each) damaged("a section exceeds the listing");
    const auto found = bytes.subspan(offset, static_cast<std::size_t>(count) * each);
    offset += found.size();
    return found;
  };
  classes_ = section(0, kClassBytes);
  files_ = section(1, kNumberBytes);
  folders_ = section(2, kFolderBytes);
  links_ = section(3, kLinkBytes);
  names_ = section(4, 1);
  if (offset != bytes.size()) damaged("trailing bytes");
  check_numbers();
  check_names();
}

void ListingView::check_numbers() const {
  std::uint64_t begin = 0, largest = 0;
  const auto number = [](std::span<const std::uint8_t> section, std::size_t offset) {
    return load_little<std::uint64_t>(section.data() + offset);
  };
  for (std::uint64_t i = 0; i < classes(); ++i) {
    if (first_file(i) < begin || first_file(i) > files() || (i == 0 && first_file(0) != 0)) damaged("order of classes");
    begin = first_file(i);
    largest = std::max(largest, number(classes_, i * kClassBytes + kNumberBytes));
  }
  if (classes() == 0 && files() > 0) damaged("files without a class");
  for (std::uint64_t id = 0; id < files(); ++id) largest = std::max(largest, number(files_, id * kNumberBytes));
  for (std::size_t i = 0; i < folders_.size(); i += kFolderBytes) largest = std::max(largest, number(folders_, i + 40));
  for (std::size_t i = 0; i < links_.size(); i += kLinkBytes) {
    if (number(links_, i) > static_cast<std::uint64_t>(EntryKind::kOther)) damaged("kind of a link");
    largest = std::max(largest, number(links_, i + 8));
  }
  if (names_.empty() || names_.back() != 0 || largest >= names_.size()) damaged("a name exceeds the listing");
}

void ListingView::check_names() const {
  const std::uint8_t* const p = names_.data();
  // One-byte arithmetic without branches, so that compilers vectorise the loop.
  const auto is = [](std::uint8_t byte, char c) { return static_cast<std::uint8_t>(byte == c ? 1 : 0); };
  std::uint8_t bad = is(p[0], '.') | is(p[0], '/');
  for (std::size_t i = 1; i < names_.size(); ++i) {
    const std::uint8_t begins = is(p[i - 1], 0) | is(p[i - 1], '/');
    bad = static_cast<std::uint8_t>(bad | (begins & (is(p[i], '.') | is(p[i], '/'))));
  }
  if (bad != 0) damaged("a name outside of its folder");
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
