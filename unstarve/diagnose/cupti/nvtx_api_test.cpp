#include "unstarve/diagnose/cupti/nvtx_api.h"

#ifdef UNSTARVE_NVTX_INCLUDE  // where the CUDA toolkit is installed

#include <nvToolsExt.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "unstarve/diagnose/cupti/nvtx_ranges.h"
#include "unstarve/diagnose/cupti/range_fixture.h"

namespace unstarve {
namespace {

static_assert(kNvtxCallbacks == NVTX_ETID_CALLBACKS);
static_assert(kNvtxCore == NVTX_CB_MODULE_CORE && kNvtxCore2 == NVTX_CB_MODULE_CORE2);
static_assert(kNvtxNotTracked == NVTX_NO_PUSH_POP_TRACKING);
static_assert(kNvtxAscii == NVTX_MESSAGE_TYPE_ASCII && kNvtxWide == NVTX_MESSAGE_TYPE_UNICODE &&
              kNvtxRegistered == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(kNvtxRangeStartEx == NVTX_CBID_CORE_RangeStartEx && kNvtxRangeStartA == NVTX_CBID_CORE_RangeStartA &&
              kNvtxRangeStartW == NVTX_CBID_CORE_RangeStartW && kNvtxRangeEnd == NVTX_CBID_CORE_RangeEnd &&
              kNvtxRangePushEx == NVTX_CBID_CORE_RangePushEx && kNvtxRangePushA == NVTX_CBID_CORE_RangePushA &&
              kNvtxRangePushW == NVTX_CBID_CORE_RangePushW && kNvtxRangePop == NVTX_CBID_CORE_RangePop);
static_assert(kNvtxDomainRangeStartEx == NVTX_CBID_CORE2_DomainRangeStartEx &&
              kNvtxDomainRangeEnd == NVTX_CBID_CORE2_DomainRangeEnd &&
              kNvtxDomainRangePushEx == NVTX_CBID_CORE2_DomainRangePushEx &&
              kNvtxDomainRangePop == NVTX_CBID_CORE2_DomainRangePop &&
              kNvtxDomainRegisterStringA == NVTX_CBID_CORE2_DomainRegisterStringA &&
              kNvtxDomainRegisterStringW == NVTX_CBID_CORE2_DomainRegisterStringW &&
              kNvtxDomainCreateA == NVTX_CBID_CORE2_DomainCreateA &&
              kNvtxDomainCreateW == NVTX_CBID_CORE2_DomainCreateW);

#define SAME(own, own_member, real, real_member)                            \
  static_assert(offsetof(own, own_member) == offsetof(real, real_member) && \
                sizeof(own::own_member) == sizeof(real::real_member) && sizeof(own) == sizeof(real))
SAME(NvtxAttributes, version, nvtxEventAttributes_t, version);
SAME(NvtxAttributes, bytes, nvtxEventAttributes_t, size);
SAME(NvtxAttributes, message_type, nvtxEventAttributes_t, messageType);
SAME(NvtxAttributes, message, nvtxEventAttributes_t, message);
SAME(NvtxTables, bytes, NvtxExportTableCallbacks, struct_size);
SAME(NvtxTables, table_of, NvtxExportTableCallbacks, GetModuleFunctionTable);
#undef SAME

nvtxEventAttributes_t named(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  return attributes;
}

TEST_CASE("ranges of the real NVTX are recorded") {
  REQUIRE(attach_nvtx(NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)));
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  REQUIRE(domain != nullptr);
  CHECK(domain == nvtxDomainCreateA("library"));
  CHECK(domain != nvtxDomainCreateA("other"));
  nvtxEventAttributes_t registered = named(nullptr);
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  const nvtxEventAttributes_t attributes = named("attributes");
  const RecordedRanges recorded = ranges_recorded([&] {
    CHECK(nvtxRangePushA("step 7") == NVTX_NO_PUSH_POP_TRACKING);
    nvtxDomainRangePushEx(domain, &registered);
    nvtxRangePushEx(&attributes);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    nvtxRangePushW(L"wide");
    nvtxRangePop();
    nvtxRangePop();
    const nvtxRangeId_t a = nvtxRangeStartA("started"), b = nvtxDomainRangeStartEx(domain, &attributes);
    CHECK(a != b);
    std::thread([&] { nvtxRangeEnd(a); }).join();
    nvtxDomainRangeEnd(domain, b);
    nvtxMarkA("a mark");  // ignored
    nvtxDomainDestroy(domain);
  });
  CHECK(recorded.all);
  CHECK(recorded.names() ==
        std::vector<std::string>{"registered", "attributes", "wide", "step 7", "started", "attributes"});
  CHECK(recorded.list[0].lane == recorded.list[3].lane);
  CHECK(recorded.list[3].lane != recorded.list[4].lane);
}

}  // namespace
}  // namespace unstarve

#endif
