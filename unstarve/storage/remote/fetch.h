#pragma once
// A request to the engine: a range of a pinned object into the caller's memory, or a small document.
//
// Plain data; the caller keeps it and its memory alive until Engine::fetch() returns.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/http/http_request.h"

namespace unstarve::remote {

// Whether credentials that a server rejected were renewed; the reason if that failed.
struct Renewal {
  bool renewed = false;
  std::string failure{};
};

struct Fetch {
  std::string action;  // "read", "open", "list": begins the message of an Error
  std::string name;    // the URL without secrets
  // Returns the request for bytes [first, first + length), signed now; called once per attempt. For a document both are
  // unused. An Error that it throws ends the fetch.
  std::function<HttpRequest(std::uint64_t first, std::uint64_t length)> make_request;

  // Called for a reply with a status from 400 on, with the server's text, until it has renewed the credentials: another
  // attempt is made then. Does not throw an Error.
  std::function<Renewal(const HttpRequest& request, long status, const std::string& reason)> renew{};
  bool renewed = false;

  // The kind of the Error if no connection to the host can be made.
  ErrorKind unreachable = ErrorKind::kIo;

  // A range: `pin` is set, and the lengths of `out` add up to `length`, which is not 0.
  const ObjectPin* pin = nullptr;
  std::uint64_t first = 0, length = 0;
  std::vector<std::span<std::uint8_t>> out;

  // A document: any status that does not cause a retry is a reply. A longer body is cut off at the limit.
  std::size_t document_limit = 0;
  ReplyHeaders reply;
  std::string body;
};

// Writes a stream of bytes into consecutive spans.
class ScatterWriter {
 public:
  ScatterWriter() = default;
  // Starts at byte `offset` of the spans.
  ScatterWriter(std::vector<std::span<std::uint8_t>> spans, std::uint64_t offset);
  // Precondition: it fits.
  void write(std::span<const std::uint8_t> bytes);

 private:
  std::vector<std::span<std::uint8_t>> spans_;
  std::size_t current_ = 0;
  std::size_t filled_ = 0;  // of spans_[current_]
};

// One request: adjacent ranges (in the object and in the list) share a request of up to `join_bytes`; a range longer
// than `split_bytes` has several requests; an empty one has none.
struct PlannedRange {
  std::uint64_t first = 0, length = 0;
  std::vector<std::span<std::uint8_t>> out;
};
[[nodiscard]] std::vector<PlannedRange> plan_ranges(std::span<const ReadRange> ranges, std::uint64_t split_bytes,
                                                    std::uint64_t join_bytes);

}  // namespace unstarve::remote
