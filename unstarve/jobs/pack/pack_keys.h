#pragma once
// What tells one sample of a source from the others, made from its place (record_location.h).
//
//   place                                              key                            name
//   photos/cat/1.jpg                     of photos     cat/1.jpg                      cat/1.jpg
//   d/x.tar cat/1 record 5 at offset 9   of d/*.tar    x.tar cat/1 record 5           cat/1
//   d/x.tfrecord record 5 at offset 9    of d          x.tfrecord record 5            x.tfrecord-00000005
//   photos/cat/1.jpg (a.csv row 3)       of photos     cat/1.jpg                      cat/1.jpg
//
// Key:   relative to the source, so that it stays when the data moves, and without the offset, so that it stays when
//        the records before it are written anew. What decides the split: an image that a manifest names twice has one.
// Name:  what the packed record is called; need not be its alone.
//
// Threads: pure after construction. Failure: none.

#include <cstdint>
#include <string>
#include <string_view>

#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

class PackKeys {
 public:
  // `source` as open_dataset() takes it.
  explicit PackKeys(const std::string& source);

  [[nodiscard]] std::string key(const RecordLocation& place) const;
  [[nodiscard]] std::string name(const RecordLocation& place) const;

  // A path relative to the source, where it lies there in any way it may be written; else as it is.
  [[nodiscard]] std::string relative(std::string_view path) const;

 private:
  std::string base_;      // as given, with a slash at the end; "" for none
  std::string absolute_;  // the same, absolute and without "." and ".."; "" for URLs
};

// The same for equal text everywhere and for ever: FNV-1a of 64 bits, finished by splitmix64's mixing.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text, std::uint64_t before = 0xcbf29ce484222325ULL) noexcept;

}  // namespace unstarve
