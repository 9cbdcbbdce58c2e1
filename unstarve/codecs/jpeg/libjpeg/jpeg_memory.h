#pragma once
// libjpeg's memory manager, served from an ImageArena instead of malloc.
//
// The manager is a struct of function pointers inside the decompressor, public in jpeglib.h. This replaces those that
// hand out memory for an image: small and large objects, sample rows, coefficient rows, and the whole-image coefficient
// arrays that progressive files need (libjpeg could put those on disk; here they stay in memory).
// What libjpeg calls permanent is served from the arena too once the object exists: quantisation and Huffman tables.
// That makes forget_tables() possible, without which a file that defines no tables of its own would be decoded with
// those of the image before.
//
// Ownership: the arena outlives the decompressor. Failure: libjpeg's own JERR_OUT_OF_MEMORY.
// Threads: one at a time, with the decompressor. Its client_data belongs to this file.

struct jpeg_decompress_struct;

namespace unstarve {

class ImageArena;

// Once, right after jpeg_create_decompress().
void serve_jpeg_memory_from(ImageArena& arena, jpeg_decompress_struct& cinfo) noexcept;

// Before each image, after jpeg_abort(): no table of an earlier image is left.
void forget_tables(jpeg_decompress_struct& cinfo) noexcept;

}  // namespace unstarve
