#pragma once
// Reads JSON objects of a fixed schema. Errors start with the path of the object: "manifest.json: shard 3: ...".
//
// Ownership: borrows the JSON. Threads: as the JSON. Failure: every function throws Error(kInput).

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unstarve {

using Json = nlohmann::ordered_json;

class JsonReader {
 public:
  // Throws if the value is not an object.
  JsonReader(const Json& json, std::string where);

  [[noreturn]] void reject(const std::string& what) const;
  // Throws for an unknown key, so that a mistyped key is not ignored.
  void only(std::initializer_list<std::string_view> keys) const;

  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] const Json& at(const char* key) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::uint64_t number(const char* key) const;
  [[nodiscard]] const Json& list(const char* key) const;
  [[nodiscard]] const Json& object(const char* key) const;

  // For a missing key or null: "", 0 and false.
  [[nodiscard]] std::string optional_text(const char* key) const { return given(key) ? text(key) : ""; }
  [[nodiscard]] std::uint64_t optional_number(const char* key) const { return given(key) ? number(key) : 0; }
  [[nodiscard]] bool optional_flag(const char* key) const;
  // Calls visit(element, path) for each element of an array; a missing array is empty.
  void each(const char* key, const std::function<void(const Json&, const std::string&)>& visit) const;

  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  [[nodiscard]] bool given(const char* key) const;

  const Json& json_;
  std::string where_;
};

}  // namespace unstarve
