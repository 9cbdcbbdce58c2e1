#pragma once
// The conformance suite of Dataset: each format calls check_dataset() from its own test file.
//
// Include from test files only (Catch2).

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/memory/cache_fetch.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_files.h"

namespace unstarve::testing {

struct DatasetUnderTest {
  // Makes a dataset of `samples` samples, the same data for the same number. Must throw Error for 0.
  std::function<std::shared_ptr<const Dataset>(std::uint64_t samples)> make;
  // Damages the stored record `id` of the latest dataset from make(); empty for datasets in memory. Reading the record
  // must then throw Error(kIo) or Error(kInput) with the returned text, and its neighbours must be readable.
  std::function<std::string(std::uint64_t id)> damage;
  bool labels = true;  // false: the format has none
};

// A copy of one record, for comparisons.
struct RecordCopy {
  std::vector<std::uint8_t> image;
  std::int64_t label = -1;
  friend bool operator==(const RecordCopy&, const RecordCopy&) = default;
};

inline RecordCopy copy_of(const Dataset& data, const RecordBuffer& record) {
  RecordCopy copy;
  const int encoded = data.field_index(FieldKind::kEncodedImage);
  if (encoded >= 0) {
    const auto bytes = record.values.at(static_cast<std::size_t>(encoded)).bytes;
    copy.image.assign(bytes.begin(), bytes.end());
  } else {
    const PixelView& view = record.values.at(static_cast<std::size_t>(data.field_index(FieldKind::kPixels))).pixels;
    for (int y = 0; y < view.height; ++y) {
      for (int x = 0; x < view.width; ++x) {
        for (int c = 0; c < kChannels; ++c) copy.image.push_back(view.at(x, y, c));
      }
    }
  }
  const int label = data.field_index(FieldKind::kLabel);
  if (label >= 0) copy.label = record.values.at(static_cast<std::size_t>(label)).integer;
  return copy;
}

// The size from the image itself.
inline Size read_size(const Dataset& data, std::uint64_t id, RecordBuffer& record) {
  data.read(id, record);
  const int encoded = data.field_index(FieldKind::kEncodedImage);
  if (encoded < 0)
    return record.values.at(static_cast<std::size_t>(data.field_index(FieldKind::kPixels))).pixels.size();
  Decoder decoder;
  return decoder.open(record.values.at(static_cast<std::size_t>(encoded)).bytes).size;
}

inline RecordCopy read_copy(const Dataset& data, std::uint64_t id, RecordBuffer& record) {
  data.read(id, record);
  return copy_of(data, record);
}

inline std::vector<RecordCopy> read_all(const Dataset& data) {
  std::vector<RecordCopy> records;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    RecordBuffer fresh;
    records.push_back(read_copy(data, id, fresh));
  }
  return records;
}

// Each reader reads all records, beginning at a different one, with one buffer.
inline void check_concurrent_reads(const Dataset& data, const std::vector<RecordCopy>& expected) {
  std::atomic<int> wrong{0};
  std::vector<std::jthread> readers;
  for (std::size_t reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      RecordBuffer record;
      for (std::size_t step = 0; step < expected.size(); ++step) {
        const std::size_t id = (step * (reader % 2 == 0 ? 1 : expected.size() - 1) + reader * 3) % expected.size();
        try {
          if (read_copy(data, id, record) != expected[id]) ++wrong;
        } catch (const std::exception&) {
          ++wrong;
        }
      }
    });
  }
  readers.clear();
  CHECK(wrong == 0);
}

// Locations are unique, and within a file the number increases with the offset.
inline void check_locations(const Dataset& data) {
  std::set<std::string> texts;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> offset_of_number;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    const RecordLocation location = data.record_location(id);
    CHECK_FALSE(location.file.empty());
    CHECK((location.member.empty() || location.number.has_value()));
    CHECK((location.list.empty() || !location.offset.has_value()));
    if (location.number && location.list.empty())
      CHECK(
          offset_of_number[location.file].emplace(*location.number, location.offset.value_or(*location.number)).second);
    texts.insert(data.location(id));
  }
  CHECK(texts.size() == data.size());
  for (const auto& [file, offsets] : offset_of_number) {
    std::uint64_t begin = 0;
    for (const auto& [number, offset] : offsets) {
      CHECK((number == 0 || offset > begin));
      begin = offset;
    }
  }
}

inline void check_records(const Dataset& data, std::uint64_t samples, bool labels = true) {
  REQUIRE(data.size() == samples);
  REQUIRE((data.field_index(FieldKind::kEncodedImage) >= 0) != (data.field_index(FieldKind::kPixels) >= 0));
  REQUIRE((data.field_index(FieldKind::kLabel) >= 0) == labels);
  CHECK_FALSE(data.format().empty());
  for (std::uint64_t id = 0; id < samples; ++id) {
    RecordBuffer record;
    const RecordCopy copy = read_copy(data, id, record);
    CHECK(record.values.size() == data.fields().size());
    CHECK_FALSE(copy.image.empty());
    CHECK((copy.label >= 0) == labels);
    CHECK(copy.label < static_cast<std::int64_t>(data.classes().size()));
  }
  check_locations(data);
}

inline void check_damage(const DatasetUnderTest& test, std::uint64_t samples) {
  const std::shared_ptr<const Dataset> data = test.make(samples);
  const std::vector<RecordCopy> before = read_all(*data);
  const std::uint64_t id = samples / 2;
  const std::string named = test.damage(id);
  RecordBuffer record;
  std::optional<Error> error;
  try {
    data->read(id, record);
  } catch (const Error& thrown) {
    error = thrown;
  }
  REQUIRE(error.has_value());
  CHECK((error->kind() == ErrorKind::kIo || error->kind() == ErrorKind::kInput));
  CHECK_THAT(error->what(), Catch::Contains(named) && Catch::Contains(data->record_location(id).file));
  // The same buffer is reused, as a worker does under the skip policy.
  CHECK(read_copy(*data, id - 1, record) == before[id - 1]);
  CHECK(read_copy(*data, id + 1, record) == before[id + 1]);
}

// Truncates `file`, one of the files that `open` opens, at every byte: open() throws Error, or each record is unchanged
// or throws Error. For data with numeric labels: losing class names would renumber the others. `least`: the shortest
// length, if less would be a different valid file.
inline void check_truncated_anywhere(const std::filesystem::path& file,
                                     const std::function<std::shared_ptr<const Dataset>()>& open,
                                     std::size_t least = 0) {
  const std::vector<RecordCopy> expected = read_all(*open());
  const std::string whole = read_text_file(file);
  std::uint64_t rejected = 0;
  for (std::size_t length = whole.size(); length-- > least;) {
    std::filesystem::resize_file(file, length);
    INFO(file.string() << " cut to " << length << " of " << whole.size() << " bytes");
    RecordBuffer record;
    std::uint64_t id = 0;
    const auto expect_error = [&](const auto& work) {
      try {
        work();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kIo && error.kind() != ErrorKind::kInput) throw;
        ++rejected;
      }
    };
    expect_error([&] {
      const std::shared_ptr<const Dataset> data = open();
      for (; id < data->size(); ++id)
        expect_error([&] {
          const RecordCopy copy = read_copy(*data, id, record);
          if (id >= expected.size() || copy != expected[id]) FAIL("record " << id << " differs");
        });
    });
  }
  write_file_atomically(file, whole, Durability::kRenamed);
  CHECK(rejected > 0);
  CHECK(read_all(*open()) == expected);
}

inline void check_dataset(const DatasetUnderTest& test, std::uint64_t many = 23) {
  CHECK_THROWS_AS(test.make(0), Error);
  check_records(*test.make(1), 1, test.labels);

  const std::shared_ptr<const Dataset> data = test.make(many);
  check_records(*data, many, test.labels);
  const std::vector<RecordCopy> expected = read_all(*data);
  CHECK(std::count(expected.begin(), expected.end(), expected[0]) == 1);  // records are distinct

  // A reused buffer, ids out of order.
  std::vector<std::uint64_t> ids(many);
  std::iota(ids.begin(), ids.end(), 0);
  std::reverse(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(many / 2));
  RecordBuffer reused;
  for (const std::uint64_t id : ids) CHECK(read_copy(*data, id, reused) == expected[id]);

  // A hint does not affect the next read.
  for (const std::uint64_t id : ids) {
    CacheFetch(data->prefetch(id)).finish();
    CHECK(read_copy(*data, ids.front(), reused) == expected[ids.front()]);
  }

  // Labels in an index equal those of the records.
  for (std::uint64_t id = 0; id < many; ++id)
    CHECK(data->known_label(id).value_or(expected[id].label) == expected[id].label);
  CHECK(data->parts().back() == many);
  for (std::uint64_t id = 0; id < many; ++id)
    if (const auto size = data->known_size(id)) CHECK(*size == read_size(*data, id, reused));

  // An index built by a pass over the shards has all labels, and the sizes of all recognised images.
  const bool indexed = dynamic_cast<const RecordFiles*>(data.get()) != nullptr;
  const bool pixels = data->field_index(FieldKind::kPixels) >= 0;
  for (std::uint64_t id = 0; id < many && indexed; ++id) {
    CHECK(data->known_label(id) == expected[id].label);
    CHECK((data->known_size(id).has_value() || (!pixels && detect_encoding(expected[id].image) == Encoding::kUnknown)));
  }

  // read_many() equals read(), also for a repeated id.
  ids.push_back(ids.front());
  std::vector<RecordBuffer> records(ids.size());
  data->read_many(ids, records);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(copy_of(*data, records[i]) == expected[ids[i]]);
  data->read_many({}, {});

  check_concurrent_reads(*data, expected);

  // Opened again, ids have the same records and locations.
  const std::shared_ptr<const Dataset> again = test.make(many);
  CHECK(read_all(*again) == expected);
  CHECK(again->classes() == data->classes());
  for (std::uint64_t id = 0; id < many; ++id) CHECK(again->record_location(id) == data->record_location(id));

  if (test.damage) check_damage(test, many);
}

}  // namespace unstarve::testing
