#pragma once
// One HTTP exchange of a fetch on a libcurl easy handle: an attempt or a hedge. The only header that includes libcurl.
//
// Ownership: owns its handle, which the next start() reuses. Threads: the engine's thread only.
// Failure:   Error(kInternal) if libcurl rejects an option, and what Fetch::make_request throws.

#include <chrono>
#include <cstdint>

#include <curl/curl.h>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/remote/reply_reader.h"

namespace unstarve::remote {

class Transfer {
 public:
  explicit Transfer(const RemoteOptions& options);  // Error(kMemory) if libcurl cannot create a handle
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Prepares the handle for the bytes of `fetch` from `done` on; they are stored until deliver() if `separate`. The
  // caller adds easy() to its multi handle.
  void start(Fetch& fetch, std::uint64_t done, bool separate, std::chrono::milliseconds time_left);
  [[nodiscard]] CURL* easy() const noexcept { return easy_; }

  // Call after libcurl has completed the transfer.
  [[nodiscard]] Verdict verdict(CURLcode code);
  [[nodiscard]] const ReplyReader& reply() const noexcept { return reply_; }
  [[nodiscard]] long connections_opened() const;
  void deliver() { reply_.deliver(); }

 private:
  void set_constants(const RemoteOptions& options);
  void set_request();

  CURL* easy_;
  curl_slist* header_list_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  HttpRequest request_;
  ReplyReader reply_;
};

}  // namespace unstarve::remote
