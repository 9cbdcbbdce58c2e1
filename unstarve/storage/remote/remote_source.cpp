#include "unstarve/storage/remote/remote_source.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/remote/held_memory.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

std::string range_value(std::uint64_t first, std::uint64_t length) {
  return fmt::format("bytes={}-{}", first, first + length - 1);
}

SourceStamp stamp_of(const ObjectPin& pin) {
  const std::string& text = pin.etag.empty() ? pin.last_modified : pin.etag;
  if (text.empty()) return {pin.bytes, 0};
  return {pin.bytes, load_little<std::int64_t>(sha256(text).data())};
}

// The bytes of an object from a server that ignores ranges; without memory if it is too large.
struct WholeObject {
  std::mutex mutex{};  // while it is read
  bool tried = false;
  std::optional<HeldMemory> memory{};
  std::vector<std::uint8_t> bytes{};
};

// One remote object: reads the disk cache first, then the engine.
class RemoteSource final : public ByteSource {
 public:
  RemoteSource(ObjectAddress object, ObjectPin pin, const RemoteOptions& options,
               std::shared_ptr<const EngineOfProcess> engine, const std::shared_ptr<const CacheOfProcess>& cache)
      : object_(std::move(object)),
        name_(object_.url.display_name()),
        pin_(std::move(pin)),
        stamp_(stamp_of(pin_)),
        split_bytes_(options.split_bytes),
        join_bytes_(options.join_bytes),
        held_bytes_(options.held_bytes),
        engine_(std::move(engine)) {
    if (!object_.ranges) whole_.emplace([] { return std::make_unique<WholeObject>(); });
    const std::string& version = pin_.etag.empty() ? pin_.last_modified : pin_.etag;
    if (!cache || version.empty()) return;
    const std::string identity = fmt::format("{}\n{}\n{}", object_.address(), pin_.bytes, version);
    cached_.emplace([cache, identity] { return std::make_unique<DiskCache::Object>(cache->get(), identity); });
  }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return pin_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }

  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    const std::array<ReadRange, 1> one{{{offset, out}}};
    read_many(one);
  }

  void read_many(std::span<const ReadRange> ranges) const override {
    for (const ReadRange& range : ranges) check_range(*this, range.offset, range.out.size());
    if (!cached_) return fetch(ranges);
    DiskCache::Object& cached = cached_->get();
    std::vector<ReadRange> missing;
    for (const ReadRange& range : ranges) {
      const std::vector<ReadRange> rest = cached.read(range);
      missing.insert(missing.end(), rest.begin(), rest.end());
    }
    fetch(missing);
    for (const ReadRange& range : missing) cached.store(range.offset, range.out);
  }

 private:
  [[nodiscard]] Fetch fetch_of(PlannedRange part) const {
    Fetch fetch;
    fetch.action = "read";
    fetch.name = name_;
    fetch.make_request = [this](std::uint64_t first, std::uint64_t length) {
      return object_.request(first, length, pin_.strong() ? pin_.etag : "");
    };
    fetch.renew = renew_by(object_.client);
    fetch.pin = &pin_;
    fetch.first = part.first;
    fetch.length = part.length;
    fetch.out = std::move(part.out);
    return fetch;
  }

  void fetch(std::span<const ReadRange> ranges) const {
    std::vector<PlannedRange> parts = plan_ranges(ranges, split_bytes_, join_bytes_);
    if (parts.empty()) return;
    if (const std::vector<std::uint8_t>* const bytes = whole_ ? whole() : nullptr) {
      for (const ReadRange& range : ranges)
        std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(range.offset), range.out.size(), range.out.begin());
      return;
    }
    std::vector<Fetch> fetches;
    fetches.reserve(parts.size());
    for (PlannedRange& part : parts) fetches.push_back(fetch_of(std::move(part)));
    engine_->get().fetch(fetches);
  }

  // All bytes, read by the first call; null if they are too many.
  [[nodiscard]] const std::vector<std::uint8_t>* whole() const {
    WholeObject& held = whole_->get();
    const std::lock_guard lock(held.mutex);
    if (held.tried) return held.memory ? &held.bytes : nullptr;
    std::optional<HeldMemory> memory;
    if (pin_.bytes <= kHeldObjectBytes) memory = HeldMemory::reserve(pin_.bytes, held_bytes_);
    report_held(name_, memory ? HeldCase::kNoRanges : HeldCase::kTooLarge, held_bytes_);
    if (memory) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(pin_.bytes));
      Fetch all = fetch_of({0, pin_.bytes, {std::span(bytes)}});
      engine_->get().fetch(std::span(&all, 1));
      held.bytes = std::move(bytes);
    }
    held.tried = true;
    held.memory = std::move(memory);
    return held.memory ? &held.bytes : nullptr;
  }

  ObjectAddress object_;
  std::string name_;
  ObjectPin pin_;
  SourceStamp stamp_;
  std::uint64_t split_bytes_, join_bytes_, held_bytes_;
  std::shared_ptr<const EngineOfProcess> engine_;
  std::optional<PerProcess<DiskCache::Object>> cached_;
  std::optional<PerProcess<WholeObject>> whole_;  // with a server that ignores ranges
};

}  // namespace

HttpRequest ObjectAddress::request(std::uint64_t first, std::uint64_t length, const std::string& etag) const {
  std::vector<NameValue> headers;
  if (length != 0) headers.emplace_back("Range", range_value(first, length));
  if (!etag.empty()) headers.emplace_back("If-Match", etag);
  if (client != nullptr) return client->request(url.bucket, url.key, std::move(headers), region);
  // Without this a proxy may compress the body, which breaks ranges. Not for buckets: some proxies change the header,
  // which invalidates the signature.
  headers.emplace_back("Accept-Encoding", "identity");
  return {url.request_url(), std::move(headers), url.user, true};
}

std::string ObjectAddress::address() const {
  return client != nullptr ? client->url_of(url.bucket, url.key, region) : url.request_url();
}

decltype(Fetch::renew) renew_by(const std::shared_ptr<BucketClient>& client) {
  if (client == nullptr) return {};
  return [client = client.get()](const HttpRequest& request, long status, const std::string& reason) {
    return client->renew(request, status, reason);
  };
}

std::shared_ptr<const ByteSource> remote_source(ObjectAddress object, ObjectPin pin, const RemoteOptions& options,
                                                std::shared_ptr<const EngineOfProcess> engine,
                                                const std::shared_ptr<const CacheOfProcess>& cache) {
  return std::make_shared<RemoteSource>(std::move(object), std::move(pin), options, std::move(engine), cache);
}

}  // namespace unstarve::remote
