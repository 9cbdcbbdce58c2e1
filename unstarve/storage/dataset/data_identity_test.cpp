#include "unstarve/storage/dataset/data_identity.h"

#include <catch2/catch.hpp>

#include "unstarve/storage/dataset/concatenated.h"

namespace unstarve {
namespace {

// Records are files in class folders, or are stored in shards of `each` records.
class NamedSet final : public Dataset {
 public:
  std::string root = "/data";
  std::string shard;  // its name; empty: a file for each record
  std::string kind = "image folder";
  std::uint64_t count = 100, each = 10;
  std::vector<std::string> names{"cat", "dog"};
  std::string prefix{};

  std::string format() const override { return kind; }
  std::uint64_t size() const override { return count; }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return names; }
  std::uint64_t stored_bytes() const override { return 0; }
  std::vector<DataFile> files() const override {
    std::vector<DataFile> files;
    for (std::uint64_t first = 0; !shard.empty() && first < count; first += each)
      files.push_back({root + "/" + shard + std::to_string(first / each), first});
    return files;
  }
  RecordLocation record_location(std::uint64_t id) const override {
    if (shard.empty()) return {.file = root + "/" + names[id % 2] + "/" + prefix + std::to_string(id)};
    return {.file = files()[id / each].path, .number = id % each, .offset = id % each * 512};
  }
  void read(std::uint64_t, RecordBuffer&) const override {}

 private:
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}};
};

TEST_CASE("the identity does not depend on the folder, and a different one names what differs") {
  const NamedSet folder;
  const std::uint64_t identity = data_identity(folder);
  const auto differs = [&](const NamedSet& other) { return identities_differ_in(data_identity(other), identity); };
  NamedSet other;
  CHECK(differs(other).empty());
  other.root = "s3://bucket/deep/er";
  CHECK(differs(other).empty());
  other.kind = "manifest";
  CHECK(differs(other) == "format");
  other = {};
  other.prefix = "new-";
  CHECK(differs(other) == "names or order of shards and records");
  other = {};
  other.names = {"cat", "cow"};
  CHECK(differs(other) == "class names, names or order of shards and records");
  other = {};
  other.count = 101;
  CHECK(differs(other).find("sizes of the sources") != std::string::npos);
}

TEST_CASE("the identity of shards depends on their names and record counts") {
  NamedSet shards;
  shards.shard = "x-";
  const std::uint64_t identity = data_identity(shards);
  NamedSet other = shards;
  other.root = "https://host/elsewhere";
  CHECK(data_identity(other) == identity);
  other = shards;
  other.each = 20;
  CHECK(data_identity(other) != identity);
  other = shards;
  other.shard = "y-";
  CHECK(identities_differ_in(data_identity(other), identity) == "names or order of shards and records");
}

TEST_CASE("the identity depends on the order of sources of equal sizes") {
  const auto cats = std::make_shared<NamedSet>();
  const auto cows = std::make_shared<NamedSet>();
  cows->prefix = "cow-";
  const auto one = concatenate({cats, cows}, {"a", "b"}), other = concatenate({cows, cats}, {"a", "b"});
  CHECK(data_identity(*one) == data_identity(*concatenate({cats, cows}, {"a", "b"})));
  CHECK(identities_differ_in(data_identity(*one), data_identity(*other)) == "names or order of shards and records");
  CHECK(data_identity(*one) != data_identity(*cats));
}

}  // namespace
}  // namespace unstarve
