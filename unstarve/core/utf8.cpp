#include "unstarve/core/utf8.h"

#include <nlohmann/json.hpp>

namespace unstarve {

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
  return true;
}

}  // namespace unstarve
