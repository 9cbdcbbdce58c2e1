#pragma once
// One remote object as a ByteSource: plans the requests for ranges, reads the disk cache first, then the engine.
//
// Threads, failure: as ByteSource.

#include <functional>
#include <memory>
#include <string>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/disk_cache.h"
#include "unstarve/storage/remote/engine.h"

namespace unstarve::remote {

class RemoteSource final : public ByteSource {
 public:
  // Returns the request for bytes [first, first + length) of the object.
  using MakeRequest = std::function<HttpRequest(std::uint64_t first, std::uint64_t length)>;

  // `cached` may be null.
  RemoteSource(std::string name, ObjectPin pin, MakeRequest make_request, std::shared_ptr<Engine> engine,
               std::unique_ptr<DiskCache::Object> cached, std::uint64_t split_bytes, std::uint64_t join_bytes);

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return pin_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  void read_many(std::span<const ReadRange> ranges) const override;

 private:
  void fetch(std::span<const ReadRange> ranges) const;

  std::string name_;
  ObjectPin pin_;
  SourceStamp stamp_;
  MakeRequest make_request_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<DiskCache::Object> cached_;
  std::uint64_t split_bytes_, join_bytes_;
};

}  // namespace unstarve::remote
