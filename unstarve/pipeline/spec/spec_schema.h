#pragma once
// The pipeline's spec as a JSON schema (draft 2020-12), for editors and for checks without this library.
//
// Made of what reads and checks a spec, so that it cannot miss a key: the YAML reader tells the keys, their types and
// defaults, the operations' factories their parameters, pass_switches.cpp the switches. The ranges of check_spec()
// stand in a table here, which a test compares with it, and so do the descriptions.
//
// What the schema accepts check_spec() accepts, but for what two fields say together (rank below world, the lower end
// of a range above the upper). The other way round the schema is stricter: a number where text is expected is refused.

#include <string>

namespace unstarve {

// As indented text that ends with a line break. Cost: made anew by every call.
[[nodiscard]] std::string spec_schema();

}  // namespace unstarve
