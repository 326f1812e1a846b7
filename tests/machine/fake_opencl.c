/* An OpenCL library with two made-up devices: a processor, and a graphics processor that tells its place as FAKE_OPENCL
   says: `khr`, `nvidia`, or `known`, where the fake CUDA driver has its device. With `cpu` it has the processor alone. With
   `crash` it ends the process, with `none` it knows no platform. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char* asked(void) { return getenv("FAKE_OPENCL"); }

static int32_t answer(const void* value, size_t length, size_t size, void* to, size_t* needed) {
  if (needed != NULL) *needed = length;
  if (to == NULL) return 0;
  if (size < length) return -30; /* CL_INVALID_VALUE */
  memcpy(to, value, length);
  return 0;
}
static int32_t text(const char* value, size_t size, void* to, size_t* needed) {
  return answer(value, strlen(value) + 1, size, to, needed);
}
static int32_t word(uint32_t value, size_t size, void* to, size_t* needed) {
  return answer(&value, sizeof value, size, to, needed);
}
static int32_t longer(uint64_t value, size_t size, void* to, size_t* needed) {
  return answer(&value, sizeof value, size, to, needed);
}

int32_t clGetPlatformIDs(uint32_t places, void** platforms, uint32_t* count) {
  if (strcmp(asked(), "crash") == 0) abort();
  if (strcmp(asked(), "none") == 0) return -1001;
  if (count != NULL) *count = 1;
  if (places > 0) platforms[0] = (void*)1;
  return 0;
}
int32_t clGetPlatformInfo(void* platform, uint32_t what, size_t size, void* to, size_t* needed) {
  (void)platform;
  return what == 0x902 ? text("Made up", size, to, needed) : -30;
}
int32_t clGetDeviceIDs(void* platform, uint64_t type, uint32_t places, void** devices, uint32_t* count) {
  (void)platform, (void)type;
  if (count != NULL) *count = strcmp(asked(), "cpu") == 0 ? 1 : 2;
  if (places > 0) devices[0] = (void*)1;
  if (places > 1) devices[1] = (void*)2;
  return 0;
}
int32_t clGetDeviceInfo(void* device, uint32_t what, size_t size, void* to, size_t* needed) {
  const int gpu = device == (void*)2;
  const int nvidia = strcmp(asked(), "nvidia") == 0;
  const uint32_t place[4] = {1, 0xc1, 0, strcmp(asked(), "known") != 0};
  switch (what) {
    case 0x1000: return longer(gpu ? 4 : 2, size, to, needed);
    case 0x1002: return word(gpu ? 132 : 8, size, to, needed);
    case 0x101f: return longer(gpu ? 150000000000 : 8000000000, size, to, needed);
    case 0x102b: return text(gpu ? "Accelerator 9000" : "Processor", size, to, needed);
    case 0x102d: return text("1.2", size, to, needed);
    case 0x1030:
      return text(!gpu     ? ""
                  : nvidia ? "cl_khr_fp64 cl_nv_device_attribute_query"
                           : "cl_khr_pci_bus_info",
                  size, to, needed);
    case 0x410f: return nvidia ? -30 : answer(place, sizeof place, size, to, needed);
    case 0x4008: return nvidia ? word(0xc1, size, to, needed) : -30;
    case 0x4009: return nvidia ? word(1, size, to, needed) : -30; /* device 0, function 1 */
    case 0x400a: return nvidia ? word(1, size, to, needed) : -30;
    default: return -30;
  }
}
