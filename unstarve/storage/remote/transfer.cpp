#include "unstarve/storage/remote/transfer.h"

#include <algorithm>
#include <new>

#include "unstarve/storage/remote/bucket_xml.h"

namespace unstarve::remote {
namespace {

using Outcome = Verdict::Outcome;

constexpr std::size_t kErrorBodyLimit = 16 << 10;
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

bool is_worth_another_try(long status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

void set(CURLcode code) {
  if (code != CURLE_OK)
    throw Error(ErrorKind::kInternal, std::string("libcurl rejects an option: ") + curl_easy_strerror(code));
}

}  // namespace

Transfer::Transfer(const RemoteOptions& options) : easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw Error(ErrorKind::kMemory, "libcurl: no handle for a transfer");
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
  fetch_ = &fetch;
  done_ = done;
  wanted_ = fetch.length - done;
  received_ = body_bytes_ = skip_ = 0;
  is_separate_ = separate;
  judged_ = accepted_ = cut_ = false;
  rejection_.reset();
  kept_body_.clear();
  headers_ = {};
  error_text_[0] = '\0';
  if (separate) separate_.resize(static_cast<std::size_t>(wanted_));
  writer_ = separate ? ScatterWriter({std::span(separate_)}, 0) : ScatterWriter(fetch.out, done);

  request_ = fetch.make_request(fetch.first + done, wanted_);
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
  set(curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::on_header));
  set(curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this));
  set(curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::on_body));
  set(curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this));
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

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  try {
    take_header_line(std::string_view(data, size * count), static_cast<Transfer*>(self)->headers_);
    return size * count;
  } catch (const std::exception&) {
    return 0;  // out of memory: libcurl reports CURLE_WRITE_ERROR
  }
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  try {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(data), size * count);
    return static_cast<Transfer*>(self)->take_body(bytes) ? size * count : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

// False ends the transfer.
bool Transfer::take_body(std::span<const std::uint8_t> bytes) {
  body_bytes_ += bytes.size();
  judge_headers();
  if (accepted_) return take_range_bytes(bytes);
  const bool is_document = fetch_->pin == nullptr;
  const std::size_t limit = is_document ? std::max(fetch_->document_limit, kErrorBodyLimit) : kErrorBodyLimit;
  const std::size_t used_limit = is_document && headers_.status / 100 == 2 ? fetch_->document_limit : limit;
  const std::size_t count = std::min(bytes.size(), used_limit - std::min(used_limit, kept_body_.size()));
  kept_body_.append(reinterpret_cast<const char*>(bytes.data()), count);
  cut_ = count < bytes.size();
  return !cut_ && (!rejection_ || headers_.status >= 300);
}

bool Transfer::take_range_bytes(std::span<const std::uint8_t> bytes) {
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
  skip_ -= skipped;
  bytes = bytes.subspan(skipped);
  const bool whole_object = headers_.status == 200;
  if (bytes.size() > wanted_ - received_) {
    if (!whole_object) {
      reject(Outcome::kRetry, "the body is longer than the " + std::to_string(wanted_) + " bytes requested");
      accepted_ = false;
      received_ = 0;
      return false;
    }
    bytes = bytes.first(static_cast<std::size_t>(wanted_ - received_));
  }
  writer_.write(bytes);
  received_ += bytes.size();
  cut_ = whole_object && received_ == wanted_;  // bytes after the range are not needed
  return !cut_;
}

void Transfer::reject(Outcome outcome, std::string reason) {
  if (!rejection_) rejection_ = Verdict{outcome, std::move(reason), std::nullopt};
}

void Transfer::judge_headers() {
  if (judged_) return;
  judged_ = true;
  if (fetch_->pin != nullptr && (headers_.status == 206 || headers_.status == 200)) judge_range();
}

// A 206 must have exactly the range; a 200 has the whole object, which includes the range.
void Transfer::judge_range() {
  const ObjectPin& pin = *fetch_->pin;
  if (const auto difference = difference_from(pin, headers_)) {
    return reject(Outcome::kFatal, "the object was changed: " + *difference);
  }
  const std::uint64_t first = fetch_->first + done_, last = first + wanted_ - 1;
  if (headers_.status == 200) {
    if (headers_.content_length && *headers_.content_length != pin.bytes) {
      return reject(Outcome::kRetry, "the server sends " + std::to_string(*headers_.content_length) +
                                         " bytes, expected the object's " + std::to_string(pin.bytes));
    }
    skip_ = first;
    accepted_ = true;
    return;
  }
  const auto range = parse_content_range(headers_.content_range);
  if (!range || range->unsatisfied || range->first != first || range->last != last) {
    return reject(Outcome::kRetry, "the server sends Content-Range '" + headers_.content_range + "', expected bytes " +
                                       std::to_string(first) + "-" + std::to_string(last));
  }
  if (headers_.content_length && *headers_.content_length != wanted_) {
    return reject(Outcome::kRetry, "the server sends " + std::to_string(*headers_.content_length) +
                                       " bytes for a range of " + std::to_string(wanted_));
  }
  if (range->total && *range->total != pin.bytes) {
    return reject(Outcome::kFatal, "the object was changed: it has now " + std::to_string(*range->total) +
                                       " bytes, had " + std::to_string(pin.bytes) + " when it was opened");
  }
  accepted_ = true;
}

Verdict Transfer::verdict_of_status() const {
  if (headers_.status == 412 && fetch_->pin != nullptr) {
    return {Outcome::kFatal, "the object was changed since it was opened (HTTP 412)", std::nullopt};
  }
  std::string reason = "HTTP " + std::to_string(headers_.status);
  const std::string server_text = bucket_error_text(kept_body_);
  if (!server_text.empty()) reason += " " + server_text;
  if (!is_worth_another_try(headers_.status)) return {Outcome::kFatal, reason, std::nullopt};
  Verdict verdict{Outcome::kRetry, reason, std::nullopt};
  curl_off_t seconds = 0;
  if (curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
    verdict.retry_after = std::chrono::seconds(seconds);
  }
  return verdict;
}

// Nothing if the reply is not about credentials, or they are the same as before.
std::optional<Verdict> Transfer::verdict_of_renewal() {
  if (!fetch_->renew || fetch_->renewed || headers_.status < 400) return std::nullopt;
  const std::string server_text = bucket_error_text(kept_body_);
  const Renewal renewal = fetch_->renew(request_, headers_.status, server_text);
  const std::string reason = "HTTP " + std::to_string(headers_.status) + " " + server_text;
  fetch_->renewed = renewal.renewed;
  if (renewal.renewed) return Verdict{Outcome::kRetry, reason + ", with renewed credentials", std::nullopt};
  if (renewal.failure.empty()) return std::nullopt;
  return Verdict{Outcome::kFatal, reason + "; " + renewal.failure, std::nullopt};
}

Verdict Transfer::verdict(CURLcode code) {
  if (code == CURLE_OK) judge_headers();
  if (rejection_) return *rejection_;
  const bool ended_well = code == CURLE_OK || (cut_ && code == CURLE_WRITE_ERROR);
  if (ended_well && is_worth_another_try(headers_.status)) return verdict_of_status();
  if (ended_well && !accepted_) {
    if (const auto renewal = verdict_of_renewal()) return *renewal;
  }
  if (fetch_->pin == nullptr && ended_well) return {};
  if (complete()) return {};  // even if the connection failed afterwards
  if (ended_well && !accepted_) return verdict_of_status();
  const std::string text = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
  const std::string amount =
      accepted_ ? " after " + std::to_string(received_) + " of " + std::to_string(wanted_) + " bytes" : "";
  if (ended_well) return {Outcome::kRetry, "the body ended" + amount, std::nullopt};
  if (code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY) return {Outcome::kFatal, "out of memory", std::nullopt};
  return {is_worth_another_try(code) ? Outcome::kRetry : Outcome::kFatal, text + amount, std::nullopt};
}

long Transfer::connections_opened() const {
  long count = 0;
  set(curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &count));
  return count;
}

void Transfer::deliver() {
  if (fetch_->pin == nullptr) {
    fetch_->reply = headers_;
    fetch_->body = std::move(kept_body_);
  } else if (is_separate_) {
    ScatterWriter(fetch_->out, done_).write(separate_);
    separate_ = {};
  }
}

}  // namespace unstarve::remote
