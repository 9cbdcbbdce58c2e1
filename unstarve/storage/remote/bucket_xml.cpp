#include "unstarve/storage/remote/bucket_xml.h"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

constexpr std::size_t kDeepest = 16;
// A key has at most 1024 bytes, three times that when encoded; tokens and messages are shorter in practice.
constexpr std::size_t kLongestText = 8192;

// Calls ended() with the path ("/ListBucketResult/Contents/Key") and text of every element.
class ElementReader {
 public:
  virtual ~ElementReader() = default;

  // Nothing on success, else the reason.
  std::optional<std::string> read(std::string_view xml) {
    const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                              &XML_ParserFree);
    if (!parser) throw std::bad_alloc();
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, &ElementReader::on_start, &ElementReader::on_end);
    XML_SetCharacterDataHandler(parser_, &ElementReader::on_text);
    XML_SetStartDoctypeDeclHandler(parser_, &ElementReader::on_doctype);
    if (xml.size() > std::size_t{1} << 30) return "more than 1 GiB";
    const XML_Status status = XML_Parse(parser_, xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (status == XML_STATUS_OK && !reason_) return std::nullopt;
    return fmt::format("line {}: {}", XML_GetCurrentLineNumber(parser_),
                       reason_.value_or(XML_ErrorString(XML_GetErrorCode(parser_))));
  }

 protected:
  virtual void started(const std::string& path) = 0;
  virtual void ended(const std::string& path, const std::string& text) = 0;
  void stop(const std::string& reason) {
    if (!reason_) reason_ = reason;
    XML_StopParser(parser_, XML_FALSE);
  }

 private:
  // Exceptions must not pass through expat, which is C.
  template <class Work>
  static void guarded(void* self, const Work& work) noexcept {
    auto& reader = *static_cast<ElementReader*>(self);
    if (reader.reason_) return;
    try {
      work(reader);
    } catch (const std::exception& error) {
      reader.reason_ = error.what();
      XML_StopParser(reader.parser_, XML_FALSE);
    }
  }
  static void on_start(void* self, const XML_Char* name, const XML_Char**) {
    guarded(self, [name](ElementReader& reader) {
      if (reader.depth_ == kDeepest) return reader.stop("elements nested deeper than 16");
      ++reader.depth_;
      reader.path_ += '/';
      reader.path_ += name;
      if (reader.path_.size() > kLongestText) return reader.stop("names of elements too long");
      reader.text_.clear();
      reader.started(reader.path_);
    });
  }
  static void on_end(void* self, const XML_Char*) {
    guarded(self, [](ElementReader& reader) {
      reader.ended(reader.path_, reader.text_);
      reader.text_.clear();
      reader.path_.resize(reader.path_.rfind('/'));
      --reader.depth_;
    });
  }
  static void on_text(void* self, const XML_Char* text, int length) {
    guarded(self, [text, length](ElementReader& reader) {
      if (reader.text_.size() + static_cast<std::size_t>(length) > kLongestText) return reader.stop("a text too long");
      reader.text_.append(text, static_cast<std::size_t>(length));
    });
  }
  static void on_doctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    guarded(self, [](ElementReader& reader) { reader.stop("a document type, which servers never send"); });
  }

  XML_Parser parser_ = nullptr;
  std::optional<std::string> reason_;
  std::string path_, text_;
  std::size_t depth_ = 0;
};

// Elements of a page. Azure's pages have no element for `truncated`: there are more if there is a token.
struct PageNames {
  std::string_view root, object, key, size, etag, prefix, prefix_name, token;
};
constexpr PageNames kS3Names{"/ListBucketResult", "Contents",       "Contents/Key",          "Contents/Size",
                             "Contents/ETag",     "CommonPrefixes", "CommonPrefixes/Prefix", "NextContinuationToken"};
constexpr PageNames kAzureNames{
    "/EnumerationResults",        "Blobs/Blob",       "Blobs/Blob/Name",       "Blobs/Blob/Properties/Content-Length",
    "Blobs/Blob/Properties/Etag", "Blobs/BlobPrefix", "Blobs/BlobPrefix/Name", "NextMarker"};

class ListReader final : public ElementReader {
 public:
  ListPage page;
  bool url_encoded = false;
  bool is_list = false;

 private:
  void started(const std::string& path) override {
    if (path == kAzureNames.root) names_ = &kAzureNames;
    if (path == names_->root) is_list = true;
    const std::string_view name = below_root(path);
    if (name == names_->object) {
      page.objects.emplace_back();
      has_key_ = has_size_ = is_folder_ = false;
    }
    if (name == names_->prefix) has_prefix_ = false;
  }
  void ended(const std::string& path, const std::string& text) override {
    const std::string_view name = below_root(path);
    if (name.empty()) return;
    if (name == "IsTruncated") page.truncated = trim(text) == "true";
    if (name == "EncodingType") url_encoded = trim(text) == "url";
    if (name == names_->token) page.continuation_token = text;
    if (name == names_->token && names_ == &kAzureNames) page.truncated = !text.empty();
    // Folders of an Azure account with a hierarchical namespace are listed as objects.
    if (name == "Blobs/Blob/Properties/ResourceType") is_folder_ = text == "directory";
    if (name == names_->object && (!has_key_ || !has_size_)) return stop("an object without its Key or Size");
    if (name == names_->object && is_folder_) page.objects.pop_back();
    if (name == names_->key) {
      page.objects.back().key = text;
      has_key_ = !text.empty();
    }
    // Some servers omit the quotes here.
    if (name == names_->etag && !text.empty())
      page.objects.back().etag = text.back() == '"' ? text : "\"" + text + "\"";
    if (name == names_->size) {
      const auto bytes = parse_number<std::uint64_t>(trim(text));
      if (!bytes) return stop("a Size that is not a number");
      page.objects.back().bytes = *bytes;
      has_size_ = true;
    }
    if (name == names_->prefix && !has_prefix_) stop("common prefixes without one");
    if (name == names_->prefix_name && !text.empty()) {
      page.prefixes.push_back(text);
      has_prefix_ = true;
    }
  }
  // "Contents/Key"; empty outside the root.
  [[nodiscard]] std::string_view below_root(std::string_view path) const {
    if (!path.starts_with(names_->root) || path.size() <= names_->root.size() + 1) return {};
    return path[names_->root.size()] == '/' ? path.substr(names_->root.size() + 1) : std::string_view();
  }

  const PageNames* names_ = &kS3Names;
  bool has_key_ = false, has_size_ = false, has_prefix_ = false, is_folder_ = false;
};

class ErrorReader final : public ElementReader {
 public:
  std::string code, message;

 private:
  void started(const std::string&) override {}
  void ended(const std::string& path, const std::string& text) override {
    if (path == "/Error/Code") code = text;
    if (path == "/Error/Message") message = text;
  }
};

// Encoded keys have '+' for a space, as in forms. False if the encoding is invalid.
bool decode_key(std::string& key) {
  std::replace(key.begin(), key.end(), '+', ' ');
  std::optional<std::string> decoded = percent_decode(key);
  if (!decoded) return false;
  key = *std::move(decoded);
  return true;
}

}  // namespace

ListPage parse_list_page(std::string_view xml, const std::string& name) {
  const auto reject = [&](const std::string& reason) {
    throw input_error("list {}: the response is not an object listing: {}", name, reason);
  };
  ListReader reader;
  if (const auto reason = reader.read(xml)) reject(*reason);
  if (!reader.is_list) reject("no <ListBucketResult> or <EnumerationResults>");
  if (reader.page.truncated && reader.page.continuation_token.empty()) reject("truncated, but without a token");
  if (reader.url_encoded) {
    for (ListedObject& object : reader.page.objects) {
      if (!decode_key(object.key)) reject("a Key whose encoding is broken");
    }
    for (std::string& prefix : reader.page.prefixes) {
      if (!decode_key(prefix)) reject("a Prefix whose encoding is broken");
    }
  }
  return std::move(reader.page);
}

std::string bucket_error_text(std::string_view xml) noexcept {
  try {
    constexpr std::size_t kLongest = 200;
    ErrorReader reader;
    if (xml.empty() || reader.read(xml) || reader.code.empty()) return {};
    std::string text = reader.code + (reader.message.empty() ? "" : ": " + reader.message);
    if (text.size() > kLongest) text.resize(kLongest);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
    return text;
  } catch (const std::exception&) {
    return {};  // the message then omits the server's text
  }
}

}  // namespace unstarve::remote
