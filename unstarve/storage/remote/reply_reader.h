#pragma once
// Reads the reply to one request of a fetch: checks headers, writes the bytes of a range and judges the result.
//
// Ownership: borrows the fetch; owns the stored body, and the bytes of a range if they are separate.
// Memory:    bytes of a range are written directly to the caller's memory; of other bodies at most 16 KiB or the
//            document's limit are stored. A body that is too long is cut off.
// Threads:   one at a time. Failure: a Verdict; std::bad_alloc.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/remote/fetch.h"

namespace unstarve::remote {

struct Verdict {
  enum class Outcome { kDone, kRetry, kFatal } outcome = Outcome::kDone;
  std::string reason;
  std::optional<std::chrono::seconds> retry_after;
  bool unreachable = false;  // no connection to the host of the URL, or of one to which it redirects
};

class ReplyReader {
 public:
  // Begins the reply with the bytes of `fetch` from `done` on. `separate`: stores them until deliver().
  void begin(Fetch& fetch, std::uint64_t done, bool separate);
  void take_header(std::string_view line) { take_header_line(line, headers_); }
  // False ends the transfer.
  [[nodiscard]] bool take_body(std::span<const std::uint8_t> bytes);

  // Whether take_body() ended the transfer because all bytes were received.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  // The verdict if it does not depend on how the transfer ends: rejected, or all bytes of the range received.
  [[nodiscard]] std::optional<Verdict> settled() const;
  // The verdict after the end of the reply. May renew the credentials of `request`. `retry_after`: of the reply.
  [[nodiscard]] Verdict verdict(const HttpRequest& request, std::optional<std::chrono::seconds> retry_after);
  // " after N of M bytes"; empty if no range was accepted.
  [[nodiscard]] std::string progress() const;
  // Bytes of the range received and checked against the pin.
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  // Copies separate bytes to the fetch; for a document, its reply and body.
  void deliver();

 private:
  bool take_range_bytes(std::span<const std::uint8_t> bytes);
  void judge_headers();
  void judge_range();
  void reject(Verdict::Outcome outcome, std::string reason);
  [[nodiscard]] Verdict verdict_of_status(std::optional<std::chrono::seconds> retry_after) const;
  [[nodiscard]] std::optional<Verdict> verdict_of_renewal(const HttpRequest& request);
  [[nodiscard]] std::uint64_t expected() const noexcept { return fetch_->length - done_; }  // 0 for a document

  enum class Body {
    kUnknown,  // the headers were not checked
    kRange,
    kOther,  // a document, or the text of an error
  };
  Fetch* fetch_ = nullptr;
  std::uint64_t done_ = 0;  // of the fetch before this reply
  ReplyHeaders headers_;
  Body body_ = Body::kUnknown;
  std::uint64_t skip_ = 0;  // bytes of a whole object before the range
  std::uint64_t received_ = 0, body_bytes_ = 0;
  ScatterWriter writer_;
  std::vector<std::uint8_t> separate_;  // empty: the caller's memory
  bool cut_ = false;
  std::optional<Verdict> rejection_;
  std::string kept_body_;
};

}  // namespace unstarve::remote
