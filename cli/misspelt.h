#pragma once
// What is misspelt on a command line that could not be parsed: which word, and what was most likely meant.
//
// Threads: free functions. Failure: none.

#include <span>
#include <string>
#include <string_view>

namespace unstarve::cli {

// Of the words behind the program's name: the first that should be a command or an option and is none, with the nearest
// names there are; where there are no words, the commands; empty where all are known.
[[nodiscard]] std::string misspelt(std::span<const std::string_view> words);

// Letters to insert, delete, replace, or swap with their neighbour, to come from one to the other (optimal string
// alignment distance; Damerau 1964, each place changed once).
[[nodiscard]] std::size_t spelling_distance(std::string_view a, std::string_view b);

}  // namespace unstarve::cli
