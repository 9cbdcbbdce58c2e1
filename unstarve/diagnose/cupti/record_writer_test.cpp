#include "unstarve/diagnose/cupti/record_writer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "unstarve/core/file.h"
#include "unstarve/diagnose/traces/kernel_log_file.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

CuptiKernelRecord kernel_record(const char* name, std::uint64_t start, std::uint64_t end) {
  CuptiKernelRecord record{};
  record.kind = kCuptiConcurrentKernel;
  record.start = start;
  record.end = end;
  record.device = 1;
  record.context = 2;
  record.stream = 7;
  record.name = name;
  return record;
}

TEST_CASE("records of CUPTI as entries of the log") {
  const testing::TemporaryFolder folder;
  {
    KernelLog log;
    REQUIRE(log.open(folder.path().c_str()));
    CuptiFunctions cupti;
    cupti.function_name = [](std::uint32_t domain, std::uint32_t function, const char** name) {
      *name = domain == kCuptiRuntime && function == 9 ? "cudaLaunchKernel_v7000" : "another";
      return kCuptiSuccess;
    };
    RecordWriter writer(log, cupti);
    const auto write = [&](const auto& record) { writer.write(reinterpret_cast<const CuptiRecord*>(&record)); };
    {
      const std::string unloaded = "gemm";  // a name that is gone when the next kernel has it
      write(kernel_record(unloaded.c_str(), 1000, 3000));
    }
    write(kernel_record("gemm", 4000, 5000));
    write(kernel_record(nullptr, 6000, 7000));
    write(kernel_record("gemm", 0, 0));        // times were not collected
    write(kernel_record("gemm", 9000, 8000));  // damaged
    CuptiMemcpyRecord copy{};
    copy.kind = kCuptiMemcpy;
    copy.copy_kind = 2;  // to the host
    copy.source = 3;
    copy.destination = 1;
    copy.bytes = 4096;
    copy.start = copy.end = 5000;
    write(copy);
    CuptiCallRecord call{};
    call.kind = kCuptiRuntimeCall;
    call.function = 9;
    call.start = 100;
    call.end = 200;
    call.thread = 77;
    write(call);
    CuptiMemoryRecord memory{};
    memory.kind = kCuptiMemory;
    memory.operation = kMemoryAllocated;
    memory.address = 0x7f00;
    memory.bytes = 1 << 21;
    memory.time = 5000;
    write(memory);
    CuptiUnifiedMemoryRecord unified{};
    unified.kind = kCuptiUnifiedMemory;
    unified.counter = kCuptiUnifiedToHost;
    unified.value = 65536;
    unified.start = 300;
    unified.end = 400;
    unified.source = 1;
    write(unified);  // pages that are copied
    unified.counter = kCuptiUnifiedGpuFault;
    unified.value = 12;
    write(unified);
    unified.counter = kCuptiUnifiedCpuFault;  // its value is an address
    write(unified);
    write(CuptiRecord{99});
    CuptiOverheadRecord overhead{};
    overhead.kind = kCuptiOverhead;
    overhead.overhead = 3 << 16;
    overhead.object = kCuptiThread;
    overhead.id[1] = static_cast<std::uint32_t>(pthread_self());
    overhead.start = 500;
    overhead.end = 600;
    write(overhead);
    writer.set_own_thread();
    write(overhead);  // from here on, of the thread that records
    overhead.id[1] = static_cast<std::uint32_t>(syscall(SYS_gettid));
    write(overhead);
  }
  const std::string bytes = read_text_file(folder.path() / (std::to_string(getpid()) + ".cupti"));
  const KernelLogFile file =
      parse_kernel_log({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "written");
  CHECK(file.names == std::map<std::uint32_t, std::string>{{1, "gemm"}, {2, "unknown"}, {3, "cudaLaunchKernel_v7000"}});
  REQUIRE(file.entries.size() == 9);
  CHECK(file.entries[0].name == 1);
  CHECK(file.entries[0].device == 1);
  CHECK(file.entries[0].lane == ((std::uint64_t{2} << 32) | 7));
  CHECK(file.entries[1].name == 1);
  CHECK(file.entries[2].name == 2);
  CHECK(file.entries[3].kind == KernelLogKind::kCopy);
  CHECK(file.entries[3].memory == 1);  // that of the host
  CHECK(file.entries[3].value == 4096);
  CHECK(file.entries[4].kind == KernelLogKind::kCall);
  CHECK(file.entries[4].name == 3);
  CHECK(file.entries[4].lane == 77);
  CHECK(file.entries[5].kind == KernelLogKind::kCopy);
  CHECK(file.entries[5].lane == kUnifiedLane);
  CHECK(file.entries[5].device == 1);
  CHECK(file.entries[5].value == 65536);
  CHECK(file.entries[6].kind == KernelLogKind::kUnified);
  CHECK(file.entries[6].value == 12);
  CHECK(file.entries[6].end_ns == 400);
  CHECK(file.entries[7].value == 1);
  CHECK(file.entries[7].end_ns == 300);
  CHECK(file.entries[8].kind == KernelLogKind::kOverhead);
  CHECK(file.entries[8].detail == 3);
  REQUIRE(file.memory.size() == 1);
  CHECK(file.memory[0].lane == 0x7f00);
  CHECK(file.memory[0].value == 1 << 21);
}

}  // namespace
}  // namespace unstarve
