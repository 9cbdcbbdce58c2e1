// A library that replaces NVML in tests without a GPU; $UNSTARVE_NVML contains its path. $NVML_STAND_IN selects what it
// reports: "troubled" (the default), "good", "hang" in nvmlInit_v2(), or the number of an error of it.
//
// $NVML_STAND_IN_SCRIPT: a file that is read at every call, with lines of a key and values that replace those of the
// selection:
//
//   utilisation 0 0 90          percent, one after the other, again from the first one
//   failure 15                  error of the utilisation
//   clock 1200                  MHz
//   reasons 4                   bits
//   process 4711 1000000 30     number, bytes, percent of the multiprocessors; one line for each. Without the percent,
//                               the process is idle, and the driver has no sample of it
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Gpu {
  bool good;
};
Gpu troubled{false}, good{true};

bool is(void* gpu) { return static_cast<Gpu*>(gpu)->good; }

std::string selected() {
  const char* const text = std::getenv("NVML_STAND_IN");
  return text != nullptr ? text : "troubled";
}

// The lines of the script with this key, without it.
std::vector<std::vector<unsigned long long>> scripted(const std::string& key) {
  std::vector<std::vector<unsigned long long>> lines;
  const char* const path = std::getenv("NVML_STAND_IN_SCRIPT");
  std::ifstream file(path != nullptr ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != key) continue;
    lines.emplace_back();
    for (unsigned long long value = 0; words >> value;) lines.back().push_back(value);
  }
  return lines;
}

unsigned long long scripted(const std::string& key, unsigned long long otherwise) {
  const auto lines = scripted(key);
  return lines.empty() || lines[0].empty() ? otherwise : lines[0][0];
}

int running = 0;  // calls of nvmlInit_v2() without nvmlShutdown()

int copy(const char* text, char* to, unsigned length) {
  if (std::strlen(text) >= length) return 7;
  std::strcpy(to, text);
  return 0;
}

struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;
};
struct ProcessSample {
  unsigned process;
  unsigned long long microseconds;
  unsigned multiprocessors, memory, encoder, decoder;
};
struct Process {
  unsigned process;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int nvml_stand_in_running() { return running; }

int nvmlInit_v2() {
  if (selected() == "hang") sleep(600);
  const int error = std::atoi(selected().c_str());
  running += error == 0;
  return error;
}
int nvmlShutdown() {
  --running;
  return 0;
}
const char* nvmlErrorString(int status) {
  return status == 18 ? "Driver/library version mismatch" : "Driver Not Loaded";
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return copy("580.65.06", text, length); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = selected() == "good" ? 1 : 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  if (selected() != "good" && index == 1) return 15;  // it is lost
  *gpu = selected() == "good" ? &good : &troubled;
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned length) { return copy("NVIDIA H100 80GB HBM3", text, length); }
int nvmlDeviceGetPciInfo_v3(void*, PciInfo* info) { return copy("00000000:4A:00.0", info->address, 32); }
int nvmlDeviceGetPersistenceMode(void* gpu, int* mode) {
  *mode = is(gpu);
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* gpu, unsigned* value) {
  *value = is(gpu) ? 5 : 3;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  *value = 5;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* gpu, unsigned* value) {
  *value = is(gpu) ? 16 : 8;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetPerformanceState(void*, int* state) {
  *state = 0;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* gpu, unsigned* value) {
  *value = is(gpu) ? 700'000 : 400'000;
  return 0;
}
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* value) {
  *value = 700'000;
  return 0;
}
int nvmlDeviceGetClockInfo(void* gpu, int clock, unsigned* value) {
  *value = static_cast<unsigned>(scripted("clock", is(gpu) ? 1980 : 1200));
  return clock == 1 ? 0 : 2;
}
int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned* value) {
  *value = 1980;
  return clock == 1 ? 0 : 2;
}
// Troubled: at the power limit, a clock setting, too hot. Good: idle, at the power limit.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, unsigned long long* bits) {
  *bits = scripted("reasons", is(gpu) ? 0x05 : 0x66);
  return 0;
}
int nvmlDeviceGetEccMode(void* gpu, int* mode, int* pending) {
  *mode = *pending = 1;
  return is(gpu) ? 0 : 3;  // not supported
}
int nvmlDeviceGetTotalEccErrors(void* gpu, int type, int counter, unsigned long long* count) {
  *count = is(gpu) ? 0 : 2;
  return type == 1 && counter == 0 ? 0 : 2;
}
int nvmlDeviceGetMemoryInfo(void* gpu, Memory* memory) {
  memory->total = 80ull << 30;
  memory->used = is(gpu) ? 500ull << 20 : 30ull << 30;
  memory->free = memory->total - memory->used;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* gpu, unsigned* count, Process* processes) {
  const unsigned capacity = *count;
  if (const auto lines = scripted("process"); !lines.empty()) {
    *count = static_cast<unsigned>(lines.size());
    if (capacity < lines.size() || processes == nullptr) return 7;
    for (std::size_t i = 0; i < lines.size(); ++i)
      processes[i] = {static_cast<unsigned>(lines[i].at(0)), lines[i].at(1), 0, 0};
    return 0;
  }
  *count = is(gpu) ? 0 : 2;
  if (*count == 0) return 0;
  if (capacity < 2 || processes == nullptr) return 7;
  processes[0] = {4711, 20ull << 30, 0, 0};
  processes[1] = {4712, ~0ull, 0, 0};
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  *value = 350'000;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* value) {
  *value = 71;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetUtilizationRates(void*, Utilisation* utilisation) {
  if (const auto failure = scripted("failure", 0); failure != 0) return static_cast<int>(failure);
  static std::size_t call = 0;
  const auto lines = scripted("utilisation");
  *utilisation = {80, 40};
  if (!lines.empty() && !lines[0].empty()) utilisation->gpu = static_cast<unsigned>(lines[0][call++ % lines[0].size()]);
  return 0;
}
// One new sample of each busy process at every call; not supported without a script.
int nvmlDeviceGetProcessUtilization(void*, ProcessSample* samples, unsigned* count, unsigned long long latest) {
  auto lines = scripted("process");
  if (lines.empty()) return 3;
  std::erase_if(lines, [](const auto& line) { return line.size() < 3; });
  const unsigned capacity = *count;
  *count = static_cast<unsigned>(lines.size());
  if (lines.empty()) return 6;
  if (capacity < lines.size() || samples == nullptr) return 7;
  for (std::size_t i = 0; i < lines.size(); ++i)
    samples[i] = {static_cast<unsigned>(lines[i].at(0)), latest + 1, static_cast<unsigned>(lines[i].at(2)), 0, 0, 0};
  return 0;
}

}  // extern "C"
