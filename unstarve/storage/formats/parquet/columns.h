#pragma once
// Selects the image and label columns of a Parquet file and parses the metadata of Hugging Face. Does not use Arrow.
//
// Threads: pure functions.
// Failure: Error without the file name (the caller adds it): kArgument for a requested column that is missing or has an
//          unsuitable type, kInput if there is no image column.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unstarve {

enum class LeafType { kWhole, kBytes, kOther };  // kWhole: booleans and integers

// A leaf column of the schema.
struct ParquetLeaf {
  std::string path;  // "image.bytes", "label"
  LeafType type = LeafType::kOther;
  bool repeated = false;  // a list, or inside of one
  std::string type_name;  // for messages
  bool text = false;      // annotated as text: a path rather than an image
  bool encoded = false;   // indices into a dictionary: a label, not an image
};

// {"info": {"features": {NAME: {"_type": "Image"}, NAME: {"_type": "ClassLabel", "names": [...]}}}}, the value of the
// footer key "huggingface". Entries of any other form are ignored.
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
  std::vector<std::string> class_names;  // of the ClassLabel of the label column
  std::string no_label;                  // why no label column is selected; empty if none was requested
};

// As the name of the label column: read no labels (datasets of captions).
inline constexpr std::string_view kNoLabel = "none";

// `image` and `label`: requested column names; "" selects by default names and metadata.
[[nodiscard]] ChosenColumns choose_columns(std::span<const ParquetLeaf> leaves, const HuggingFaceFeatures& features,
                                           const std::string& image, const std::string& label);

}  // namespace unstarve
