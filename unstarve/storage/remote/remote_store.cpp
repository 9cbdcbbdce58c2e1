// Opens objects and lists buckets.
#include <map>
#include <mutex>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/held_bytes.h"
#include "unstarve/storage/remote/bucket_xml.h"
#include "unstarve/storage/remote/held_memory.h"
#include "unstarve/storage/remote/http/url.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/remote/remote_source.h"

namespace unstarve {

using remote::CacheOfProcess;
using remote::EngineOfProcess;
using remote::Fetch;
using remote::HttpRequest;
using remote::ObjectAddress;
using remote::ObjectPin;
using remote::RemoteUrl;
using remote::ReplyHeaders;
using remote::Scheme;

namespace {

// A page of 1000 keys of 1024 bytes, encoded with three bytes each, and as much again for tags and dates.
constexpr std::size_t kListPageLimit = std::size_t{8} << 20;

const RemoteOptions& checked(const RemoteOptions& options) {
  const auto require = [](bool good, const char* what) {
    if (!good) throw argument_error("remote options: {}", what);
  };
  require(options.in_flight >= 1 && options.in_flight <= 4096, "in_flight must be 1 to 4096");
  require(options.split_bytes >= 65536, "split_bytes must be at least 65536");
  require(options.attempts >= 1, "attempts must be at least 1");
  require(options.first_wait.count() >= 0 && options.longest_wait.count() >= 0, "waits must not be negative");
  require(
      options.connect_timeout.count() >= 1 && options.stall_timeout.count() >= 1 && options.total_timeout.count() >= 1,
      "time-outs must be positive");
  require(options.hedge_factor == 0 || options.hedge_factor >= 1, "hedge_factor must be 0 or at least 1");
  require(options.cache_folder.empty() || options.cache_bytes >= 1 << 20, "cache_bytes must be at least 1 MiB");
  return options;
}

// An object whose size is not reported.
struct UnsizedObject {
  HeldBytes bytes;
  remote::HeldMemory memory;
};

// The reply to a request for the first byte or, if not `ranged`, for the whole object, cut off at `limit` bytes.
struct Probe {
  ReplyHeaders reply;
  std::string body;
};

Probe probe(remote::Engine& engine, const ObjectAddress& object, bool ranged, std::uint64_t limit = 1,
            ErrorKind unreachable = ErrorKind::kIo) {
  Fetch fetch;
  fetch.unreachable = unreachable;
  fetch.action = "open";
  fetch.name = object.url.display_name();
  fetch.document_limit = static_cast<std::size_t>(limit);
  fetch.make_request = [&object, ranged](std::uint64_t, std::uint64_t) { return object.request(0, ranged ? 1 : 0); };
  fetch.renew = remote::renew_by(object.client);
  engine.fetch(std::span(&fetch, 1));
  return {std::move(fetch.reply), std::move(fetch.body)};
}

// Servers reply 401 or 403 for a missing object if the client may read but not list objects.
bool means_missing(long status) { return status == 401 || status == 403 || status == 404 || status == 410; }

// Whether the server rejects this URL for good, and neither the credentials nor the number of requests.
bool is_fault_of_url(long status) {
  return status / 100 == 4 && status != 401 && status != 407 && status != 408 && status != 425 && status != 429;
}

// `client`: null for http(s).
[[noreturn]] void reject(const std::string& operation, const Probe& answer,
                         const std::shared_ptr<remote::BucketClient>& client, ErrorKind kind = ErrorKind::kIo) {
  const ReplyHeaders& reply = answer.reply;
  std::string reason = fmt::format("HTTP {}", reply.status);
  if (reply.status == 404) reason += ", not found";
  if (reply.status == 401 || reply.status == 403) reason += ", access denied";
  const std::string server_text = remote::bucket_error_text(answer.body);
  if (!server_text.empty()) reason += " (" + server_text + ")";
  if (!reply.bucket_region.empty()) reason += "; the bucket is in region " + reply.bucket_region;
  if (client != nullptr && reply.status / 100 == 4) reason += client->why_unsigned();
  throw Error(kind, operation + ": " + reason);
}

std::optional<std::uint64_t> size_of(const ReplyHeaders& reply) {
  if (reply.status != 206) return reply.content_length;
  const auto range = remote::parse_content_range(reply.content_range);
  return range && !range->unsatisfied && range->first == 0 && range->last == 0 ? range->total : std::nullopt;
}

ObjectPin pin_of(const std::string& name, const Probe& answer) {
  ObjectPin pin;
  pin.etag = answer.reply.etag;
  pin.last_modified = answer.reply.last_modified;
  const std::optional<std::uint64_t> bytes = size_of(answer.reply);
  if (!bytes) {
    throw Error(ErrorKind::kIo,
                fmt::format("open {}: the server does not report its size (HTTP {}, Content-Range '{}')", name,
                            answer.reply.status, answer.reply.content_range));
  }
  pin.bytes = *bytes;
  return pin;
}

bool names_other_region(const ReplyHeaders& reply, const std::string& used) {
  return (reply.status == 301 || reply.status == 307 || reply.status == 400 || reply.status == 403) &&
         !reply.bucket_region.empty() && reply.bucket_region != used;
}

}  // namespace

std::string url_below(const std::string& folder, const std::string& path) {
  const bool literal = remote::parse_remote_url(folder).is_bucket();
  return folder + "/" + (literal ? path : remote::percent_encode_invalid(path));
}

struct RemoteStore::Parts {
  RemoteOptions options;
  std::shared_ptr<const EngineOfProcess> engine;
  std::shared_ptr<const CacheOfProcess> cache;  // null: none
  std::map<Scheme, std::shared_ptr<remote::BucketClient>> clients;
  // Regions of buckets that are not in the configured region.
  std::mutex mutex{};
  std::map<std::pair<Scheme, std::string>, std::string> regions{};

  [[nodiscard]] ObjectAddress address_of(const RemoteUrl& url) {
    return {url.is_bucket() ? clients.at(url.scheme) : nullptr, url, region_of(url)};
  }
  [[nodiscard]] std::shared_ptr<const ByteSource> source_of(ObjectAddress object, ObjectPin pin) const {
    return remote_source(std::move(object), std::move(pin), options, engine, cache);
  }
  // An object whose size the server does not report: reads it.
  [[nodiscard]] std::shared_ptr<const ByteSource> read_unsized(ObjectAddress object) const {
    const std::string name = object.url.display_name();
    Probe whole = probe(engine->get(), object, false, remote::kHeldObjectBytes + 1);
    if (whole.reply.status != 200) reject("open " + name, whole, object.client);
    const std::size_t bytes = whole.body.size();
    const auto failure = [&](ErrorKind kind, const std::string& reason) {
      return Error(kind, fmt::format("open {}: the server does not report its size, and {}; expected a Content-Length "
                                     "or ranges. Copy it, or use another server",
                                     name, reason));
    };
    if (bytes > remote::kHeldObjectBytes)
      throw failure(ErrorKind::kInput, fmt::format("it has more than {} MiB", remote::kHeldObjectBytes >> 20));
    whole.reply.content_length = bytes;
    const auto source = source_of(std::move(object), pin_of(name, whole));
    std::optional<remote::HeldMemory> memory = remote::HeldMemory::reserve(bytes, options.held_bytes);
    if (!memory) {
      throw failure(ErrorKind::kIo, fmt::format("it does not fit into the {} MiB for objects in memory, of which {} "
                                                "MiB are used",
                                                options.held_bytes >> 20, remote::HeldMemory::total() >> 20));
    }
    std::vector<std::uint8_t> content;
    content.reserve(bytes + kReadableAfter);
    content.assign(whole.body.begin(), whole.body.end());
    const auto held =
        std::shared_ptr<UnsizedObject>(new UnsizedObject{HeldBytes(*source, std::move(content)), *std::move(memory)});
    remote::report_held(name, remote::HeldCase::kUnsized, options.held_bytes);
    return {held, &held->bytes};
  }
  [[nodiscard]] std::string region_of(const RemoteUrl& url) {
    const std::lock_guard lock(mutex);
    const auto found = regions.find({url.scheme, url.bucket});
    return url.is_bucket() && found != regions.end() ? found->second : "";
  }
  void remember(const RemoteUrl& url, const std::string& region) {
    const std::lock_guard lock(mutex);
    regions[{url.scheme, url.bucket}] = region;
  }
};

// The kinds are those of Errors: `rejected` if is_fault_of_url(), `unreachable` if no connection can be made.
struct RemoteStore::Opening {
  bool missing_is_null = false;
  ErrorKind rejected = ErrorKind::kIo, unreachable = ErrorKind::kIo;
};

RemoteStore::RemoteStore(RemoteOptions options) {
  checked(options);
  auto engine = std::make_shared<EngineOfProcess>([options] { return std::make_unique<remote::Engine>(options); });
  (void)engine->get();  // its failure is that of the store
  std::shared_ptr<CacheOfProcess> cache;
  if (!options.cache_folder.empty()) {
    cache = std::make_shared<CacheOfProcess>([options] {
      return std::make_unique<std::shared_ptr<remote::DiskCache>>(
          std::make_shared<remote::DiskCache>(options.cache_folder, options.cache_bytes, options.on_warning));
    });
    (void)cache->get();
  }
  std::map<Scheme, std::shared_ptr<remote::BucketClient>> clients;
  for (const Scheme scheme : {Scheme::kS3, Scheme::kGs, Scheme::kAz}) {
    clients[scheme] = std::make_shared<remote::BucketClient>(scheme, options.anonymous, options.addressing,
                                                             remote::process_environment());
  }
  parts_ =
      std::shared_ptr<Parts>(new Parts{std::move(options), std::move(engine), std::move(cache), std::move(clients)});
}

RemoteStore::~RemoteStore() = default;

std::shared_ptr<const ByteSource> RemoteStore::open(const std::string& text) const { return open_object(text, {}); }

std::shared_ptr<const ByteSource> RemoteStore::find(const std::string& text) const {
  return open_object(text, {.missing_is_null = true});
}

std::shared_ptr<const ByteSource> RemoteStore::open_record(const std::string& text, ErrorKind unreachable) const {
  try {
    return open_object(text, {.rejected = ErrorKind::kInput, .unreachable = unreachable});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) throw;
    throw Error(ErrorKind::kInput, error.what());  // a value of the data, not an argument of the caller
  }
}

std::shared_ptr<const ByteSource> RemoteStore::open_object(const std::string& text, const Opening& how) const {
  const RemoteUrl url = remote::parse_remote_url(text);
  const std::string name = url.display_name();
  if (url.is_bucket() && url.key.empty()) {
    throw argument_error("open {}: found a bucket without a key; expected the key of an object", name);
  }
  ObjectAddress object = parts_->address_of(url);
  // A bucket has no host of its own.
  Probe answer = probe(parts_->engine->get(), object, true, 1, url.is_bucket() ? ErrorKind::kIo : how.unreachable);
  if (object.client != nullptr && names_other_region(answer.reply, object.region)) {
    object.region = answer.reply.bucket_region;
    parts_->remember(url, object.region);
    answer = probe(parts_->engine->get(), object, true);
  }
  const long first_status = answer.reply.status;
  // An empty object has no first byte, and some servers report no size with a range ("bytes 0-0/*").
  if (first_status == 416 || (first_status == 206 && !size_of(answer.reply)))
    answer = probe(parts_->engine->get(), object, false);
  const long status = answer.reply.status;
  if (how.missing_is_null && means_missing(status)) return nullptr;
  if (status != 200 && status != 206)
    reject("open " + name, answer, object.client, is_fault_of_url(status) ? how.rejected : ErrorKind::kIo);
  if (status == 200 && !answer.reply.content_length) return parts_->read_unsized(std::move(object));
  ObjectPin pin = pin_of(name, answer);
  object.ranges = first_status == 206 || pin.bytes <= 1;
  return parts_->source_of(std::move(object), std::move(pin));
}

std::shared_ptr<const ByteSource> RemoteStore::open(const RemoteObject& listed) const {
  if (listed.etag.empty()) return open(listed.url);
  const RemoteUrl url = remote::parse_remote_url(listed.url);
  ObjectPin pin;
  pin.bytes = listed.bytes;
  pin.etag = listed.etag;
  return parts_->source_of(parts_->address_of(url), std::move(pin));
}

std::vector<RemoteObject> RemoteStore::list(const std::string& prefix_url) const {
  return list_pages(prefix_url, "").objects;
}

RemoteLevel RemoteStore::list_level(const std::string& prefix_url) const { return list_pages(prefix_url, "/"); }

// Without a delimiter: all objects with the prefix.
RemoteLevel RemoteStore::list_pages(const std::string& prefix_url, const char* delimiter) const {
  const RemoteUrl url = remote::parse_remote_url(prefix_url);
  const std::string name = url.display_name();
  if (!url.is_bucket()) {
    throw argument_error("list {}: only s3://, gs:// and az:// buckets can be listed", name);
  }
  const auto client = parts_->clients.at(url.scheme);
  const std::string root = url.prefix() + url.bucket + "/";
  RemoteLevel level;
  remote::ListRequest next{url.bucket, url.key, delimiter};
  std::string region = parts_->region_of(url);
  for (;;) {
    Fetch fetch;
    fetch.action = "list";
    fetch.name = name;
    fetch.document_limit = kListPageLimit;
    fetch.make_request = [&](std::uint64_t, std::uint64_t) { return client->list(next, region); };
    fetch.renew = remote::renew_by(client);
    parts_->engine->get().fetch(std::span(&fetch, 1));
    if (names_other_region(fetch.reply, region)) {
      region = fetch.reply.bucket_region;
      parts_->remember(url, region);
      continue;
    }
    if (fetch.reply.status != 200) reject("list " + name, {fetch.reply, fetch.body}, client);
    remote::ListPage page = remote::parse_list_page(fetch.body, name);
    for (remote::ListedObject& object : page.objects)
      level.objects.push_back({root + object.key, object.bytes, std::move(object.etag)});
    for (const std::string& prefix : page.prefixes) level.folders.push_back(root + prefix);
    if (!page.truncated) break;
    // A page of Azure may be empty and still have a successor.
    const bool empty = page.objects.empty() && page.prefixes.empty() && url.scheme != Scheme::kAz;
    if (page.continuation_token == next.continuation_token || empty) {
      throw input_error(
          "list {}: the server returned the same or an empty page after {} objects; expected the next "
          "page",
          name, level.objects.size() + level.folders.size());
    }
    next.continuation_token = page.continuation_token;
  }
  return level;
}

RemoteStatistics RemoteStore::statistics() const {
  RemoteStatistics statistics = parts_->engine->get().statistics();
  if (parts_->cache) {
    const remote::CacheStatistics cache = parts_->cache->get()->statistics();
    statistics.cache_hit_bytes = cache.hit_bytes;
    statistics.cache_stored_bytes = cache.stored_bytes;
    statistics.cache_damaged = cache.damaged;
  }
  return statistics;
}

RemoteStore& RemoteStore::of_process() {
  static RemoteStore store([] {
    RemoteOptions options = remote_options_from_environment();
    options.on_warning = emit_notice;
    return options;
  }());
  return store;
}

}  // namespace unstarve
