#include "unstarve/storage/dataset/concatenated.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

class Concatenated final : public Dataset {
 public:
  Concatenated(std::vector<std::shared_ptr<const Dataset>> parts, const std::vector<std::string>& names,
               const std::string& operation) {
    // Throws unless dataset i and the first dataset agree on `property`.
    const auto agree = [&](std::size_t i, const std::string& property, bool actual, bool expected) {
      if (actual == expected) return;
      throw argument_error("{}: {} {}, {} does not; expected the same for all sources", operation,
                           names[actual ? i : 0], property, names[actual ? 0 : i]);
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Dataset& data = *parts[i];
      Part part{
          std::move(parts[i]), data.field_index(FieldKind::kEncodedImage), data.field_index(FieldKind::kLabel), {}};
      const FieldKind kind = part.image >= 0 ? FieldKind::kEncodedImage : FieldKind::kPixels;
      if (part.image < 0) part.image = data.field_index(FieldKind::kPixels);
      if (part.image < 0) throw argument_error("{}: {} has no images", operation, names[i]);
      if (i == 0) {
        fields_ = {{"image", kind}};
        if (part.label >= 0) fields_.push_back({"label", FieldKind::kLabel});
      }
      agree(i, "holds encoded images", kind == FieldKind::kEncodedImage, fields_[0].kind == FieldKind::kEncodedImage);
      agree(i, "has labels", part.label >= 0, fields_.size() == 2);
      agree(i, "names its classes", !data.classes().empty(), i == 0 ? !data.classes().empty() : !classes_.empty());
      number_classes(part);
      begin_.push_back(begin_.back() + data.size());
      parts_.push_back(std::move(part));
    }
  }

  [[nodiscard]] std::string format() const override {
    return fmt::format("{} sources, the first {}", parts_.size(), parts_[0].data->format());
  }
  [[nodiscard]] std::uint64_t size() const override { return begin_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::string missing_labels() const override { return parts_[0].data->missing_labels(); }
  [[nodiscard]] std::string label_choice() const override { return parts_[0].data->label_choice(); }
  [[nodiscard]] std::vector<std::uint64_t> parts() const override { return begin_; }
  // Empty unless every part consists of shards: other records would be missing from the list.
  [[nodiscard]] std::vector<DataFile> files() const override {
    std::vector<DataFile> all;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::vector<DataFile> files = parts_[i].data->files();
      if (files.empty()) return {};
      for (const DataFile& file : files) all.push_back({file.path, begin_[i] + file.first, file.changed});
    }
    return all;
  }

  [[nodiscard]] std::uint64_t stored_bytes() const override {
    std::uint64_t bytes = 0;
    for (const Part& part : parts_) {
      if (part.data->stored_bytes() == 0) return 0;
      bytes += part.data->stored_bytes();
    }
    return bytes;
  }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    const std::size_t part = part_of(id);
    return parts_[part].data->record_location(id - begin_[part]);
  }
  [[nodiscard]] bool known_by_path() const override {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.data->known_by_path(); });
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (const Part& part : parts_)
      for (std::string& note : part.data->notes()) notes.push_back(std::move(note));
    return notes;
  }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    const std::size_t part = part_of(id);
    std::optional<std::int64_t> label = parts_[part].data->known_label(id - begin_[part]);
    if (label) *label = renumbered(part, *label, id);
    return label;
  }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    const std::size_t part = part_of(id);
    parts_[part].data->read(id - begin_[part], record);
    rearrange(part, id, record);
  }
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override {
    std::vector<std::uint64_t> own;
    std::vector<std::size_t> positions;
    std::vector<RecordBuffer> buffers(ids.size());
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      own.clear();
      positions.clear();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (part_of(ids[i]) != part) continue;
        std::swap(buffers[own.size()], records[i]);
        own.push_back(ids[i] - begin_[part]);
        positions.push_back(i);
      }
      if (!own.empty()) parts_[part].data->read_many(own, std::span(buffers).first(own.size()));
      for (std::size_t i = 0; i < positions.size(); ++i) {
        std::swap(buffers[i], records[positions[i]]);
        rearrange(part, ids[positions[i]], records[positions[i]]);
      }
    }
  }
  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override {
    const std::size_t part = part_of(id);
    return parts_[part].data->prefetch(id - begin_[part]);
  }
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override {
    const std::size_t part = part_of(id);
    return parts_[part].data->known_size(id - begin_[part]);
  }
  [[nodiscard]] int reads_in_flight() const override {
    int reads = 0;
    for (const Part& part : parts_) reads = std::max(reads, part.data->reads_in_flight());
    return reads;
  }
  [[nodiscard]] int most_reads_in_flight() const override {
    int reads = 0;
    for (const Part& part : parts_) reads = std::max(reads, part.data->most_reads_in_flight());
    return reads;
  }

 private:
  struct Part {
    std::shared_ptr<const Dataset> data;
    int image, label;                  // field indexes
    std::vector<std::int64_t> labels;  // its class numbers -> merged class numbers; empty if they are equal
  };

  void number_classes(Part& part) {
    const std::vector<std::string>& own = part.data->classes();
    bool equal = true;
    for (std::size_t c = 0; c < own.size(); ++c) {
      const auto [entry, added] = numbers_.try_emplace(own[c], static_cast<std::int64_t>(classes_.size()));
      if (added) classes_.push_back(own[c]);
      part.labels.push_back(entry->second);
      equal = equal && entry->second == static_cast<std::int64_t>(c);
    }
    if (equal) part.labels.clear();
  }

  [[nodiscard]] std::size_t part_of(std::uint64_t id) const noexcept { return unstarve::part_of(begin_, id); }

  [[nodiscard]] std::int64_t renumbered(std::size_t part, std::int64_t label, std::uint64_t id) const {
    const std::vector<std::int64_t>& labels = parts_[part].labels;
    if (labels.empty()) return label;
    if (label < 0 || label >= static_cast<std::int64_t>(labels.size()))
      throw input_error("{}: label {}; expected 0 to {}", location(id), label, labels.size() - 1);
    return labels[static_cast<std::size_t>(label)];
  }

  void rearrange(std::size_t number, std::uint64_t id, RecordBuffer& record) const {
    const Part& part = parts_[number];
    const bool labelled = part.label >= 0;
    if (part.image != 0 || (labelled && part.label != 1)) {
      const Value image = record.values[static_cast<std::size_t>(part.image)];
      const Value label = labelled ? record.values[static_cast<std::size_t>(part.label)] : Value{};
      record.values.resize(fields_.size());
      record.values[0] = image;
      if (labelled) record.values[1] = label;
    }
    if (labelled) record.values[1].integer = renumbered(number, record.values[1].integer, id);
  }

  std::vector<Part> parts_;
  std::vector<std::uint64_t> begin_{0};
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace

std::shared_ptr<const Dataset> concatenate(std::vector<std::shared_ptr<const Dataset>> parts,
                                           const std::vector<std::string>& names, const std::string& operation) {
  if (parts.empty()) throw argument_error("{}: no source is given; expected one or more", operation);
  return std::make_shared<Concatenated>(std::move(parts), names, operation);
}

}  // namespace unstarve
