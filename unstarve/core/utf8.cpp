#include "unstarve/core/utf8.h"

#include <nlohmann/json.hpp>

namespace unstarve {

bool is_utf8(const std::string& text) {
  // What is none is left out there.
  const std::string dumped = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore);
  return nlohmann::json::parse(dumped).get_ref<const std::string&>() == text;
}

}  // namespace unstarve
