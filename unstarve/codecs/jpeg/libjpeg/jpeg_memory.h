#pragma once
// libjpeg's memory manager, served from an ImageArena instead of malloc.
//
// The manager is a struct of function pointers inside the decompressor, public in jpeglib.h. This file replaces the
// functions that allocate memory for an image: small and large objects, sample rows, coefficient rows, and the
// whole-image coefficient arrays of progressive files (libjpeg could store those on disk; here they stay in memory).
// Quantisation and Huffman tables, permanent objects for libjpeg, come from the arena too. forget_tables() removes
// them, so that a file without tables is not decoded with those of the previous image.
//
// Ownership: the arena must outlive the decompressor, whose client_data belongs to this file.
// Failure: libjpeg's JERR_OUT_OF_MEMORY. Threads: one at a time, with the decompressor.

struct jpeg_decompress_struct;

namespace unstarve {

class ImageArena;

// Call once, directly after jpeg_create_decompress().
void serve_jpeg_memory_from(ImageArena& arena, jpeg_decompress_struct& cinfo) noexcept;

// Removes the tables of earlier images. Call before each image, after jpeg_abort().
void forget_tables(jpeg_decompress_struct& cinfo) noexcept;

}  // namespace unstarve
