#pragma once
// Reads the Chrome JSON that torch.profiler writes (Kineto), front to back.
//
//   {"schemaVersion": 1, "deviceProperties": [{"id", "name", "totalGlobalMem", "computeMajor", ...}], ...,
//    "traceEvents": [{"ph": "X", "cat": "kernel", "name", "pid", "tid", "ts", "dur", "args": {...}}, ...]}
//
//   cat                                         becomes
//   kernel                                      a kernel or a collective, by its name
//   gpu_memcpy, gpu_memset                      a copy, a memset
//   cuda_runtime, cuda_driver, *_runtime        a call of the runtime
//   cpu_op                                      an operator; "enumerate(DataLoader)#...": the loader
//   user_annotation                             a step (ProfilerStep#n), or a range with a known name
//   python_function                             the loader, a checkpoint or logging, by file and function
//   overhead                                    overhead of the profiler
//   cpu_instant_event "[memory]"                the memory that the allocator has reserved
//
// The category names of PyTorch 1.8 (Kernel, Memcpy, Runtime, Operator, ...) are accepted, too. Others are ignored.
//
// Threads: one. Failure: Error(kInput) with event and byte for damage; for JSON that is not of Kineto.
// Cost:    fixed memory, except that of the events.

#include "unstarve/diagnose/traces/json_pull.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

// `json` is at the beginning of the file; `name` is for messages.
void read_kineto(JsonPull& json, const std::string& name, TraceEvents& events);

}  // namespace unstarve
