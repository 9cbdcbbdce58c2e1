#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

std::string to_string(const RecordLocation& location) {
  std::string text = location.file;
  if (!location.member.empty()) text += " " + location.member;
  if (!location.list.empty()) {
    text += " (" + location.list;
    if (location.number) text += " row " + std::to_string(*location.number);
    return text + ")";
  }
  if (location.number) text += " record " + std::to_string(*location.number);
  if (location.offset) text += " at offset " + std::to_string(*location.offset);
  return text;
}

}  // namespace unstarve
