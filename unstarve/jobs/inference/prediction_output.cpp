#include "unstarve/jobs/inference/prediction_output.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>
#include <variant>

#include "unstarve/core/error.h"
#include "unstarve/jobs/pack/pack_file.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/parquet/table_writer.h"

namespace unstarve {
namespace {

using Numbers = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

// Rows in a group of a Parquet file.
constexpr std::size_t kGroupRows = std::size_t{1} << 16;

// The table that .csv and .parquet contain.
class PredictionTable {
 public:
  PredictionTable(const Dataset& dataset, const std::vector<std::string>& classes, std::size_t values)
      : dataset_(dataset), classes_(classes) {
    const bool named = !classes.empty();
    fields_ = {{"index", Numbers()}, {"name", Texts()}, {"label", Numbers(), true}};
    if (named) fields_.push_back({"label_name", Texts()});
    for (std::size_t k = 1; k <= values / 2; ++k) {
      const std::string number = k == 1 ? "" : fmt::format("_{}", k);
      fields_.push_back({"class" + number, Numbers()});
      if (named) fields_.push_back({"class_name" + number, Texts()});
      fields_.push_back({"probability" + number, Floats()});
    }
    clear();
  }
  [[nodiscard]] const std::vector<TableField>& fields() const { return fields_; }
  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return std::get<Numbers>(columns_[0]).size(); }
  void clear() {
    columns_.clear();
    for (const TableField& field : fields_) columns_.push_back(field.type);
  }

  void add(std::uint64_t id, std::int64_t label, std::span<const float> pairs) {
    std::size_t next = 0;
    const auto add = [&](auto value) {
      std::get<std::vector<decltype(value)>>(columns_[next++]).push_back(std::move(value));
    };
    const auto add_class = [&](std::int64_t number) {
      add(number);
      if (!classes_.empty()) add(name_of(number));
    };
    add(static_cast<std::int64_t>(id));
    add(dataset_.location(id));
    add_class(label);
    for (std::size_t k = 0; k < pairs.size(); k += 2) {
      add_class(static_cast<std::int64_t>(pairs[k]));
      add(pairs[k + 1]);
    }
  }

 private:
  [[nodiscard]] std::string name_of(std::int64_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return number >= 0 && at < classes_.size() ? classes_[at] : std::string();
  }

  const Dataset& dataset_;
  const std::vector<std::string>& classes_;
  std::vector<TableField> fields_;
  std::vector<TableColumn> columns_;
};

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_value(const TableColumn& column, std::size_t row) {
  if (const auto* numbers = std::get_if<Numbers>(&column))
    return (*numbers)[row] < 0 ? std::string() : std::to_string((*numbers)[row]);
  if (const auto* floats = std::get_if<Floats>(&column)) return fmt::format("{:.6g}", (*floats)[row]);
  return csv_text(std::get<Texts>(column)[row]);
}

void write_csv(const PredictionTable& table, ByteSink& sink) {
  std::string text;
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (const TableColumn& column : table.columns())
      text += csv_value(column, row) + (&column == &table.columns().back() ? '\n' : ',');
  sink.write(text);
}

// Calls `write` for groups of rows, and once for no rows.
void for_each_group(const PredictionPart& part, PredictionTable& table, const std::function<void()>& write) {
  part.read([&](const PredictionRows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      table.add(rows.ids[i], rows.labels[i], rows.row(i));
      if (table.rows() < kGroupRows) continue;
      write();
      table.clear();
    }
  });
  write();
}

void write_npy(const PredictionPart& part, ByteSink& sink, std::size_t values) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", part.rows(), values);
  constexpr std::size_t kPreamble = 10, kAlign = 64;
  header.append(kAlign - (kPreamble + header.size() + 1) % kAlign, ' ');
  header += '\n';
  sink.write(std::string_view("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::uint16_t>(header.size());
  const std::uint8_t bytes[]{static_cast<std::uint8_t>(length & 0xff), static_cast<std::uint8_t>(length >> 8)};
  sink.write(bytes);
  sink.write(header);
  part.read([&](const PredictionRows& rows) {
    sink.write({reinterpret_cast<const std::uint8_t*>(rows.data.data()), rows.data.size() * sizeof(float)});
  });
}

}  // namespace

PredictionFormat prediction_format(const std::filesystem::path& out) {
  const std::string extension = out.extension().string();
  if (extension == ".csv") return PredictionFormat::kCsv;
  if (extension == ".parquet") return PredictionFormat::kParquet;
  if (extension == ".npy") return PredictionFormat::kNpy;
  throw Error(ErrorKind::kArgument, fmt::format("--out {}: found the extension \"{}\"; expected .csv, .parquet or .npy",
                                                out.string(), extension));
}

void require_format(const std::filesystem::path& out) {
  CountingSink nothing;
  if (prediction_format(out) == PredictionFormat::kParquet) (void)make_table_writer(nothing, {{"index", Numbers()}});
}

std::size_t values_per_row(PredictionFormat format, std::size_t outputs, std::size_t top) {
  return format == PredictionFormat::kNpy ? outputs : 2 * top;
}

void write_predictions(const PredictionPart& part, const Dataset& dataset, const std::filesystem::path& out,
                       const std::vector<std::string>& classes, std::size_t values) {
  const std::filesystem::path folder = out.has_parent_path() ? out.parent_path() : ".";
  PackFile file(out, folder, PackFile::Writers::kOne);
  PredictionTable table(dataset, classes, values);
  switch (prediction_format(out)) {
    case PredictionFormat::kCsv: {
      std::string names;
      for (const TableField& field : table.fields()) names += (names.empty() ? "" : ",") + field.name;
      file.write(names + "\n");
      for_each_group(part, table, [&] { write_csv(table, file); });
      break;
    }
    case PredictionFormat::kParquet: {
      const auto writer = make_table_writer(file, table.fields());
      for_each_group(part, table, [&] { writer->write(table.columns()); });
      writer->finish();
      break;
    }
    case PredictionFormat::kNpy: write_npy(part, file, values); break;
  }
  file.publish();
}

}  // namespace unstarve
