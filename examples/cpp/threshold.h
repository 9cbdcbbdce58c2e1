#pragma once
// An operation of this program, which specs name like those of the library:
//
//   operations: [threshold: {at: 128}]

// Adds it. Call once, before a spec is read.
void add_threshold();
