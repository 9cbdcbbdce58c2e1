#include "unstarve/storage/formats/parquet/columns.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

const ParquetLeaf kStruct{"image.bytes", LeafType::kBytes, false, "BYTE_ARRAY"};
const ParquetLeaf kPath{"image.path", LeafType::kBytes, false, "BYTE_ARRAY"};
const ParquetLeaf kLabel{"label", LeafType::kWhole, false, "INT64"};

ParquetLeaf leaf(const std::string& path, LeafType type, bool repeated = false) { return {path, type, repeated, "T"}; }

std::string columns_error(const std::vector<ParquetLeaf>& leaves, ErrorKind kind, const std::string& image = "",
                          const std::string& label = "") {
  return testing::error_message([&] { return choose_columns(leaves, {}, image, label); }, kind);
}

TEST_CASE("the bytes of an image struct and the label are found among other columns") {
  const std::vector<ParquetLeaf> leaves{leaf("id", LeafType::kWhole), kPath, kLabel, kStruct};
  const ChosenColumns chosen = choose_columns(leaves, {}, "", "");
  CHECK(chosen.image == 3);
  CHECK(chosen.label == 2);
  CHECK(chosen.labels == ParquetLabels::kNumbers);
  CHECK(chosen.class_names.empty());
}

TEST_CASE("names are tried in a fixed order; string labels are names") {
  const std::vector<ParquetLeaf> leaves{leaf("jpg", LeafType::kBytes), leaf("target", LeafType::kWhole),
                                        leaf("cls", LeafType::kBytes), leaf("img", LeafType::kBytes)};
  const ChosenColumns chosen = choose_columns(leaves, {}, "", "");
  CHECK(chosen.image == 3);
  CHECK(chosen.label == 2);
  CHECK(chosen.labels == ParquetLabels::kNames);
}

TEST_CASE("an image column of text is chosen only if there is no other, because it may contain paths") {
  ParquetLeaf text = leaf("image", LeafType::kBytes);
  text.text = true;
  const ParquetLeaf jpg = leaf("jpg", LeafType::kBytes);
  CHECK(choose_columns(std::vector<ParquetLeaf>{text, jpg}, {}, "", "").image == 1);
  CHECK(choose_columns(std::vector<ParquetLeaf>{text, jpg}, {}, "image", "").image == 0);
  CHECK(choose_columns(std::vector<ParquetLeaf>{text, kLabel}, {}, "", "").image == 0);
  CHECK(choose_columns(std::vector<ParquetLeaf>{text, leaf("scan.bytes", LeafType::kBytes)}, {{"scan"}, {}}, "", "")
            .image == 1);
}

TEST_CASE("default names are compared without case, but an equal name is preferred") {
  const std::vector<ParquetLeaf> capitals{leaf("Label", LeafType::kWhole), leaf("Image", LeafType::kBytes)};
  CHECK(choose_columns(capitals, {}, "", "").image == 1);
  CHECK(choose_columns(capitals, {}, "", "").label == 0);
  const std::vector<ParquetLeaf> both{leaf("IMAGE.Bytes", LeafType::kBytes), leaf("LABEL", LeafType::kWhole),
                                      leaf("label", LeafType::kWhole)};
  CHECK(choose_columns(both, {}, "", "").image == 0);
  CHECK(choose_columns(both, {}, "", "").label == 2);
}

TEST_CASE("a name that differs in case is not preferred to an equal one later in the order") {
  const std::vector<ParquetLeaf> leaves{leaf("Image", LeafType::kBytes), leaf("jpg", LeafType::kBytes),
                                        leaf("Class", LeafType::kBytes), leaf("target", LeafType::kWhole)};
  CHECK(choose_columns(leaves, {}, "", "").image == 1);
  CHECK(choose_columns(leaves, {}, "", "").label == 3);
  const std::vector<ParquetLeaf> named{leaf("Image", LeafType::kBytes), leaf("scan.bytes", LeafType::kBytes),
                                       leaf("Label", LeafType::kWhole), leaf("kind", LeafType::kWhole)};
  const HuggingFaceFeatures features{{"scan"}, {{"kind", {"a", "b"}}}};
  CHECK(choose_columns(named, features, "", "").image == 1);
  CHECK(choose_columns(named, features, "", "").label == 3);
  const std::vector<ParquetLeaf> floats{leaf("Image", LeafType::kBytes), leaf("Label", LeafType::kOther),
                                        leaf("Target", LeafType::kWhole)};
  CHECK(choose_columns(floats, {}, "", "").label == 2);
}

TEST_CASE("a dictionary-encoded column is a label, not an image") {
  ParquetLeaf image = leaf("image", LeafType::kBytes), label = leaf("label", LeafType::kBytes);
  image.encoded = label.encoded = true;
  const ChosenColumns chosen =
      choose_columns(std::vector<ParquetLeaf>{image, label, leaf("jpg", LeafType::kBytes)}, {}, "", "");
  CHECK(chosen.image == 2);
  CHECK(chosen.label == 1);
  CHECK(chosen.labels == ParquetLabels::kNames);
}

TEST_CASE("a requested column is preferred and may be a struct") {
  const std::vector<ParquetLeaf> leaves{kStruct, kLabel, leaf("photo.bytes", LeafType::kBytes),
                                        leaf("kind", LeafType::kWhole)};
  const ChosenColumns chosen = choose_columns(leaves, {}, "photo", "kind");
  CHECK(chosen.image == 2);
  CHECK(chosen.label == 3);
}

TEST_CASE("labels can be disabled") {
  CHECK(choose_columns(std::vector<ParquetLeaf>{kStruct, kLabel}, {}, "", "none").labels == ParquetLabels::kNone);
}

TEST_CASE("lists and columns of other types are skipped") {
  const ChosenColumns chosen =
      choose_columns(std::vector<ParquetLeaf>{leaf("image", LeafType::kBytes, true), leaf("img", LeafType::kBytes),
                                              leaf("label", LeafType::kOther)},
                     {}, "", "");
  CHECK(chosen.image == 1);
  CHECK(chosen.label == -1);
  CHECK(chosen.labels == ParquetLabels::kNone);
  CHECK(chosen.no_label == "the columns image (T list), img (T), label (T)");
  // A label column of another type is not replaced by another column.
  CHECK(choose_columns(
            std::vector<ParquetLeaf>{kStruct, leaf("label", LeafType::kOther), leaf("target", LeafType::kWhole)}, {},
            "", "")
            .label == -1);
  CHECK(choose_columns(std::vector<ParquetLeaf>{kStruct}, {}, "", "none").no_label.empty());
}

TEST_CASE("a missing column is an error that lists the columns") {
  CHECK_THAT(columns_error({leaf("text", LeafType::kBytes), kLabel}, ErrorKind::kInput),
             Catch::Contains("text (T), label (INT64)") && Catch::Contains("#image=NAME"));
  CHECK_THAT(columns_error({kStruct, kLabel}, ErrorKind::kArgument, "photo"), Catch::Contains("no column 'photo'"));
  CHECK_THAT(columns_error({kStruct, leaf("image", LeafType::kBytes, true)}, ErrorKind::kArgument, "image"),
             Catch::Contains("image (T list)"));
  CHECK_THAT(columns_error({kStruct, kLabel}, ErrorKind::kArgument, "", "kind"), Catch::Contains("no column 'kind'"));
}

TEST_CASE("Hugging Face metadata names images, labels and classes") {
  const HuggingFaceFeatures features = parse_huggingface(
      R"({"info": {"features": {"scan": {"_type": "Image"}, "kind": {"names": ["a", "b"], "_type": "ClassLabel"},
          "n": {"dtype": "int64", "_type": "Value"}}}})");
  CHECK(features.images == std::vector<std::string>{"scan"});
  REQUIRE(features.class_labels.size() == 1);
  const std::vector<ParquetLeaf> leaves{leaf("n", LeafType::kWhole), leaf("kind", LeafType::kWhole),
                                        leaf("scan.bytes", LeafType::kBytes)};
  const ChosenColumns chosen = choose_columns(leaves, features, "", "");
  CHECK(chosen.image == 2);
  CHECK(chosen.label == 1);
  CHECK(chosen.class_names == std::vector<std::string>{"a", "b"});
}

TEST_CASE("invalid metadata is ignored") {
  for (const char* text : {"", "{", "[]", "null", "{\"info\": 3}", "{\"info\": {\"features\": [1, {}]}}",
                           "{\"info\": {\"features\": {\"a\": \"Image\", \"b\": {\"_type\": 1}}}}",
                           "{\"info\": {\"features\": {\"a\": {\"_type\": \"ClassLabel\"}}}}",
                           "{\"info\": {\"features\": {\"a\": {\"_type\": \"ClassLabel\", \"names\": [1, \"x\"]}}}}"}) {
    INFO(text);
    const HuggingFaceFeatures features = parse_huggingface(text);
    CHECK(features.images.empty());
    for (const auto& [name, classes] : features.class_labels) CHECK(classes.empty());
  }
}

}  // namespace
}  // namespace unstarve
