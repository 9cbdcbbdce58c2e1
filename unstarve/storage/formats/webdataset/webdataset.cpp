#include "unstarve/storage/formats/webdataset/webdataset.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/formats/webdataset/tar_scanner.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/class_text.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/python_json.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

// Enough to parse the size of an image; the rest of an image is not stored while the other members are read.
constexpr std::size_t kFrontBytes = std::size_t{64} << 10;
constexpr std::size_t kShownBytes = 40;  // of a value in a message
constexpr int kUnranked = std::numeric_limits<int>::max();

constexpr std::array<std::string_view, 4> kImageExtensions = {"jpg", "jpeg", "png", "webp"};
constexpr std::array<std::string_view, 4> kLabelExtensions = {"cls", "class", "json", "txt"};
constexpr std::array<const char*, 3> kLabelKeys = {"label", "cls", "class"};

constexpr int kInnerImage = static_cast<int>(kImageExtensions.size());  // rank of left.jpg

template <std::size_t n>
int rank_in(const std::array<std::string_view, n>& extensions, std::string_view extension) noexcept {
  const auto found = std::find(extensions.begin(), extensions.end(), extension);
  return found == extensions.end() ? kUnranked : static_cast<int>(found - extensions.begin());
}

std::string_view last_part(std::string_view extension) noexcept { return extension.substr(extension.rfind('.') + 1); }

// The member with the lowest rank is used; kUnranked members are not candidates.
int image_rank(const WebdatasetOptions& options, std::string_view extension) noexcept {
  if (!options.image.empty()) return extension == options.image ? 0 : kUnranked;
  const int whole = rank_in(kImageExtensions, extension);
  if (whole != kUnranked) return whole;
  return rank_in(kImageExtensions, last_part(extension)) == kUnranked ? kUnranked : kInnerImage;
}

int label_rank(const WebdatasetOptions& options, std::string_view extension) noexcept {
  if (options.label.empty()) return rank_in(kLabelExtensions, extension);
  return extension == options.label ? 0 : kUnranked;
}

// Whether an extension is the end of a name with a number, as 5_1.jpg of img_0.5_1.jpg is. 1.jpg may be a frame.
bool ends_a_name(std::string_view extension) noexcept {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t digits = std::min(extension.find_first_not_of(kDigits), extension.size());
  return digits > 0 && digits != extension.rfind('.');
}

struct Label {
  std::optional<std::int64_t> number{};
  std::string name;
  std::string text;     // a name, unless the texts of all samples are numbers
  std::string problem;  // why the label is invalid
  std::string none;     // why there is no label
};

void take_number(std::int64_t number, Label& label) {
  label.number = number;
  if (number < 0)
    label.problem = fmt::format("label {} is not a class number; expected 0 to {}. Use #label=none to read no labels.",
                                number, kMaxClasses - 1);
}

// #classes=names: whatever fits in a name.
void take_any_name(std::string_view text, Label& label) {
  const std::optional<ClassText> parsed = parse_class(text, kMaxClassNameBytes);
  if (!parsed) label.problem = "no class name";
  if (parsed) label.name = trim(text);
}

void take_class(std::string_view text, bool may_be_none, Label& label) {
  label.none = not_a_class(text);
  if (!label.none.empty()) return;
  const std::optional<ClassText> parsed = parse_class(text, kMaxClassNameBytes);
  if (!parsed && !may_be_none) label.problem = "neither a class number nor a class name";
  if (!parsed) label.none = fmt::format("a text of {} bytes", text.size());
  if (!parsed) return;
  if (parsed->name.empty()) return take_number(parsed->number, label);
  label.name = parsed->name;
}

void take_json_text(const std::string& text, Label& label) {
  take_class(text, false, label);
  if (!label.problem.empty() || !label.none.empty()) return;
  if (label.number && *label.number >= kMaxClasses) return;  // damage, so that other numbers do not become names
  label = Label{.text = std::string(trim(text))};
}

void take_json(std::string_view text, const WebdatasetOptions& options, Label& label) {
  const std::string& key = options.label_key;
  const nlohmann::json root = try_parse_python_json(text);
  if (root.is_discarded()) {
    label.problem = "not JSON";
    return;
  }
  const nlohmann::json* value = root.is_object() ? nullptr : &root;
  if (root.is_object()) {
    for (const char* const known : kLabelKeys) {
      const auto found = root.find(key.empty() ? known : key.c_str());
      if (value == nullptr && found != root.end()) value = &*found;
    }
  }
  if (options.names && value != nullptr && (value->is_string() || value->is_number() || value->is_boolean())) {
    take_any_name(value->is_string()    ? value->get<std::string>()
                  : value->is_boolean() ? std::string(value->get<bool>() ? "1" : "0")
                                        : json_text(*value),
                  label);
  } else if (value != nullptr && value->is_number_integer()) {
    take_number(value->is_number_unsigned() && value->get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxClasses)
                    ? kMaxClasses  // not a class number, and not wrapped into one
                    : value->get<std::int64_t>(),
                label);
  } else if (value != nullptr && value->is_boolean()) {
    label.number = value->get<bool>() ? 1 : 0;
  } else if (value != nullptr && value->is_string()) {
    take_json_text(value->get_ref<const std::string&>(), label);
  } else if (value != nullptr && key.empty()) {
    label.none = value->is_number_float() ? "the float " + json_text(*value)
                 : value->is_array()      ? "several values: " + json_text(*value).substr(0, kShownBytes)
                                          : std::string(value->type_name());
  } else {
    std::string keys;
    for (auto item = root.begin(); root.is_object() && item != root.end(); ++item)
      keys += (keys.empty() ? "" : ", ") + item.key();
    label.none = "the keys " + keys + " (json/NAME chooses one)";
    if (key.empty()) return;
    label.problem =
        "key '" + key + "' is missing, or no integer, Boolean or string; available: " + (keys.empty() ? "none" : keys);
  }
}

Label parse_label(const WebdatasetOptions& options, std::string_view extension, std::span<const std::uint8_t> body) {
  const std::string_view text = as_text(body);
  Label label;
  const std::string_view kind = last_part(extension);
  if (kind == "json")
    take_json(text, options, label);
  else if (options.names)
    take_any_name(text, label);
  else
    take_class(text, kind == "txt" && options.label.empty(), label);
  return label;
}

// The members of one key, collected until the next key.
struct Sample {
  std::string key;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::string> extensions;
  int image_rank = kUnranked;
  int label_rank = kUnranked;
  std::uint64_t image_header = 0;
  std::uint64_t image_bytes = 0;
  std::vector<std::uint8_t> image_front;
  Label label;
  std::string problem;
  std::string link;                 // a member that is a link
  std::vector<std::string> images;  // extensions of images that are not kImageExtensions themselves
  bool near_damage = false;

  [[nodiscard]] bool open() const noexcept { return !extensions.empty(); }
  [[nodiscard]] bool labelled() const noexcept { return label.number || !label.name.empty() || !label.text.empty(); }
};

class SampleScan {
 public:
  // `reported`: whether several images per sample were reported; shared by the shards of a dataset.
  SampleScan(const WebdatasetOptions& options, RecordSink& sink, std::atomic_flag& reported)
      : options_(options), sink_(sink), reported_(reported) {}

  void take(const TarEvent& event) {
    if (event.kind == TarEvent::Kind::kDamage) return take_damage(event);
    const std::size_t at = tar_extension_at(event.name);
    if (at == std::string_view::npos || is_tar_metadata(event.name)) return;
    const std::string_view key = std::string_view(event.name).substr(0, at - 1);
    if (!sample_.open() || key != sample_.key) begin(key, event.header);
    sample_.end = event.data + event.bytes;
    take_member(std::string_view(event.name).substr(at), event);
  }

  void finish() {
    close();
    report_damage();
  }

  // Called if a compressed stream is damaged: the last sample before the damage is valid unless it lost a member.
  void end_early() {
    sample_.near_damage = true;
    finish();
  }

 private:
  void begin(std::string_view key, std::uint64_t header) {
    close();
    const bool near_damage = !damage_.empty();
    sample_ = Sample{};
    sample_.key = key;
    sample_.begin = header;
    sample_.near_damage = near_damage;
  }

  void take_member(std::string_view suffix, const TarEvent& event) {
    std::string extension = lower(suffix);
    if (event.kind == TarEvent::Kind::kLink) return take_link(std::move(extension), event);
    if (std::find(sample_.extensions.begin(), sample_.extensions.end(), extension) != sample_.extensions.end()) {
      sample_.problem = "duplicate member '" + extension + "'";
    }
    const int image = image_rank(options_, extension);
    const int label = label_rank(options_, extension);
    if (image == kInnerImage) sample_.images.push_back(extension);
    if (image < sample_.image_rank) {
      sample_.image_rank = image;
      sample_.image_header = event.header;
      sample_.image_bytes = event.bytes;
      const auto front = event.body.first(std::min(event.body.size(), kFrontBytes));
      sample_.image_front.assign(front.begin(), front.end());
    }
    if (label < sample_.label_rank) take_label(extension, label, event);
    sample_.extensions.push_back(std::move(extension));
  }

  void take_label(const std::string& extension, int rank, const TarEvent& event) {
    sample_.label_rank = rank;
    sample_.label = parse_label(options_, extension, event.body);
    if (!sample_.label.problem.empty()) sample_.label.problem = "member '" + extension + "': " + sample_.label.problem;
    if (!sample_.label.none.empty()) sample_.label.none = "the member '" + extension + "': " + sample_.label.none;
  }

  // A link to an image or label makes its sample unreadable, unless another member replaces it.
  void take_link(std::string extension, const TarEvent& event) {
    if (image_rank(options_, extension) == kUnranked && label_rank(options_, extension) == kUnranked) return;
    sample_.link = "member '" + extension + "' is " + event.reason +
                   ", which is not followed; expected a file. Create the archive with tar --dereference "
                   "--hard-dereference.";
    sample_.extensions.push_back(std::move(extension));
  }

  // Damage may have removed members of the sample before it and of the sample after it. Members rejected for their
  // names are separate samples, grouped by key.
  void take_damage(const TarEvent& event) {
    sample_.near_damage = true;
    close();
    const std::size_t extension = tar_extension_at(event.name);
    const std::string_view key =
        std::string_view(event.name).substr(0, extension == std::string_view::npos ? extension : extension - 1);
    if (!key.empty() && !rejected_key_.empty() && key != rejected_key_) report_damage();
    if (!key.empty()) rejected_key_ = key;
    if (damage_.empty()) {
      damage_ = event.reason;
      damage_begin_ = std::min(event.header, damage_begin_);
    }
    damage_end_ = event.header + event.bytes;
  }

  void report_damage() {
    if (damage_.empty()) return;
    sink_.add_damaged(damage_begin_, damage_end_ - damage_begin_, damage_);
    damage_.clear();
    rejected_key_.clear();
    damage_begin_ = std::numeric_limits<std::uint64_t>::max();
  }

  [[nodiscard]] bool lost_a_member() const noexcept {
    return sample_.image_rank == kUnranked || (!sample_.labelled() && !unlabelled_);
  }

  void close() {
    if (!sample_.open()) return;
    if (sample_.near_damage && sample_.problem.empty() && lost_a_member()) {
      damage_begin_ = std::min(damage_begin_, sample_.begin);
      damage_end_ = std::max(damage_end_, sample_.end);
    } else {
      report_damage();
      add();
    }
    sample_ = Sample{};
  }

  void add() {
    const std::uint64_t begin = sample_.image_rank == kUnranked ? sample_.begin : sample_.image_header;
    const std::uint64_t length =
        sample_.image_rank == kUnranked ? sample_.end - begin : kTarBlockBytes + sample_.image_bytes;
    const std::string problem = problem_of_sample();
    if (!problem.empty()) return sink_.add_damaged(begin, length, "sample '" + sample_.key + "': " + problem);
    if (!sample_.labelled()) unlabelled_ = true;
    std::string none;
    if (!sample_.labelled() && options_.label != "none")
      none = sample_.label_rank == kUnranked ? "the members " + join(sample_.extensions) : sample_.label.none;
    sink_.add({.offset = begin,
               .length = length,
               .label = sample_.label.number,
               .label_name = sample_.label.name,
               .member = sample_.key,
               .encoded = sample_.image_front,
               .no_label = none,
               .label_text = sample_.label.text});
    report_several_images();  // last: the sink may end the scan
  }

  [[nodiscard]] std::string problem_of_sample() const {
    if (!sample_.problem.empty()) return sample_.problem;
    if (!sample_.link.empty() && (sample_.image_rank == kUnranked || !sample_.labelled())) return sample_.link;
    if (sample_.image_rank == kUnranked) {
      return "no image (" + (options_.image.empty() ? "jpg, jpeg, png or webp" : options_.image) +
             "); available: " + join(sample_.extensions);
    }
    if (sample_.image_rank == kInnerImage && sample_.images.size() > 1 && ends_a_name(sample_.images.front()))
      return several_images();
    if (sample_.image_bytes == 0) return "the image is empty";
    if (sample_.image_bytes > kMaxRecordBytes - kTarBlockBytes) return "the image is larger than 1 GiB";
    return sample_.label.problem;
  }

  // Names such as img_0.5_1.jpg and img_0.5_2.jpg have one key, img_0: all images but one would be lost.
  [[nodiscard]] std::string several_images() const {
    return fmt::format(
        "{} images ({}, {}, ...) have this name up to its first dot, after which the extension begins; expected one "
        "image per sample. Write names without further dots, or choose an image with #image={}",
        sample_.images.size(), sample_.images[0], sample_.images[1], sample_.images[0]);
  }

  // Left and right images are one sample, but so are images of names with dots.
  void report_several_images() {
    if (sample_.image_rank != kInnerImage || sample_.images.size() < 2 || reported_.test_and_set()) return;
    emit_notice("open webdataset: sample '" + sample_.key + "': found " + std::to_string(sample_.images.size()) +
                " images (" + join(sample_.images) +
                "), of which the first is read; expected one, because a sample is " +
                "named by the text up to the first dot. Choose an image with #image=" + sample_.images.front() + ".");
  }

  const WebdatasetOptions& options_;
  RecordSink& sink_;
  std::atomic_flag& reported_;
  Sample sample_;
  bool unlabelled_ = false;   // a complete sample had no label, so a missing label does not mean a lost member
  std::string damage_;        // reason of damage not reported yet, because the next sample may be part of it
  std::string rejected_key_;  // key of the rejected members in the damage; "": none
  std::uint64_t damage_begin_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t damage_end_ = 0;
};

class Webdataset final : public RecordFormat {
 public:
  explicit Webdataset(WebdatasetOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "webdataset"; }
  [[nodiscard]] std::string label_choice() const override { return "member"; }
  [[nodiscard]] bool can_read_names() const override { return true; }
  [[nodiscard]] int scan_version() const override { return 7; }
  [[nodiscard]] std::string variant() const override {
    if (options_.image.empty() && options_.label.empty() && !options_.names) return "";
    return "image=" + options_.image + ",label=" + options_.label + "/" + options_.label_key +
           (options_.names ? ",classes=names" : "");
  }

  void scan(ForwardBytes& bytes, RecordSink& sink) const override {
    TarScanner scanner(bytes);
    SampleScan samples(options_, sink, reported_);
    TarEvent event;
    try {
      for (scanner.next(event); event.kind != TarEvent::Kind::kEnd; scanner.next(event)) samples.take(event);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput) samples.end_early();
      throw;
    }
    samples.finish();
  }

  [[nodiscard]] bool begins_plain(std::span<const std::uint8_t> front) const override { return begins_as_tar(front); }

  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes&, Value& image) const override {
    if (stored.size() <= kTarBlockBytes || !has_right_checksum(TarBlock(stored.data(), kTarBlockBytes))) {
      throw input_error("the header of the image has changed since the shard was indexed");
    }
    image.bytes = stored.subspan(kTarBlockBytes);
  }

 private:
  WebdatasetOptions options_;
  mutable std::atomic_flag reported_;
};

// The extensions of the members of the first sample of a shard, for messages.
std::string members_of_first(const std::string& shard) {
  const std::shared_ptr<const ByteSource> stored = open_bytes(shard);
  std::vector<std::uint8_t> front(static_cast<std::size_t>(std::min<std::uint64_t>(kTarBlockBytes, stored->size())));
  stored->read(0, front);
  const std::unique_ptr<ForwardBytes> bytes =
      begins_as_tar(front) ? read_forward(*stored) : inflate_forward(*stored, detect_compression(front));
  TarScanner scanner(*bytes);
  TarEvent event;
  std::string key, members;
  for (scanner.next(event); event.kind != TarEvent::Kind::kEnd; scanner.next(event)) {
    const std::size_t extension =
        event.kind == TarEvent::Kind::kFile ? tar_extension_at(event.name) : std::string::npos;
    if (extension == std::string::npos || is_tar_metadata(event.name)) continue;
    if (!key.empty() && event.name.substr(0, extension) != key) break;
    key = event.name.substr(0, extension);
    members += (members.empty() ? "" : ", ") + event.name.substr(extension);
  }
  return members;
}

bool is_shard_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kEndings = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return ends_in(name, ending); });
}

}  // namespace

std::shared_ptr<const RecordFormat> webdataset_format(WebdatasetOptions options) {
  return std::make_shared<Webdataset>(std::move(options));
}

bool recognises_webdataset(const Source& source) {
  if (source.folder) return folder_begins(source, is_shard_name, begins_as_tar);
  return begins_as_tar(source.head) || begins_as_tar(source.content);
}

std::shared_ptr<const Dataset> open_webdataset(const Source& source, const std::string& split) {
  SourceOptions given = source.options;
  WebdatasetOptions options{given.take_text("image", ""), given.take_text("label", ""), ""};
  options.names = given.take_class_names();
  given.reject_unknown();
  if (as_text(source.content).starts_with("cifar-10")) {  // the first member of the published archives
    throw input_error(
        "open {}: found an archive of CIFAR; expected its folder. Unpack it with `tar xf`, or use `unstarve prepare "
        "cifar10`.",
        shown_name(source.text));
  }
  const std::string label = options.label;
  const std::size_t slash = options.label.find('/');
  if (slash != std::string::npos) {
    options.label_key = options.label.substr(slash + 1);
    options.label.resize(slash);
  }
  std::vector<Shard> shards = choose_shards(source, split, is_shard_name);
  const std::string first = shards.empty() ? "" : shards.front().name;
  auto data = std::make_shared<RecordFiles>(std::move(shards), webdataset_format(std::move(options)));
  if (!label.empty() && label != "none" && data->field_index(FieldKind::kLabel) < 0) {
    throw argument_error(
        "open {}: no sample has a label in '{}'; members of the first sample: {}. Use json/NAME for a key of a .json "
        "member, or #label=none to read no labels.",
        shown_name(source.text), label, members_of_first(first));
  }
  return data;
}

}  // namespace unstarve
