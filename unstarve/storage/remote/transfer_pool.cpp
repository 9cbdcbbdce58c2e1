#include "unstarve/storage/remote/transfer_pool.h"

#include "unstarve/core/format_error.h"

namespace unstarve::remote {
namespace {

void start_libcurl() {
  // Once per process, without cleanup: other users of libcurl may need it.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    throw internal_error("libcurl does not start: {}", curl_easy_strerror(started));
  }
}

void check(CURLMcode code) {
  if (code != CURLM_OK) throw internal_error("libcurl: {}", curl_multi_strerror(code));
}

CURLM* make_multi(const RemoteOptions& options) {
  start_libcurl();
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) throw memory_error("libcurl: no multi handle");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(options.in_flight + options.in_flight / 10 + 1));
  return multi;
}

}  // namespace

TransferPool::TransferPool(const RemoteOptions& options) : options_(options), multi_(make_multi(options)) {}

TransferPool::~TransferPool() {
  idle_.clear();
  curl_multi_cleanup(multi_);
}

std::unique_ptr<Transfer> TransferPool::start(Fetch& fetch, std::uint64_t done, bool separate,
                                              std::chrono::milliseconds time_left) {
  std::unique_ptr<Transfer> transfer;
  if (idle_.empty()) {
    transfer = std::make_unique<Transfer>(options_);
  } else {
    transfer = std::move(idle_.back());
    idle_.pop_back();
  }
  transfer->start(fetch, done, separate, time_left);
  check(curl_multi_add_handle(multi_, transfer->easy()));
  ++requests_;
  return transfer;
}

void TransferPool::end(std::unique_ptr<Transfer>& transfer) {
  if (!transfer) return;
  received_bytes_ += transfer->reply().body_bytes();
  connections_ += static_cast<std::uint64_t>(transfer->connections_opened());
  check(curl_multi_remove_handle(multi_, transfer->easy()));
  idle_.push_back(std::move(transfer));
}

std::vector<TransferPool::Completed> TransferPool::perform() {
  int running = 0;
  check(curl_multi_perform(multi_, &running));
  std::vector<Completed> all;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) all.push_back({message->easy_handle, message->data.result});
  }
  return all;
}

void TransferPool::wait(int longest_ms) { check(curl_multi_poll(multi_, nullptr, 0, longest_ms, nullptr)); }

}  // namespace unstarve::remote
