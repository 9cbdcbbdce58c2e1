#include "unstarve/storage/remote/transfer.h"

#include <algorithm>
#include <new>

#include "unstarve/core/format_error.h"

namespace unstarve::remote {
namespace {

using Outcome = Verdict::Outcome;

constexpr long kStallBytesPerSecond = 1000;
// libcurl's largest is 512 KiB; fewer, larger writes cost less at 64 connections than the default of 16 KiB.
constexpr long kReceiveBuffer = 256 << 10;

bool is_worth_another_try(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return true;
    default: return false;
  }
}

// Whether no connection was made. `connected`: the request could be sent, by this or an earlier redirect.
bool is_unreachable(CURLcode code, bool connected) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return true;
    case CURLE_OPERATION_TIMEDOUT: return !connected;
    default: return false;
  }
}

void set(CURLcode code) {
  if (code != CURLE_OK) throw internal_error("libcurl rejects an option: {}", curl_easy_strerror(code));
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* reply) {
  try {
    static_cast<ReplyReader*>(reply)->take_header(std::string_view(data, size * count));
    return size * count;
  } catch (const std::exception&) {
    return 0;  // out of memory: libcurl reports CURLE_WRITE_ERROR
  }
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* reply) noexcept {
  try {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(data), size * count);
    return static_cast<ReplyReader*>(reply)->take_body(bytes) ? size * count : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

Transfer::Transfer(const RemoteOptions& options) : easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw memory_error("libcurl: no handle for a transfer");
  try {
    set_constants(options);
  } catch (...) {
    curl_easy_cleanup(easy_);
    throw;
  }
}

Transfer::~Transfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(header_list_);
}

void Transfer::start(Fetch& fetch, std::uint64_t done, bool separate, std::chrono::milliseconds time_left) {
  reply_.begin(fetch, done, separate);
  error_text_[0] = '\0';
  request_ = fetch.make_request(fetch.first + done, fetch.length - done);
  set_request();
  set(curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, separate ? 1L : 0L));
  set(curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(time_left.count()))));
}

// Options common to all requests. Set once, without curl_easy_reset() later: libcurl rejects a new buffer size while a
// used handle has a buffer.
void Transfer::set_constants(const RemoteOptions& options) {
  set(curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L));  // "a/../b" is a valid key and is signed unchanged
  set(curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https"));
  set(curl_easy_setopt(easy_, CURLOPT_MAXREDIRS, 5L));
  set(curl_easy_setopt(easy_, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC)));
  set(curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS)));
  if (!options.ca_bundle.empty()) set(curl_easy_setopt(easy_, CURLOPT_CAINFO, options.ca_bundle.c_str()));
  set(curl_easy_setopt(easy_, CURLOPT_USERAGENT, "unstarve"));
  set(curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L));
  set(curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L));
  set(curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, kReceiveBuffer));
  set(curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count())));
  set(curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond));
  set(curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count())));
  set(curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_text_));
  set(curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &on_header));
  set(curl_easy_setopt(easy_, CURLOPT_HEADERDATA, &reply_));
  set(curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &on_body));
  set(curl_easy_setopt(easy_, CURLOPT_WRITEDATA, &reply_));
}

void Transfer::set_request() {
  set(curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr));
  curl_slist_free_all(header_list_);
  header_list_ = nullptr;
  for (const auto& [name, value] : request_.headers) {
    curl_slist* longer = curl_slist_append(header_list_, (name + ": " + value).c_str());
    if (longer == nullptr) throw std::bad_alloc();
    header_list_ = longer;
  }
  set(curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_));
  set(curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str()));
  const bool tls = request_.url.rfind("https:", 0) == 0;
  set(curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, request_.follow_redirects ? 1L : 0L));
  set(curl_easy_setopt(easy_, CURLOPT_REDIR_PROTOCOLS_STR, tls ? "https" : "http,https"));
  const std::string& user = request_.user;
  const std::size_t colon = std::min(user.find(':'), user.size());
  const std::string name = user.substr(0, colon), password = user.substr(std::min(colon + 1, user.size()));
  set(curl_easy_setopt(easy_, CURLOPT_USERNAME, user.empty() ? nullptr : name.c_str()));
  set(curl_easy_setopt(easy_, CURLOPT_PASSWORD, user.empty() ? nullptr : password.c_str()));
}

Verdict Transfer::verdict(CURLcode code) {
  if (code == CURLE_OK || (reply_.cut() && code == CURLE_WRITE_ERROR)) {
    curl_off_t seconds = 0;
    const bool known = curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0;
    return reply_.verdict(request_, known ? std::optional(std::chrono::seconds(seconds)) : std::nullopt);
  }
  if (const auto settled = reply_.settled()) return *settled;
  if (code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY) return {Outcome::kFatal, "out of memory", std::nullopt};
  const std::string text = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
  curl_off_t connected_us = 0;
  set(curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &connected_us));
  return {is_worth_another_try(code) ? Outcome::kRetry : Outcome::kFatal, text + reply_.progress(), std::nullopt,
          is_unreachable(code, connected_us > 0)};
}

long Transfer::connections_opened() const {
  long count = 0;
  set(curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &count));
  return count;
}

}  // namespace unstarve::remote
