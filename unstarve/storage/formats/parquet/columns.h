#pragma once
// Which columns of a Parquet file are the image and the label, and what Hugging Face's metadata says of them: pure
// functions, without Arrow.
//
// Threads: pure. Failure: Error without the file's name (the caller adds it): kArgument for a name asked for that is
//          not there, kInput when no column is an image or a column has a type that cannot be one.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unstarve {

enum class LeafType { kWhole, kBytes, kOther };  // kWhole: booleans, 32 and 64 bit integers

// A column that holds values, as the footer lists them.
struct ParquetLeaf {
  std::string path;  // "image.bytes", "label"
  LeafType type = LeafType::kOther;
  bool repeated = false;  // a list, or in one
  std::string type_name;  // for messages
};

// {"info": {"features": {NAME: {"_type": "Image"}, NAME: {"_type": "ClassLabel", "names": [...]}}}}, the value of the
// footer's key "huggingface". What is not so is left out: the names only embellish.
struct HuggingFaceFeatures {
  std::vector<std::string> images;
  std::vector<std::pair<std::string, std::vector<std::string>>> class_labels;
};
[[nodiscard]] HuggingFaceFeatures parse_huggingface(std::string_view json);

enum class ParquetLabels { kNone, kNumbers, kNames };

struct ChosenColumns {
  int image = -1;  // index of the leaf
  int label = -1;
  ParquetLabels labels = ParquetLabels::kNone;
  std::vector<std::string> class_names;  // of the label's ClassLabel
  std::vector<std::string> others;       // paths of the leaves that are neither
};

// As the name of the label: there is to be none (sets of captions).
inline constexpr std::string_view kNoLabel = "none";

// `image` and `label`: names asked for, "" to look for them.
[[nodiscard]] ChosenColumns choose_columns(std::span<const ParquetLeaf> leaves, const HuggingFaceFeatures& features,
                                           const std::string& image, const std::string& label);

}  // namespace unstarve
