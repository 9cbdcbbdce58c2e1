#include "unstarve/storage/remote/reply_reader.h"

#include <algorithm>

#include "unstarve/storage/remote/bucket_xml.h"

namespace unstarve::remote {
namespace {

using Outcome = Verdict::Outcome;

constexpr std::size_t kErrorBodyLimit = 16 << 10;

bool is_worth_another_try(long status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

}  // namespace

void ReplyReader::begin(Fetch& fetch, std::uint64_t done, bool separate) {
  fetch_ = &fetch;
  done_ = done;
  headers_ = {};
  body_ = Body::kUnknown;
  received_ = body_bytes_ = skip_ = 0;
  separate_.resize(separate ? static_cast<std::size_t>(expected()) : 0);
  writer_ = separate ? ScatterWriter({std::span(separate_)}, 0) : ScatterWriter(fetch.out, done);
  cut_ = false;
  rejection_.reset();
  kept_body_.clear();
}

bool ReplyReader::take_body(std::span<const std::uint8_t> bytes) {
  body_bytes_ += bytes.size();
  judge_headers();
  if (body_ == Body::kRange) return take_range_bytes(bytes);
  const bool is_document = fetch_->pin == nullptr;
  const std::size_t limit = is_document ? std::max(fetch_->document_limit, kErrorBodyLimit) : kErrorBodyLimit;
  const std::size_t used_limit = is_document && headers_.status / 100 == 2 ? fetch_->document_limit : limit;
  const std::size_t count = std::min(bytes.size(), used_limit - std::min(used_limit, kept_body_.size()));
  kept_body_.append(reinterpret_cast<const char*>(bytes.data()), count);
  cut_ = count < bytes.size();
  return !cut_ && (!rejection_ || headers_.status >= 300);
}

bool ReplyReader::take_range_bytes(std::span<const std::uint8_t> bytes) {
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
  skip_ -= skipped;
  bytes = bytes.subspan(skipped);
  const bool whole_object = headers_.status == 200;
  if (bytes.size() > expected() - received_) {
    if (!whole_object) {
      reject(Outcome::kRetry, "the body is longer than the " + std::to_string(expected()) + " bytes requested");
      body_ = Body::kOther;
      received_ = 0;
      return false;
    }
    bytes = bytes.first(static_cast<std::size_t>(expected() - received_));
  }
  writer_.write(bytes);
  received_ += bytes.size();
  cut_ = whole_object && received_ == expected();  // bytes after the range are not needed
  return !cut_;
}

void ReplyReader::reject(Outcome outcome, std::string reason) {
  if (!rejection_) rejection_ = Verdict{outcome, std::move(reason), std::nullopt};
}

void ReplyReader::judge_headers() {
  if (body_ != Body::kUnknown) return;
  body_ = Body::kOther;
  if (fetch_->pin != nullptr && (headers_.status == 206 || headers_.status == 200)) judge_range();
}

// A 206 must have exactly the range; a 200 has the whole object, which includes the range.
void ReplyReader::judge_range() {
  const ObjectPin& pin = *fetch_->pin;
  if (const auto difference = difference_from(pin, headers_)) {
    return reject(Outcome::kFatal, "the object was changed: " + *difference);
  }
  const std::uint64_t first = fetch_->first + done_, last = first + expected() - 1;
  if (headers_.status == 200) {
    if (headers_.content_length && *headers_.content_length != pin.bytes) {
      return reject(Outcome::kRetry, "the server sends " + std::to_string(*headers_.content_length) +
                                         " bytes; expected the object's " + std::to_string(pin.bytes));
    }
    skip_ = first;
    body_ = Body::kRange;
    return;
  }
  const auto range = parse_content_range(headers_.content_range);
  if (!range || range->unsatisfied || range->first != first || range->last != last) {
    return reject(Outcome::kRetry, "the server sends Content-Range '" + headers_.content_range + "'; expected bytes " +
                                       std::to_string(first) + "-" + std::to_string(last));
  }
  if (headers_.content_length && *headers_.content_length != expected()) {
    return reject(Outcome::kRetry, "the server sends " + std::to_string(*headers_.content_length) +
                                       " bytes for a range of " + std::to_string(expected()));
  }
  if (range->total && *range->total != pin.bytes) {
    return reject(Outcome::kFatal, "the object was changed: it has now " + std::to_string(*range->total) +
                                       " bytes, had " + std::to_string(pin.bytes) + " when it was opened");
  }
  body_ = Body::kRange;
}

Verdict ReplyReader::verdict_of_status(std::optional<std::chrono::seconds> retry_after) const {
  if (headers_.status == 412 && fetch_->pin != nullptr) {
    return {Outcome::kFatal, "the object was changed since it was opened (HTTP 412)", std::nullopt};
  }
  std::string reason = "HTTP " + std::to_string(headers_.status);
  const std::string server_text = bucket_error_text(kept_body_);
  if (!server_text.empty()) reason += " " + server_text;
  if (!is_worth_another_try(headers_.status)) return {Outcome::kFatal, reason, std::nullopt};
  return {Outcome::kRetry, reason, retry_after};
}

// Nothing if the reply is not about credentials, or they are the same as before.
std::optional<Verdict> ReplyReader::verdict_of_renewal(const HttpRequest& request) {
  if (!fetch_->renew || fetch_->renewed || headers_.status < 400) return std::nullopt;
  const std::string server_text = bucket_error_text(kept_body_);
  const Renewal renewal = fetch_->renew(request, headers_.status, server_text);
  const std::string reason = "HTTP " + std::to_string(headers_.status) + " " + server_text;
  fetch_->renewed = renewal.renewed;
  if (renewal.renewed) return Verdict{Outcome::kRetry, reason + ", with renewed credentials", std::nullopt};
  if (renewal.failure.empty()) return std::nullopt;
  return Verdict{Outcome::kFatal, reason + "; " + renewal.failure, std::nullopt};
}

std::optional<Verdict> ReplyReader::settled() const {
  if (rejection_) return rejection_;
  if (body_ == Body::kRange && received_ == expected()) return Verdict{};
  return std::nullopt;
}

Verdict ReplyReader::verdict(const HttpRequest& request, std::optional<std::chrono::seconds> retry_after) {
  judge_headers();
  if (const auto early = settled()) return *early;
  if (is_worth_another_try(headers_.status)) return verdict_of_status(retry_after);
  if (body_ == Body::kRange) return {Outcome::kRetry, "the body ended" + progress(), std::nullopt};
  if (const auto renewal = verdict_of_renewal(request)) return *renewal;
  return fetch_->pin == nullptr ? Verdict{} : verdict_of_status(std::nullopt);
}

std::string ReplyReader::progress() const {
  if (body_ != Body::kRange) return "";
  return " after " + std::to_string(received_) + " of " + std::to_string(expected()) + " bytes";
}

void ReplyReader::deliver() {
  if (fetch_->pin == nullptr) {
    fetch_->reply = headers_;
    fetch_->body = std::move(kept_body_);
  } else if (!separate_.empty()) {
    ScatterWriter(fetch_->out, done_).write(separate_);
    separate_ = {};
  }
}

}  // namespace unstarve::remote
