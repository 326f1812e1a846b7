/* An OpenCL library that hands wrong kernels and copies to the real one, which it is linked with.

   WRONG_KERNEL, of lines FROM=>TO: each text in a kernel becomes another before it is compiled; both have the same length. WRONG_COPY=1: the last byte of every copy between host and device of more than 64 bytes is left out. PCI_BUS=N: the device says that it is device 0 of bus N of domain 1. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { shortest_copy = 64 };

static void* real(const char* name) {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  void* function = library != NULL ? dlsym(library, name) : NULL;
  if (function == NULL) abort();
  return function;
}

static void replace(char* text) {
  const char* rules = getenv("WRONG_KERNEL");
  char rule[1024];
  for (int read = 0; rules != NULL && sscanf(rules, "%1023[^\n]%n", rule, &read) == 1;
       rules += read + (rules[read] == '\n')) {
    char* to = strstr(rule, "=>");
    if (to == NULL) abort();
    *to = 0;
    char* place = strstr(text, rule);
    if (place == NULL) continue;
    fprintf(stderr, "wrong kernel: %s\n", rule);
    memcpy(place, to + 2, strlen(rule));
  }
}

void* clCreateProgramWithSource(void* context, uint32_t count, const char** texts, const size_t* lengths,
                                int32_t* status) {
  void* (*make)(void*, uint32_t, const char**, const size_t*, int32_t*) = real("clCreateProgramWithSource");
  if (count != 1 || lengths != NULL) abort();
  char* text = strdup(*texts);
  replace(text);
  const char* wrong = text;
  void* program = make(context, 1, &wrong, NULL, status);
  free(text);
  return program;
}

typedef int32_t Copy(void*, void*, uint32_t, size_t, size_t, void*, uint32_t, const void*, void*);

static int32_t copy(const char* name, void* queue, void* array, size_t bytes, void* host, void* event) {
  Copy* function = real(name);
  const size_t left_out = getenv("WRONG_COPY") != NULL && bytes > shortest_copy;
  return function(queue, array, 0, 0, bytes - left_out, host, 0, NULL, event);
}

int32_t clEnqueueWriteBuffer(void* queue, void* array, uint32_t blocking, size_t offset, size_t bytes, void* host,
                             uint32_t waits, const void* for_events, void* event) {
  (void)blocking, (void)offset, (void)waits, (void)for_events;
  return copy("clEnqueueWriteBuffer", queue, array, bytes, host, event);
}

int32_t clEnqueueReadBuffer(void* queue, void* array, uint32_t blocking, size_t offset, size_t bytes, void* host,
                            uint32_t waits, const void* for_events, void* event) {
  (void)blocking, (void)offset, (void)waits, (void)for_events;
  return copy("clEnqueueReadBuffer", queue, array, bytes, host, event);
}

int32_t clGetDeviceInfo(void* device, uint32_t what, size_t size, void* to, size_t* needed) {
  enum { extensions = 0x1030, pci_bus = 0x410f };
  int32_t (*ask)(void*, uint32_t, size_t, void*, size_t*) = real("clGetDeviceInfo");
  const char* bus = getenv("PCI_BUS");
  const uint32_t place[4] = {1, bus != NULL ? atoi(bus) : 0, 0, 0};
  const char told[] = "cl_khr_fp64 cl_khr_pci_bus_info";
  if (bus == NULL || (what != extensions && what != pci_bus)) return ask(device, what, size, to, needed);
  const size_t length = what == pci_bus ? sizeof place : sizeof told;
  if (needed != NULL) *needed = length;
  if (to != NULL) memcpy(to, what == pci_bus ? (const void*)place : told, length);
  return 0;
}
