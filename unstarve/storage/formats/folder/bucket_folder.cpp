#include "unstarve/storage/formats/folder/bucket_folder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/formats/folder/class_files.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/formats/folder/image_listing.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

constexpr int kListers = 16;                                                    // classes listed concurrently
constexpr std::uint32_t kTooLarge = std::numeric_limits<std::uint32_t>::max();  // above kMaxImageBytes: rejected
static_assert(kMaxImageBytes < kTooLarge);

// `key`: the part of the object key below the class folder.
bool is_sample(std::string_view key) {
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    if (end == begin || is_left_out(key.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return has_image_extension(key);
}

class BucketFolder final : public Dataset {
 public:
  BucketFolder(std::string root, std::vector<std::string> classes)
      : root_(std::move(root)), classes_(std::move(classes)) {
    std::vector<std::vector<RemoteObject>> found(classes_.size());
    {
      ThreadPool pool(std::min<int>(kListers, static_cast<int>(std::max<std::size_t>(1, classes_.size()))));
      for (std::size_t i = 0; i < classes_.size(); ++i)
        pool.submit([&, i] { found[i] = RemoteStore::of_process().list(root_ + "/" + classes_[i] + "/"); });
      pool.wait();
    }
    std::vector<std::string> no_images;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      class_begin_.push_back(begins_.size());
      const bool unread = take(classes_[i], std::exchange(found[i], {}));
      if (!unread && begins_.size() == class_begin_.back()) no_images.push_back(classes_[i]);
    }
    class_begin_.push_back(begins_.size());
    if (size() == 0)
      throw input_error(
          "open image folder {}: no image in {} folders; expected objects *.jpg, *.jpeg, *.png or *.webp in one folder "
          "per class",
          root_, classes_.size());
    if (!no_images.empty()) report_no_images(root_, no_images);
  }

  [[nodiscard]] std::string format() const override { return "image folder"; }
  [[nodiscard]] std::uint64_t size() const override { return begins_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return stored_bytes_; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override { return {.file = url_of(id)}; }
  [[nodiscard]] int reads_in_flight() const override { return kServerReads; }
  [[nodiscard]] int most_reads_in_flight() const override { return kServerReads; }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return static_cast<std::int64_t>(class_of(id));
  }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    const std::uint64_t bytes = bytes_[id];
    const char* const etag = pool_.data() + begins_[id] + std::strlen(pool_.data() + begins_[id]) + 1;
    if (bytes == 0 || bytes > kMaxImageBytes)
      throw input_error("read {}: {}; expected an image of 1 to {} bytes", location(id),
                        bytes == kTooLarge ? "at least 4 GiB" : fmt::format("{} bytes", bytes), kMaxImageBytes);
    record.storage.reserve_discard(bytes + kReadableAfter);
    const std::span<std::uint8_t> out(record.storage.data(), bytes);
    RemoteStore::of_process().open(RemoteObject{url_of(id), bytes, etag})->read(0, out);
    record.values.resize(2);
    record.values[0] = {out, {}, 0};
    record.values[1] = {{}, {}, static_cast<std::int64_t>(class_of(id))};
  }

 private:
  [[nodiscard]] std::size_t class_of(std::uint64_t id) const noexcept { return part_of(class_begin_, id); }
  [[nodiscard]] std::string url_of(std::uint64_t id) const {
    return root_ + "/" + classes_[class_of(id)] + "/" + (pool_.data() + begins_[id]);
  }

  // Returns whether there are images of formats that are not read.
  bool take(const std::string& name, std::vector<RemoteObject> objects) {
    const std::size_t prefix = root_.size() + name.size() + 2;
    const auto key_of = [&](const RemoteObject& object) { return std::string_view(object.url).substr(prefix); };
    const bool unread = std::ranges::any_of(
        objects, [&](const RemoteObject& object) { return has_unread_image_extension(key_of(object)); });
    std::erase_if(objects, [&](const RemoteObject& object) { return !is_sample(key_of(object)); });
    std::sort(objects.begin(), objects.end(),
              [&](const RemoteObject& a, const RemoteObject& b) { return path_comes_before(key_of(a), key_of(b)); });
    for (const RemoteObject& object : objects) {
      begins_.push_back(pool_.size());
      for (const std::string_view text : {key_of(object), std::string_view(object.etag)}) {
        pool_.insert(pool_.end(), text.begin(), text.end());
        pool_.push_back('\0');
      }
      bytes_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(object.bytes, kTooLarge)));
      stored_bytes_ += object.bytes;
    }
    return unread;
  }

  std::string root_;
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}};
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> class_begin_;  // first id of each class, then size()
  std::vector<char> pool_;                  // per object: key below the class and ETag, each NUL-terminated
  std::vector<std::uint64_t> begins_;       // offset of each object in the pool
  std::vector<std::uint32_t> bytes_;        // size of each object, at most kTooLarge
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace

std::shared_ptr<const Dataset> open_bucket_folder(std::string root, std::vector<std::string> classes) {
  return std::make_shared<BucketFolder>(std::move(root), std::move(classes));
}

}  // namespace unstarve
