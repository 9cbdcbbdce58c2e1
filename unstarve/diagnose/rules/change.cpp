#include "unstarve/diagnose/rules/change.h"

#include <array>

namespace unstarve {
namespace {

struct LibraryChange {
  const char *key, *name;
  bool UsedLibraries::*used;
  std::string Changes::*text;
};
constexpr std::array kLibraryChanges{
    LibraryChange{"pytorch", "PyTorch", &UsedLibraries::pytorch, &Changes::pytorch},
    LibraryChange{"tensorflow", "TensorFlow", &UsedLibraries::tensorflow, &Changes::tensorflow},
    LibraryChange{"jax", "JAX", &UsedLibraries::jax, &Changes::jax},
    LibraryChange{"unstarve", "unstarve", &UsedLibraries::unstarve, &Changes::unstarve}};

}  // namespace

std::vector<std::pair<std::string, std::string>> Changes::by_library() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const LibraryChange& library : kLibraryChanges)
    if (const std::string& text = this->*library.text; !text.empty()) texts.emplace_back(library.key, text);
  return texts;
}

void Changes::add(const Changes& more) {
  for (std::string Changes::*const member :
       {&Changes::general, &Changes::pytorch, &Changes::tensorflow, &Changes::jax, &Changes::unstarve})
    if (std::string& change = this->*member; !change.empty())
      change += "; " + ((more.*member).empty() ? more.general : more.*member);
}

std::string change_for(const UsedLibraries& used, const Changes& changes) {
  std::vector<const LibraryChange*> chosen, all;
  for (const LibraryChange& library : kLibraryChanges) {
    if ((changes.*library.text).empty()) continue;
    all.push_back(&library);
    if (used.*library.used) chosen.push_back(&library);
  }
  if (chosen.size() == 1) return changes.*chosen[0]->text;
  if (chosen.empty() && !changes.general.empty()) return changes.general;
  std::string text;
  for (const LibraryChange* const library : chosen.empty() ? all : chosen)
    text += std::string(text.empty() ? "" : ". ") + library->name + ": " + changes.*library->text;
  return text;
}

}  // namespace unstarve
