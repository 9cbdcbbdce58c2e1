#pragma once
// Remote objects as ByteSources: http://, https://, s3://bucket/key, gs://bucket/key, az://container/blob.
//
//   open() ─▶ RemoteSource ─ read_many() ─▶ DiskCache? ─ missing ranges ─▶ Engine: one thread, many ranges in flight
//
// Reads:         exactly the requested ranges. Adjacent ranges are joined up to `join_bytes`, long ones are split at
//                `split_bytes`. From a server that ignores ranges, an object of at most 256 MiB is read once and held
//                in memory, up to 2 GiB in total; others are read from their beginning to the end of the range. Both
//                cause a notice. An object whose size is not reported is read when it is opened, within these limits.
// Consistency:   size, ETag and Last-Modified are recorded at open, and every later reply must have the same values: an
//                object that is replaced meanwhile is an Error; old and new bytes are never mixed.
// Connections:   kept alive and shared by all sources of a store; HTTP/2 over TLS if offered.
// Retries:       lost or refused connections, timeouts, HTTP 408, 429, 500, 502, 503, 504 and inconsistent replies,
//                after a wait that doubles and is jittered, or the one of Retry-After. A truncated reply is continued.
// Hedging:       a range that takes `hedge_factor` times the 95th percentile of its size class (latency.h) is requested
//                a second time over a new connection; the first complete reply is used.
// Credentials:   of buckets as bucket_settings.h; renewed before they expire; without any, requests are not signed.
//                http(s):// takes user:password@ from the URL and follows up to 5 redirects, never from https to http.
// Threads:   all functions may be called concurrently. Sources share the parts of their store that they need.
// Failure:   Error(kArgument) for an invalid URL or option, Error(kIo) with URL, offset and reason after all attempts,
//            Error(kMissing) in a build without libcurl. Messages contain no password, key, token or query value.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

// http://endpoint/bucket/key or http://bucket.endpoint/key. kAuto: in the host name for Amazon's own endpoints (except
// names with dots, which its certificates do not cover), else in the path.
enum class BucketAddressing { kAuto, kPath, kVirtualHost };

struct RemoteOptions {
  std::size_t in_flight = 64;  // concurrent requests of all sources of the store
  std::uint64_t split_bytes = std::uint64_t{8} << 20;
  std::uint64_t join_bytes = std::uint64_t{512} << 10;

  int attempts = 8;                           // per request
  std::chrono::milliseconds first_wait{100};  // before the second attempt; doubles
  std::chrono::milliseconds longest_wait{10'000};
  std::optional<std::uint64_t> jitter_seed;  // for the random half of waits; nothing: a random seed
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::seconds stall_timeout{20};            // this long below 1 kB/s ends an attempt
  std::chrono::milliseconds total_timeout{300'000};  // for a request with all its attempts
  double hedge_factor = 3;                           // 0: never
  std::chrono::milliseconds hedge_floor{50};         // never earlier than this

  bool anonymous = false;  // do not sign, even with credentials
  BucketAddressing addressing = BucketAddressing::kAuto;
  std::string ca_bundle;  // PEM file of certificate authorities; empty: the system's

  std::filesystem::path cache_folder;  // empty: no disk cache
  std::uint64_t cache_bytes = std::uint64_t{50} << 30;
  // Of the process: objects of servers that ignore ranges or do not report sizes.
  std::uint64_t held_bytes = std::uint64_t{2} << 30;
  // Called once, by any thread, if the disk cache is bypassed (disk full, folder not writable).
  std::function<void(const std::string&)> on_warning;
};

// The defaults, overridden by
//   UNSTARVE_REMOTE_IN_FLIGHT, UNSTARVE_REMOTE_ATTEMPTS, UNSTARVE_REMOTE_TIMEOUT_S (total)    whole numbers
//   UNSTARVE_REMOTE_CACHE, UNSTARVE_REMOTE_CACHE_BYTES                                       a folder, and its limit
//   UNSTARVE_S3_ADDRESSING=auto|path|virtual, UNSTARVE_S3_ANONYMOUS=1
//   AWS_CA_BUNDLE, else CURL_CA_BUNDLE, else SSL_CERT_FILE                                   a PEM file
// libcurl itself uses http_proxy, https_proxy, all_proxy and no_proxy.
[[nodiscard]] RemoteOptions remote_options_from_environment();

// The URL of a file by its path relative to the URL of a folder. For http(s), what no URL may contain is encoded.
[[nodiscard]] std::string url_below(const std::string& folder, const std::string& path);

struct RemoteObject {
  std::string url;  // s3://bucket/key, gs://bucket/key or az://container/blob
  std::uint64_t bytes = 0;
  std::string etag{};  // as listed; empty if not listed
};

// The objects and folders that begin with a prefix, up to the next '/'.
struct RemoteLevel {
  std::vector<RemoteObject> objects;
  std::vector<std::string> folders;  // URLs with a trailing '/'
};

// Counters since the store was constructed.
struct RemoteStatistics {
  std::uint64_t requests = 0;  // attempts and hedges included
  std::uint64_t retries = 0;
  std::uint64_t hedges = 0, hedges_won = 0;
  std::uint64_t connections = 0;     // opened
  std::uint64_t received_bytes = 0;  // bodies only
  std::uint64_t cache_hit_bytes = 0, cache_stored_bytes = 0, cache_damaged = 0;
};

class RemoteStore {
 public:
  explicit RemoteStore(RemoteOptions options);
  ~RemoteStore();
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;

  // One round trip. Error(kIo) for an object that is missing or may not be read.
  [[nodiscard]] std::shared_ptr<const ByteSource> open(const std::string& url) const;
  // A listed object: no round trip if the list has its ETag.
  [[nodiscard]] std::shared_ptr<const ByteSource> open(const RemoteObject& listed) const;
  // As open(url), but null if the object is missing or access is denied: servers deny access to missing objects if the
  // client may not list the bucket.
  [[nodiscard]] std::shared_ptr<const ByteSource> find(const std::string& url) const;
  // As open(url), for the URL of one record. Error(kInput) if the URL is invalid or the server rejects it for good:
  // with a status from 400 to 499 that does not concern credentials (401, 407) or the time (408, 425, 429).
  // `unreachable`: the kind of the Error if no connection to the host of an http(s) URL can be made.
  [[nodiscard]] std::shared_ptr<const ByteSource> open_record(const std::string& url, ErrorKind unreachable) const;
  // All objects of a bucket whose keys begin with the URL's key, in key order; 1000 (Azure: 5000) per round trip.
  [[nodiscard]] std::vector<RemoteObject> list(const std::string& prefix_url) const;
  // One level of that list: 1000 objects and folders per round trip, however many objects the folders contain.
  [[nodiscard]] RemoteLevel list_level(const std::string& prefix_url) const;
  [[nodiscard]] RemoteStatistics statistics() const;

  // The store of the process, constructed at its first use with remote_options_from_environment(). Its warnings are
  // notices (notice.h).
  [[nodiscard]] static RemoteStore& of_process();

 private:
  struct Parts;
  struct Opening;
  [[nodiscard]] std::shared_ptr<const ByteSource> open_object(const std::string& url, const Opening& how) const;
  [[nodiscard]] RemoteLevel list_pages(const std::string& prefix_url, const char* delimiter) const;
  std::shared_ptr<Parts> parts_;
};

}  // namespace unstarve
