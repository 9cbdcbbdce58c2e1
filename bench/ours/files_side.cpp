#include "bench/ours/files_side.h"

#include "unstarve/codecs/decoder.h"
#include "unstarve/jobs/common/make_scan_index.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {

FilesSide::FilesSide(const Job& job) : threads_(job.at("cores")) {
  const auto data = open_dataset(job.at("data"));
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data->size(); ++id) {
    data->read(id, record);
    const auto bytes = record.values.at(static_cast<std::size_t>(data->field_index(FieldKind::kEncodedImage))).bytes;
    files_.emplace_back(bytes.begin(), bytes.end());
  }
  next_.resize(static_cast<std::size_t>(threads_));
  for (std::size_t i = 0; i < next_.size(); ++i) next_[i] = files_.size() * i / next_.size();
}

std::size_t FilesSide::advance(int thread) {
  std::size_t& next = next_[static_cast<std::size_t>(thread)];
  const std::size_t current = next;
  next = next + 1 < files_.size() ? next + 1 : 0;
  return current;
}

std::vector<std::vector<std::uint8_t>> FilesSide::scan_indexes() const {
  std::vector<std::vector<std::uint8_t>> indexes;
  Decoder decoder;
  Image pixel;
  for (const auto& file : files_) {
    decoder.open(file);
    const auto index = make_scan_index(decoder, pixel);
    indexes.emplace_back(index.begin(), index.end());
  }
  return indexes;
}

}  // namespace unstarve::bench
