// A library that replaces nvJPEG in tests without a GPU; $UNSTARVE_NVJPEG contains its path. It decodes with
// libjpeg-turbo into host memory, and declares this by a symbol.
#include "unstarve/codecs/nvjpeg/testing/host_functions.h"

namespace {

const unstarve::nvjpeg::Functions f = unstarve::testing::host_functions();
using unstarve::nvjpeg::Image;

}  // namespace

extern "C" {

int unstarve_decodes_to_host = 1;

int nvjpegGetProperty(int type, int* value) { return f.get_property(type, value); }
int nvjpegCreateEx(int backend, void* device, void* pinned, unsigned flags, void** handle) {
  return f.create(backend, device, pinned, flags, handle);
}
int nvjpegDestroy(void* handle) { return f.destroy(handle); }
int nvjpegJpegStateCreate(void* handle, void** state) { return f.state_create(handle, state); }
int nvjpegJpegStateDestroy(void* state) { return f.state_destroy(state); }
int nvjpegJpegStreamCreate(void* handle, void** stream) { return f.stream_create(handle, stream); }
int nvjpegJpegStreamDestroy(void* stream) { return f.stream_destroy(stream); }
int nvjpegJpegStreamParseHeader(void* handle, const unsigned char* data, std::size_t length, void* stream) {
  return f.stream_parse_header(handle, data, length, stream);
}
int nvjpegJpegStreamGetFrameDimensions(void* stream, unsigned* width, unsigned* height) {
  return f.stream_dimensions(stream, width, height);
}
int nvjpegDecodeBatchedSupported(void* handle, void* stream, int* supported) {
  return f.batched_supported(handle, stream, supported);
}
int nvjpegDecodeBatchedInitialize(void* handle, void* state, int files, int threads, int format) {
  return f.batched_initialize(handle, state, files, threads, format);
}
int nvjpegDecodeBatched(void* handle, void* state, const unsigned char* const* data, const std::size_t* lengths,
                        Image* to, void* stream) {
  return f.decode_batched(handle, state, data, lengths, to, stream);
}
int nvjpegDecode(void* handle, void* state, const unsigned char* data, std::size_t length, int format, Image* to,
                 void* stream) {
  return f.decode(handle, state, data, length, format, to, stream);
}

}  // extern "C"
