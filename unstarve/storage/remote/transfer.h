#pragma once
// One HTTP exchange of a fetch on a libcurl easy handle: an attempt or a hedge. The only header that includes libcurl.
//
// Ownership: owns its handle, which the next start() reuses. Threads: the engine's thread only.
// Memory:    bytes of a range are written directly to the caller's memory; of other bodies at most 16 KiB or the
//            document's limit are stored. A body that is too long is cut off.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve::remote {

struct Verdict {
  enum class Outcome { kDone, kRetry, kFatal } outcome = Outcome::kDone;
  std::string reason;
  std::optional<std::chrono::seconds> retry_after;
};

class Transfer {
 public:
  explicit Transfer(const RemoteOptions& options);  // Error(kMemory) if libcurl cannot create a handle
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Prepares the handle for the bytes of `fetch` from `done` on; writes to the transfer's own memory if `separate`. The
  // caller adds easy() to its multi handle.
  void start(Fetch& fetch, std::uint64_t done, bool separate, std::chrono::milliseconds time_left);
  [[nodiscard]] CURL* easy() const noexcept { return easy_; }

  // Call after libcurl has completed the transfer.
  [[nodiscard]] Verdict verdict(CURLcode code);
  // Bytes of the range received and checked against the pin.
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  [[nodiscard]] long connections_opened() const;
  // Copies the bytes of a completed transfer `separate` to the fetch; for a document, its reply and body.
  void deliver();

 private:
  void set_constants(const RemoteOptions& options);
  void set_request();
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  bool take_body(std::span<const std::uint8_t> bytes);
  bool take_range_bytes(std::span<const std::uint8_t> bytes);
  void judge_headers();
  void judge_range();
  void reject(Verdict::Outcome outcome, std::string reason);
  [[nodiscard]] Verdict verdict_of_status() const;
  [[nodiscard]] std::optional<Verdict> verdict_of_renewal();
  [[nodiscard]] bool complete() const noexcept { return accepted_ && received_ == wanted_; }

  CURL* easy_;
  curl_slist* header_list_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  ReplyHeaders headers_;

  Fetch* fetch_ = nullptr;
  HttpRequest request_;
  std::uint64_t done_ = 0;    // of the fetch before this transfer
  std::uint64_t wanted_ = 0;  // from then on; 0 for a document
  std::uint64_t skip_ = 0;    // bytes of a whole object before the range
  std::uint64_t received_ = 0, body_bytes_ = 0;
  ScatterWriter writer_;
  std::vector<std::uint8_t> separate_;
  bool is_separate_ = false;
  bool judged_ = false;    // the headers were checked
  bool accepted_ = false;  // and the body has the range
  bool cut_ = false;       // ended early because all bytes were received
  std::optional<Verdict> rejection_;
  std::string kept_body_;
};

}  // namespace unstarve::remote
