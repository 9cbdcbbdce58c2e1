#pragma once
// The serialised listing of an image folder, in memory or mapped. It is read in place: loading a cached listing
// (image_listing.h) costs one checksum and no work per name.
//
// Layout, version 2 (version 1 lacked .webp), little-endian; a name is stored as its offset in the names section:
//
//   0   classes, files, folders, links, bytes of names     u64 each
//   40  CRC-32C of all other bytes                         u32
//   44  version                                            u32
//   48  classes, in order:  first file u64 | name u64
//   ..  files, in order:    name u64                       the path below the class folder
//   ..  folders found:      inode u64 | modified ns i64 | changed ns i64 | bytes u64 | device u64 | path as name u64
//   ..  links found:        kind of the target u64 | path as name u64
//   ..  names, each NUL-terminated
//
// Ownership: the view borrows the bytes. Threads: any number.
// Failure:   the constructor throws Error(kInput) for any damage; nothing throws later. No component of a name begins
//            with '.' or '/', so no name refers to a file outside of its folder.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/formats/folder/class_files.h"
#include "unstarve/storage/formats/folder/folder_stamp.h"

namespace unstarve {

inline constexpr std::uint32_t kListingVersion = 2;

// Serialises the class names, the files, folders and links of each class, and those of the root. Precondition: `names`
// and `files` have equal sizes.
[[nodiscard]] std::string listing_bytes(std::span<const std::string> names, std::span<const ClassFiles> files,
                                        std::span<const SeenFolder> root, std::span<const SeenLink> root_links);

class ListingView {
 public:
  static constexpr std::size_t kNumberBytes = 8;
  static constexpr std::size_t kClassBytes = 16;

  explicit ListingView(std::span<const std::uint8_t> bytes);

  [[nodiscard]] std::uint64_t classes() const noexcept { return classes_.size() / kClassBytes; }
  [[nodiscard]] std::uint64_t files() const noexcept { return files_.size() / kNumberBytes; }
  // Precondition: number < classes().
  [[nodiscard]] std::string_view class_name(std::uint64_t number) const noexcept {
    return name_at(classes_.data() + number * kClassBytes + kNumberBytes);
  }
  [[nodiscard]] std::uint64_t first_file(std::uint64_t number) const noexcept {
    return load_little<std::uint64_t>(classes_.data() + number * kClassBytes);
  }
  // Path below the class folder, NUL-terminated. Precondition: id < files().
  [[nodiscard]] const char* file(std::uint64_t id) const noexcept { return name_at(files_.data() + id * kNumberBytes); }
  [[nodiscard]] std::vector<SeenFolder> folders() const;
  [[nodiscard]] std::vector<SeenLink> links() const;

 private:
  [[nodiscard]] const char* name_at(const std::uint8_t* number) const noexcept {
    return reinterpret_cast<const char*>(names_.data() + load_little<std::uint64_t>(number));
  }
  void check_numbers() const;
  void check_names() const;

  std::span<const std::uint8_t> classes_, files_, folders_, links_, names_;
};

}  // namespace unstarve
