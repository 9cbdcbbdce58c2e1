#include "unstarve/jobs/data/inspect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/observe/format.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// The finding of one record, stored per record so that the result does not depend on the thread.
struct Finding {
  Size size;  // width 0: corrupt
  std::int32_t label = -1;
  Encoding encoding = Encoding::kUnknown;  // kUnknown and not corrupt: raw pixels
  std::uint64_t bytes = 0;
};

// Reads and decodes records; one per thread.
class Examiner {
 public:
  explicit Examiner(const Dataset& data)
      : data_(data),
        encoded_(data.field_index(FieldKind::kEncodedImage)),
        pixels_(data.field_index(FieldKind::kPixels)),
        label_(data.field_index(FieldKind::kLabel)) {}

  // The reason if the record cannot be used.
  std::optional<std::string> examine(std::uint64_t id, Finding& finding) {
    try {
      data_.read(id, record_);
      examine_record(finding);
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      return error.what();
    }
    return std::nullopt;
  }

 private:
  const Value& value(int field) const { return record_.values[static_cast<std::size_t>(field)]; }

  void examine_record(Finding& finding) {
    try {
      if (label_ >= 0) take_label(finding);
      if (encoded_ >= 0)
        decode(finding);
      else if (pixels_ >= 0)
        check_pixels(value(pixels_).pixels, finding);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput) check_maps(record_);  // zeros of a lost page would look like damage
      throw;
    }
  }

  void take_label(Finding& finding) {
    const std::int64_t label = value(label_).integer;
    const std::size_t classes = data_.classes().size();
    if (classes == 0) return;
    if (label < 0 || label >= static_cast<std::int64_t>(classes)) {
      throw Error(ErrorKind::kInput,
                  "label " + std::to_string(label) + " is out of range; expected 0 to " + std::to_string(classes - 1));
    }
    finding.label = static_cast<std::int32_t>(label);
  }

  void decode(Finding& finding) {
    const auto bytes = value(encoded_).bytes;
    finding.bytes = bytes.size();
    const ImageHeader header = decoder_.open(bytes);
    decoder_.decode({}, image_);
    check_maps(record_);
    finding.encoding = header.encoding;
    finding.size = header.size;
  }

  // Raw pixels are always valid; this reads them to check that they exist.
  void check_pixels(const PixelView& view, Finding& finding) const {
    for (int c = 0; c < kChannels; ++c) {
      for (int y = 0; y < view.height; ++y) {
        const std::uint8_t* first = view.data + y * view.row_stride + c * view.channel_stride;
        static_cast<void>(*static_cast<const volatile std::uint8_t*>(first));
        static_cast<void>(*static_cast<const volatile std::uint8_t*>(first + (view.width - 1) * view.pixel_stride));
      }
    }
    check_maps(record_);
    finding.bytes = static_cast<std::uint64_t>(view.width) * static_cast<std::uint64_t>(view.height) * kChannels;
    finding.size = view.size();
  }

  const Dataset& data_;
  int encoded_;
  int pixels_;
  int label_;
  RecordBuffer record_;
  Decoder decoder_;
  Image image_;
};

struct Examined {
  std::vector<Finding> records;  // by position in the sample set
  std::vector<CorruptRecord> corrupt;
};

Examined examine_all(const Dataset& data, const SampleSet& samples, int threads, const Progress& progress) {
  constexpr std::uint64_t kChunk = 16;  // some ten milliseconds of photographs
  const std::uint64_t total = samples.size();
  const auto end_of = [total](std::uint64_t chunk) { return std::min((chunk + 1) * kChunk, total); };
  Examined findings;
  findings.records.resize(total);
  const OrderedWork work{(total + kChunk - 1) / kChunk, threads, static_cast<std::uint64_t>(2 * threads)};
  std::vector<std::vector<CorruptRecord>> slots(work.window);
  ItemProgress done(progress, total, "records");
  run_in_order(
      work,
      [&]() -> OrderedWorker {
        auto examiner = std::make_shared<Examiner>(data);
        return [&, examiner](std::uint64_t chunk, std::size_t slot) {
          slots[slot].clear();
          for (std::uint64_t position = chunk * kChunk; position < end_of(chunk); ++position) {
            const std::uint64_t id = samples.id(position);
            if (auto reason = examiner->examine(id, findings.records[position]))
              slots[slot].push_back({id, data.record_location(id), std::move(*reason)});
          }
        };
      },
      [&](std::uint64_t chunk, std::size_t slot) {
        std::ranges::move(slots[slot], std::back_inserter(findings.corrupt));
        done.add(end_of(chunk) - chunk * kChunk);
      });
  std::ranges::sort(findings.corrupt, {}, &CorruptRecord::id);
  return findings;
}

SizeSummary summarise(const std::vector<Finding>& findings) {
  std::vector<Size> sizes;
  for (const Finding& finding : findings) {
    if (finding.size.width > 0) sizes.push_back(finding.size);
  }
  if (sizes.empty()) return {};
  std::ranges::sort(sizes, [](const Size& a, const Size& b) {
    const std::int64_t pixels_a = std::int64_t{a.width} * a.height;
    const std::int64_t pixels_b = std::int64_t{b.width} * b.height;
    return pixels_a != pixels_b ? pixels_a < pixels_b : a.width < b.width;
  });
  return {sizes.front(), sizes[(sizes.size() - 1) / 2], sizes.back()};
}

Json size_json(Size size) { return Json::array({size.width, size.height}); }

std::string text_of(Size size) { return fmt::format("{} x {}", size.width, size.height); }

std::string text_of(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return "none";
  const auto [fewest, most] = std::minmax_element(classes.begin(), classes.end(),
                                                  [](const auto& a, const auto& b) { return a.samples < b.samples; });
  std::string text =
      fmt::format("{}, {} sample{} each (", classes.size(),
                  fewest->samples == most->samples ? std::to_string(most->samples)
                                                   : fmt::format("{} to {}", fewest->samples, most->samples),
                  most->samples == 1 ? "" : "s");
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + printable(classes[i].name);
  return text + (classes.size() > kShown ? ", ...)" : ")");
}

}  // namespace

InspectResult inspect_dataset(const Dataset& data, const std::string& path, int threads, const Progress& progress,
                              const SampleSet* samples) {
  if (threads < 0) throw Error(ErrorKind::kArgument, "inspect: " + std::to_string(threads) + " threads");
  const SampleSet everything(data.size());
  if (samples == nullptr) samples = &everything;
  Examined findings = examine_all(data, *samples, threads > 0 ? threads : read_topology().usable(), progress);

  InspectResult result;
  result.path = shown_name(path);
  result.format = data.format();
  result.samples = samples->size();
  result.records = data.size();
  for (const std::string& name : data.classes()) result.classes.push_back({name, 0});
  result.missing_labels = data.missing_labels();
  result.label_choice = data.label_choice();
  std::uint64_t read_bytes = 0;
  for (const Finding& finding : findings.records) {
    read_bytes += finding.bytes;
    if (finding.label >= 0) ++result.classes[static_cast<std::size_t>(finding.label)].samples;
    if (finding.size.width == 0) continue;
    ++result.encodings[finding.encoding == Encoding::kUnknown ? "raw" : to_string(finding.encoding)];
  }
  result.bytes = data.stored_bytes() > 0 && result.samples == result.records ? data.stored_bytes() : read_bytes;
  result.sizes = summarise(findings.records);
  result.corrupt = std::move(findings.corrupt);
  result.notes = data.notes();
  return result;
}

std::string to_json(const InspectResult& result) {
  Json json;
  json["path"] = result.path;
  json["format"] = result.format;
  json["samples"] = result.samples;
  json["records"] = result.records;
  json["classes"] = result.classes.size();
  json["class_counts"] = Json::array();
  for (const ClassCount& count : result.classes) {
    json["class_counts"].push_back({{"name", count.name}, {"samples", count.samples}});
  }
  json["missing_labels"] = result.missing_labels;
  json["bytes"] = result.bytes;
  const bool any = result.sizes.largest.width > 0;
  json["sizes"]["smallest"] = any ? size_json(result.sizes.smallest) : Json();
  json["sizes"]["median"] = any ? size_json(result.sizes.median) : Json();
  json["sizes"]["largest"] = any ? size_json(result.sizes.largest) : Json();
  json["encodings"] = result.encodings;
  json["corrupt"] = Json::array();
  for (const CorruptRecord& record : result.corrupt) {
    json["corrupt"].push_back({{"id", record.id}, {"location", to_string(record.location)}, {"reason", record.reason}});
  }
  json["notes"] = result.notes;
  return json_text(json, 2);
}

std::string to_text(const InspectResult& result, std::size_t corrupt_shown) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<11}{}\n", name, value);
  };
  line("data", printable(result.path));
  line("format", result.format);
  line("samples", result.samples == result.records
                      ? fmt::format("{}", result.samples)
                      : fmt::format("{} of {} records (filter and take of the spec)", result.samples, result.records));
  line("classes", text_of(result.classes));
  if (!result.missing_labels.empty())
    line("labels", "none, found " + printable(result.missing_labels) +
                       (result.label_choice.empty() ? "" : "; choose with #label=NAME or #label=none"));
  line("bytes", format_bytes(result.bytes));
  if (result.sizes.largest.width > 0) {
    line("pixels", fmt::format("{} smallest, {} median, {} largest", text_of(result.sizes.smallest),
                               text_of(result.sizes.median), text_of(result.sizes.largest)));
  }
  std::string encodings;
  for (const auto& [name, count] : result.encodings)
    encodings += fmt::format("{}{} {}", encodings.empty() ? "" : ", ", count, name);
  if (!encodings.empty()) line("encodings", encodings);
  line("corrupt", result.corrupt.empty() ? "none" : fmt::format("{}", result.corrupt.size()));
  for (std::size_t i = 0; i < std::min(corrupt_shown, result.corrupt.size()); ++i) {
    const CorruptRecord& record = result.corrupt[i];
    // Read errors already name the record.
    const std::string location = to_string(record.location);
    const bool named = record.reason.find(location) != std::string::npos;
    text += "    " + printable(named ? record.reason : location + ": " + record.reason) + "\n";
  }
  if (result.corrupt.size() > corrupt_shown)
    text += fmt::format("    ... and {} more\n", result.corrupt.size() - corrupt_shown);
  for (const std::string& note : result.notes) line("note", printable(note));
  return text;
}

}  // namespace unstarve
