#pragma once
// What the engine is asked to bring: a range of a pinned object into the caller's memory, or a small document.
//
// Plain data that the caller keeps alive, with the memory it points to, until Engine::fetch() returns.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/http_request.h"

namespace unstarve::remote {

struct Fetch {
  std::string action;  // "read", "open", "list": begins the message of an Error
  std::string name;    // the URL without secrets
  // Makes the request for bytes [first, first + length), signed now; called once per attempt. A document's request has
  // neither. Errors it throws end the fetch.
  std::function<HttpRequest(std::uint64_t first, std::uint64_t length)> make_request;

  // A range: `pin` is set, and the lengths of `out` add up to `length`, which is not 0.
  const ObjectPin* pin = nullptr;
  std::uint64_t first = 0, length = 0;
  std::vector<std::span<std::uint8_t>> out;

  // A document: any status that is no reason to try again is an answer. A body longer than the limit is cut off there.
  std::size_t document_limit = 0;
  ReplyHeaders reply;
  std::string body;
};

// Writes one after the other into several spans.
class ScatterWriter {
 public:
  ScatterWriter() = default;
  // Begins `offset` bytes into the spans.
  ScatterWriter(std::vector<std::span<std::uint8_t>> spans, std::uint64_t offset);
  // Precondition: it fits.
  void write(std::span<const std::uint8_t> bytes);

 private:
  std::vector<std::span<std::uint8_t>> spans_;
  std::size_t current_ = 0;
  std::size_t filled_ = 0;  // of spans_[current_]
};

// What one request brings: ranges that follow each other in the object (and in the list of those wanted) share one of
// up
// to `join_bytes`; a range longer than `split_bytes` takes several; an empty one takes none.
struct PlannedRange {
  std::uint64_t first = 0, length = 0;
  std::vector<std::span<std::uint8_t>> out;
};
[[nodiscard]] std::vector<PlannedRange> plan_ranges(std::span<const ReadRange> wanted, std::uint64_t split_bytes,
                                                    std::uint64_t join_bytes);

}  // namespace unstarve::remote
