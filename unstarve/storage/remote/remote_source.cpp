#include "unstarve/storage/remote/remote_source.h"

#include <array>

#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve::remote {
namespace {

SourceStamp stamp_of(const ObjectPin& pin) {
  const std::string& text = pin.etag.empty() ? pin.last_modified : pin.etag;
  if (text.empty()) return {pin.bytes, 0};
  return {pin.bytes, load_little<std::int64_t>(sha256(text).data())};
}

}  // namespace

RemoteSource::RemoteSource(std::string name, ObjectPin pin, MakeRequest make_request, std::shared_ptr<Engine> engine,
                           std::unique_ptr<DiskCache::Object> cached, std::uint64_t split_bytes,
                           std::uint64_t join_bytes)
    : name_(std::move(name)),
      pin_(std::move(pin)),
      stamp_(stamp_of(pin_)),
      make_request_(std::move(make_request)),
      engine_(std::move(engine)),
      cached_(std::move(cached)),
      split_bytes_(split_bytes),
      join_bytes_(join_bytes) {}

void RemoteSource::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  const std::array<ReadRange, 1> one{{{offset, out}}};
  read_many(one);
}

void RemoteSource::read_many(std::span<const ReadRange> ranges) const {
  for (const ReadRange& range : ranges) check_range(*this, range.offset, range.out.size());
  if (!cached_) return fetch(ranges);
  std::vector<ReadRange> missing;
  for (const ReadRange& range : ranges) {
    const std::vector<ReadRange> rest = cached_->read(range);
    missing.insert(missing.end(), rest.begin(), rest.end());
  }
  fetch(missing);
  for (const ReadRange& range : missing) cached_->store(range.offset, range.out);
}

void RemoteSource::fetch(std::span<const ReadRange> ranges) const {
  std::vector<Fetch> fetches;
  for (PlannedRange& part : plan_ranges(ranges, split_bytes_, join_bytes_)) {
    Fetch fetch;
    fetch.action = "read";
    fetch.name = name_;
    fetch.make_request = make_request_;
    fetch.pin = &pin_;
    fetch.first = part.first;
    fetch.length = part.length;
    fetch.out = std::move(part.out);
    fetches.push_back(std::move(fetch));
  }
  engine_->fetch(fetches);
}

}  // namespace unstarve::remote
