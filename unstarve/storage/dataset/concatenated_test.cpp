#include "unstarve/storage/dataset/concatenated.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"

namespace unstarve {
namespace {

// Fields, their order, classes and labels are parameters; pixels are stored in the buffer.
class ListedSet final : public Dataset {
 public:
  ListedSet(std::vector<Field> fields, std::vector<std::string> classes, std::vector<std::int64_t> labels)
      : fields_(std::move(fields)), classes_(std::move(classes)), labels_(std::move(labels)) {}
  std::string format() const override { return "listed"; }
  std::uint64_t size() const override { return labels_.size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = "listed", .number = id}; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    record.storage.reserve_discard(kChannels);
    record.storage.data()[0] = static_cast<std::uint8_t>(id);
    record.values.assign(fields_.size(), {});
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].kind == FieldKind::kLabel) record.values[i].integer = labels_[id];
      if (fields_[i].kind == FieldKind::kPixels) record.values[i].pixels = {record.storage.data(), 1, 1, 3, 3, 1};
      if (fields_[i].kind == FieldKind::kEncodedImage) record.values[i].bytes = {record.storage.data(), 1};
    }
  }

 private:
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> labels_;
};

using Labels = std::vector<std::int64_t>;
const std::vector<Field> kImageAndLabel{{"image", FieldKind::kPixels}, {"label", FieldKind::kLabel}};

std::shared_ptr<const Dataset> listed(std::vector<std::string> classes, Labels labels,
                                      std::vector<Field> fields = kImageAndLabel) {
  return std::make_shared<ListedSet>(std::move(fields), std::move(classes), std::move(labels));
}

Labels labels_of(const Dataset& data) {
  Labels labels;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, record);
    labels.push_back(record.values[1].integer);
  }
  return labels;
}

TEST_CASE("a concatenation passes the conformance suite") {
  testing::check_dataset({[](std::uint64_t samples) -> std::shared_ptr<const Dataset> {
                            if (samples == 0) return concatenate({}, {});
                            const auto part = [](std::uint64_t images, int seed) {
                              return open_dataset("synthetic:classes=5,size=8,images=" + std::to_string(images) +
                                                  ",seed=" + std::to_string(seed));
                            };
                            if (samples < 3) return concatenate({part(samples, 1)}, {"a"});
                            return concatenate({part(1, 1), part(samples - 2, 2), part(1, 3)}, {"a", "b", "c"});
                          },
                          {}});
}

TEST_CASE("classes are merged by name, labels renumbered, fields put in order") {
  const auto data =
      concatenate({listed({"cat", "dog"}, {0, 1, 1}),
                   listed({"ant", "dog", "cat"}, {0, 1, 2, 0}, {{"y", FieldKind::kLabel}, {"x", FieldKind::kPixels}})},
                  {"a", "b"});
  CHECK(data->classes() == std::vector<std::string>{"cat", "dog", "ant"});
  CHECK(labels_of(*data) == Labels{0, 1, 1, 2, 1, 0, 2});
  CHECK(data->parts() == std::vector<std::uint64_t>{0, 3, 7});
  CHECK(data->location(4) == "listed record 1");
  RecordBuffer record;
  data->read(5, record);
  CHECK(record.values[0].pixels.at(0, 0, 0) == 2);
  // Several records of both parts.
  const std::vector<std::uint64_t> ids{6, 0, 3, 2, 6};
  std::vector<RecordBuffer> records(ids.size());
  data->read_many(ids, records);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(records[i].values[1].integer == labels_of(*data)[ids[i]]);
}

TEST_CASE("datasets without class names keep their label numbers") {
  CHECK(labels_of(*concatenate({listed({}, {7, 3}), listed({}, {1, 7})}, {"a", "b"})) == Labels{7, 3, 1, 7});
}

TEST_CASE("incompatible datasets are rejected by name") {
  const auto one = listed({"cat"}, {0});
  const auto both = [&](std::shared_ptr<const Dataset> other) {
    return concatenate({one, std::move(other)}, {"a", "b"});
  };
  CHECK_THROWS_WITH(both(listed({"cat"}, {0}, {{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}})),
                    Catch::Contains("mix: b holds encoded images, a does not"));
  CHECK_THROWS_WITH(both(listed({}, {0}, {{"image", FieldKind::kPixels}})),
                    Catch::Contains("mix: a has labels, b does not"));
  CHECK_THROWS_WITH(both(listed({}, {0})), Catch::Contains("mix: a names its classes, b does not"));
  CHECK_THROWS_WITH(both(listed({"cat"}, {0}, {{"label", FieldKind::kLabel}})), Catch::Contains("b has no images"));
  CHECK_THROWS_WITH(concatenate({}, {}), Catch::Contains("no source"));
  const auto wrong = both(listed({"dog"}, {4}));
  RecordBuffer record;
  CHECK_THROWS_WITH(wrong->read(1, record), Catch::Contains("listed record 0: label 4; expected 0 to 0"));
}

}  // namespace
}  // namespace unstarve
