#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

std::string to_string(const RecordLocation& place) {
  std::string text = place.file;
  if (!place.member.empty()) text += " " + place.member;
  if (!place.list.empty()) {
    text += " (" + place.list;
    if (place.number) text += " row " + std::to_string(*place.number);
    return text + ")";
  }
  if (place.number) text += " record " + std::to_string(*place.number);
  if (place.offset) text += " at offset " + std::to_string(*place.offset);
  return text;
}

}  // namespace unstarve
