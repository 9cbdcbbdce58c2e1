#include "unstarve/storage/formats/tfrecord/tfrecord.h"

#include <algorithm>
#include <array>
#include <optional>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/tfrecord/tf_example.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/class_text.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;

// Default feature names, in order of preference.
constexpr std::array<std::string_view, 3> kImageFeatures = {"image/encoded", "image", "image_raw"};
constexpr std::array<std::string_view, 2> kLabelFeatures = {"image/class/label", "label"};
constexpr std::string_view kClassName = "image/class/text";

bool data_matches(std::span<const std::uint8_t> record) noexcept {
  const auto data = record.subspan(kTfrecordHeaderBytes, record.size() - kTfrecordFrameBytes);
  return mask_crc32c(crc32c(data)) == load_little<std::uint32_t>(record.data() + record.size() - kCrcBytes);
}

constexpr const char* kDataDamaged = "the checksum of the data is wrong";

// The offset of the next record at or after `offset`; the end of the shard if there is none.
std::uint64_t next_record_offset(ForwardBytes& bytes, std::uint64_t offset) {
  while (true) {
    const auto piece = bytes.at(offset, kSearchBytes);
    if (piece.size() < kTfrecordHeaderBytes) return offset + piece.size();
    const std::size_t candidates = piece.size() - kTfrecordHeaderBytes + 1;
    for (std::size_t i = 0; i < candidates; ++i) {
      if (tfrecord_length(piece.data() + i)) return offset + i;
    }
    offset += candidates;
  }
}

class TfRecordFormat final : public RecordFormat {
 public:
  explicit TfRecordFormat(TfRecordFields fields) : fields_(std::move(fields)) {
    image_names_.assign(kImageFeatures.begin(), kImageFeatures.end());
    if (!fields_.image.empty()) image_names_ = {fields_.image};
    names_ = image_names_;
    if (fields_.label.empty()) {
      names_.insert(names_.end(), kLabelFeatures.begin(), kLabelFeatures.end());
    } else {
      names_.push_back(fields_.label);
    }
    names_.push_back(fields_.name.empty() ? kClassName : std::string_view(fields_.name));
  }

  std::string name() const override { return "tfrecord"; }
  std::string label_choice() const override { return "feature"; }
  int scan_version() const override { return 3; }
  std::string variant() const override {
    if (fields_.image.empty() && fields_.label.empty() && fields_.name.empty()) return "";
    return "image=" + fields_.image + ",label=" + fields_.label + ",name=" + fields_.name;
  }
  bool begins_plain(std::span<const std::uint8_t> front) const override { return begins_as_tfrecord(front); }

  void scan(ForwardBytes& bytes, RecordSink& sink) const override {
    for (std::uint64_t offset = 0;;) {
      const auto header = bytes.at(offset, kTfrecordHeaderBytes);
      if (header.empty()) return;
      const std::optional<std::uint64_t> length =
          header.size() < kTfrecordHeaderBytes ? std::nullopt : tfrecord_length(header.data());
      if (!length) {
        const bool truncated = header.size() < kTfrecordHeaderBytes;
        const std::uint64_t next = truncated ? offset + header.size() : next_record_offset(bytes, offset + 1);
        sink.add_damaged(
            offset, next - offset,
            truncated ? "truncated: the file ends inside a record header" : "the checksum of the length is wrong");
        offset = next;
        continue;
      }
      const auto whole = static_cast<std::size_t>(*length + kTfrecordFrameBytes);
      const auto record = bytes.at(offset, whole);
      if (record.size() < whole) {
        sink.add_damaged(offset, record.size(),
                         fmt::format("truncated: the header declares a record of {} bytes, the file contains {}", whole,
                                     record.size()));
        return;
      }
      scan_record(offset, record, sink);
      offset += whole;
    }
  }

  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes&, Value& image) const override {
    if (stored.size() < kTfrecordFrameBytes || tfrecord_length(stored.data()) != stored.size() - kTfrecordFrameBytes) {
      throw input_error("the checksum of the length is wrong");
    }
    if (!data_matches(stored)) throw Error(ErrorKind::kInput, kDataDamaged);
    const auto example = stored.subspan(kTfrecordHeaderBytes, stored.size() - kTfrecordFrameBytes);
    std::array<Feature, kImageFeatures.size()> features;
    const auto found = std::span(features).first(image_names_.size());
    find_features(example, image_names_, found);
    image.bytes = image_in(found, example);
  }

 private:
  void scan_record(std::uint64_t offset, std::span<const std::uint8_t> record, RecordSink& sink) const {
    if (!data_matches(record)) return sink.add_damaged(offset, record.size(), kDataDamaged);
    try {
      const auto example = record.subspan(kTfrecordHeaderBytes, record.size() - kTfrecordFrameBytes);
      std::array<Feature, kImageFeatures.size() + kLabelFeatures.size() + 1> features;
      const auto found = std::span(features).first(names_.size());
      find_features(example, names_, found);
      ScannedRecord scanned{
          .offset = offset, .length = record.size(), .encoded = image_in(found.first(image_names_.size()), example)};
      const std::string none = take_label(found.subspan(image_names_.size()), example, scanned);
      scanned.no_label = none;
      sink.add(scanned);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      sink.add_damaged(offset, record.size(), error.what());
    }
  }

  // The first feature that is present. `features` correspond to image_names_.
  std::span<const std::uint8_t> image_in(std::span<const Feature> features,
                                         std::span<const std::uint8_t> example) const {
    for (std::size_t i = 0; i < features.size(); ++i) {
      if (!features[i].present()) continue;
      const auto bytes = features[i].bytes();
      if (bytes && !bytes->empty()) return *bytes;
      throw input_error("feature {} has no bytes; expected an encoded image", image_names_[i]);
    }
    throw input_error("no feature {} for the image; available: {}. Choose one with #image=NAME.", join(image_names_),
                      feature_names(example));
  }

  // `features`: the candidates for the label, then the class name. Returns why there is no label; empty if there is
  // one or none was requested.
  std::string take_label(std::span<const Feature> features, std::span<const std::uint8_t> example,
                         ScannedRecord& scanned) const {
    if (fields_.label == "none") return "";
    const auto present = [](const Feature& feature) { return feature.present(); };
    const auto labels = features.first(features.size() - 1);
    const auto class_name = features.back().bytes();
    if (class_name) scanned.label_name = as_text(*class_name);
    const auto found = std::find_if(labels.begin(), labels.end(), present);
    if (found == labels.end()) {
      if (fields_.label.empty()) return class_name ? "" : "the features " + feature_names(example);
      throw input_error("no feature {} for the label; available: {}. Choose one with #label=NAME.", fields_.label,
                        feature_names(example));
    }
    const std::string name =
        "the feature " + std::string(names_[image_names_.size() + static_cast<std::size_t>(found - labels.begin())]);
    if (const auto number = found->integer(); number && !found->several()) {
      scanned.label = *number;
      return "";
    }
    scanned.label_name = {};
    if (found->kind == Feature::Kind::kFloats) return name + ": floats";
    if (found->several()) return name + ": several values";
    const auto text = found->bytes();
    if (!text) return name + ": no value";
    if (const std::string other = not_a_class(as_text(*text)); !other.empty()) return name + ": " + other;
    scanned.label_name = as_text(*text);
    return "";
  }

  TfRecordFields fields_;
  std::vector<std::string_view> image_names_;
  std::vector<std::string_view> names_;  // candidates for image, label and class name
};

bool ends_with_count(std::string_view name) noexcept {
  // -00000-of-00010
  const std::size_t of = name.rfind("-of-");
  if (of == std::string_view::npos || of == 0) return false;
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dash = name.rfind('-', of - 1);
  return dash != std::string_view::npos && digits(name.substr(dash + 1, of - dash - 1)) && digits(name.substr(of + 4));
}

}  // namespace

std::shared_ptr<const RecordFormat> make_tfrecord_format(const TfRecordFields& fields) {
  return std::make_shared<TfRecordFormat>(fields);
}

bool is_tfrecord_name(std::string_view name) noexcept {
  for (const std::string_view suffix : {".gz", ".zlib", ".z", ".zst"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  return name.ends_with(".tfrecord") || name.ends_with(".tfrecords") || name.ends_with(".tfrec") ||
         ends_with_count(name);
}

bool recognises_tfrecord(const Source& source) {
  const std::vector<std::string>& names = source.folder ? source.listing.files : source.files;
  if (source.folder) return std::any_of(names.begin(), names.end(), is_tfrecord_name);
  if (names.empty()) return false;
  return begins_as_tfrecord(source.head) || begins_as_tfrecord(source.content) || is_tfrecord_name(names.front());
}

std::shared_ptr<const Dataset> open_tfrecord(const Source& source, const std::string& split) {
  SourceOptions options = source.options;
  TfRecordFields fields;
  fields.image = options.take_text("image", "");
  fields.label = options.take_text("label", "");
  fields.name = options.take_text("name", "");
  options.reject_unknown();
  return std::make_shared<RecordFiles>(choose_shards(source, split, is_tfrecord_name), make_tfrecord_format(fields));
}

}  // namespace unstarve
