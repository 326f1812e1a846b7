/* The loops that everybody writes for a device: what device.stream, launch, transfer and matrix_multiply must agree with.
 *
 * usage: plain_device cuda|opencl WHAT BYTES CALLS LOOPS [WHAT BYTES CALLS LOOPS...]
 * WHAT: triad, launch, to_device, to_host; with CUDA also double or half, a product of matrices of so many bytes each.
 * Prints one line per loop: seconds per call, each from the call on the host until the device has done it. No event of the
 * device is recorded. The first loop is not printed. The libraries are those that Scope opens, $SCOPE_CUDA, $SCOPE_NVRTC,
 * $SCOPE_CUBLAS and $SCOPE_OPENCL included.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { group = 256 };

static const char* const words_of_cuda =
    "#define KERNEL extern \"C\" __global__ void\n#define GLOBAL\n"
    "#define ITEM ((size_t)blockIdx.x * blockDim.x + threadIdx.x)\n";
static const char* const words_of_opencl =
    "#define KERNEL __kernel void\n#define GLOBAL __global\n#define ITEM get_global_id(0)\n";
static const char* const kernels =
    "KERNEL triad(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {\n"
    "  if (ITEM < n) c[ITEM] = a[ITEM] + 3.0 * b[ITEM];\n}\n"
    "KERNEL launch(GLOBAL unsigned int* count) { count[0] += 1; }\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "plain_device: %s failed\n", what);
  exit(1);
}

static void* opened(const char* variable, const char* usual) {
  const char* named = getenv(variable);
  void* library = dlopen(named != NULL && *named != 0 ? named : usual, RTLD_NOW);
  require(library != NULL, usual);
  return library;
}

/* FUNCTION(library, result, name, parameters...) declares a function of a library. */
#define FUNCTION(library, result, name, ...) \
  result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(library, #name); \
  require(name != NULL, #name)

#define TIMED(loops, calls, ...)                            \
  for (int loop = 0; loop <= (loops); ++loop) {             \
    const double start = now();                             \
    for (int call = 0; call < (calls); ++call) __VA_ARGS__; \
    if (loop > 0) printf("%.9e\n", (now() - start) / (calls)); \
  }

static char* text_of(const char* words) {
  char* text = malloc(strlen(words) + strlen(kernels) + 1);
  return strcat(strcpy(text, words), kernels);
}

/* Whole numbers from -8 to 8 in double or half precision. */
static void fill_matrix(void* to, size_t bytes, int is_half) {
  const size_t width = is_half ? 2 : 8;
  for (size_t i = 0; i < bytes / width; ++i) {
    const double number = rand() % 17 - 8;
    const float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    bits = number == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10));
    memcpy((char*)to + i * width, is_half ? (void*)&bits : (void*)&number, width);
  }
}

static void multiply_with_cublas(uint64_t arrays[3], int n, int is_half, void* stream, void* synchronize, int loops) {
  void* cublas = opened("SCOPE_CUBLAS", "libcublas.so.12");
  FUNCTION(cublas, int, cublasCreate_v2, void**);
  FUNCTION(cublas, int, cublasSetStream_v2, void*, void*);
  FUNCTION(cublas, int, cublasSetMathMode, void*, int);
  FUNCTION(cublas, int, cublasGemmEx, void*, int, int, int, int, int, const void*, uint64_t, int, int, uint64_t, int,
           int, const void*, uint64_t, int, int, int, int);
  int (*cuStreamSynchronize)(void*) = (int (*)(void*))synchronize;
  void* handle;
  const double one = 1, zero = 0;
  const float half_one = 1, half_zero = 0; /* sums are in single precision */
  const void *alpha = is_half ? (void*)&half_one : (void*)&one, *beta = is_half ? (void*)&half_zero : (void*)&zero;
  const int type = is_half ? 2 : 1, sums = is_half ? 68 : 70;
  require(cublasCreate_v2(&handle) == 0 && cublasSetStream_v2(handle, stream) == 0 &&
              cublasSetMathMode(handle, 16) == 0,
          "cublasCreate");
  int wrong = 0;
  TIMED(loops, 1, {
    wrong |= cublasGemmEx(handle, 0, 0, n, n, n, alpha, arrays[0], type, n, arrays[1], type, n, beta, arrays[2], type, n,
                          sums, -1);
    wrong |= cuStreamSynchronize(stream);
  })
  require(wrong == 0, "cublasGemmEx");
}

static void with_cuda(const char* what, size_t bytes, int calls, int loops) {
  void* cuda = opened("SCOPE_CUDA", "libcuda.so.1");
  void* nvrtc = opened("SCOPE_NVRTC", "libnvrtc.so.12");
  FUNCTION(cuda, int, cuInit, unsigned);
  FUNCTION(cuda, int, cuDeviceGetAttribute, int*, int, int);
  FUNCTION(cuda, int, cuDevicePrimaryCtxRetain, void**, int);
  FUNCTION(cuda, int, cuCtxSetCurrent, void*);
  FUNCTION(cuda, int, cuMemAlloc_v2, uint64_t*, size_t);
  FUNCTION(cuda, int, cuMemHostAlloc, void**, size_t, unsigned);
  FUNCTION(cuda, int, cuMemcpyHtoDAsync_v2, uint64_t, const void*, size_t, void*);
  FUNCTION(cuda, int, cuMemcpyDtoHAsync_v2, void*, uint64_t, size_t, void*);
  FUNCTION(cuda, int, cuModuleLoadData, void**, const void*);
  FUNCTION(cuda, int, cuModuleGetFunction, void**, void*, const char*);
  FUNCTION(cuda, int, cuLaunchKernel, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
           void*, void**, void**);
  FUNCTION(cuda, int, cuStreamCreate, void**, unsigned);
  FUNCTION(cuda, int, cuStreamSynchronize, void*);
  FUNCTION(nvrtc, int, nvrtcCreateProgram, void**, const char*, const char*, int, const char**, const char**);
  FUNCTION(nvrtc, int, nvrtcCompileProgram, void*, int, const char**);
  FUNCTION(nvrtc, int, nvrtcGetCUBINSize, void*, size_t*);
  FUNCTION(nvrtc, int, nvrtcGetCUBIN, void*, char*);

  void *context, *stream, *module, *kernel, *program, *host;
  int capability[2], most;
  require(cuInit(0) == 0, "cuInit");
  require(cuDeviceGetAttribute(&capability[0], 75, 0) == 0 && cuDeviceGetAttribute(&capability[1], 76, 0) == 0 &&
              cuDeviceGetAttribute(&most, 1, 0) == 0,
          "cuDeviceGetAttribute");
  require(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0, "cuCtxSetCurrent");
  require(cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");

  char option[64];
  snprintf(option, sizeof option, "--gpu-architecture=sm_%d%d", capability[0], capability[1]);
  const char* options = option;
  size_t length = 0;
  require(nvrtcCreateProgram(&program, text_of(words_of_cuda), "plain", 0, NULL, NULL) == 0, "nvrtcCreateProgram");
  require(nvrtcCompileProgram(program, 1, &options) == 0 && nvrtcGetCUBINSize(program, &length) == 0,
          "nvrtcCompileProgram");
  char* code = malloc(length);
  require(nvrtcGetCUBIN(program, code) == 0 && cuModuleLoadData(&module, code) == 0, "cuModuleLoadData");

  const int copies = strncmp(what, "to_", 3) == 0, empty = strcmp(what, "launch") == 0;
  const int is_half = strcmp(what, "half") == 0, product = is_half || strcmp(what, "double") == 0;
  uint64_t arrays[3];
  for (int i = 0; i < 3; ++i) require(cuMemAlloc_v2(&arrays[i], bytes) == 0, "cuMemAlloc");
  require(cuMemHostAlloc(&host, bytes, 0) == 0, "cuMemHostAlloc");
  product ? fill_matrix(host, bytes, is_half) : (void)memset(host, 1, bytes);
  for (int i = 0; i < 3; ++i) require(cuMemcpyHtoDAsync_v2(arrays[i], host, bytes, stream) == 0, "cuMemcpyHtoDAsync");
  require(cuStreamSynchronize(stream) == 0, "cuStreamSynchronize");

  if (product) {
    int order = 1;
    while ((size_t)order * order * (is_half ? 2 : 8) < bytes) ++order;
    multiply_with_cublas(arrays, order, is_half, stream, (void*)cuStreamSynchronize, loops);
    return;
  }
  int64_t n = (int64_t)(bytes / sizeof(double));
  void* arguments[] = {&arrays[0], &arrays[1], &arrays[2], &n};
  const unsigned items = empty ? 1 : most < group ? (unsigned)most : group;
  const unsigned groups = empty ? 1 : (unsigned)((n + items - 1) / items);
  if (!copies) require(cuModuleGetFunction(&kernel, module, what) == 0, "cuModuleGetFunction");
  int wrong = 0;
  if (!copies) {
    TIMED(loops, calls, {
      wrong |= cuLaunchKernel(kernel, groups, 1, 1, items, 1, 1, 0, stream, arguments, NULL);
      wrong |= cuStreamSynchronize(stream);
    })
  } else if (strcmp(what, "to_device") == 0) {
    TIMED(loops, calls, {
      wrong |= cuMemcpyHtoDAsync_v2(arrays[0], host, bytes, stream);
      wrong |= cuStreamSynchronize(stream);
    })
  } else {
    TIMED(loops, calls, {
      wrong |= cuMemcpyDtoHAsync_v2(host, arrays[0], bytes, stream);
      wrong |= cuStreamSynchronize(stream);
    })
  }
  require(wrong == 0, what);
}

static void with_opencl(const char* what, size_t bytes, int calls, int loops) {
  void* opencl = opened("SCOPE_OPENCL", "libOpenCL.so.1");
  FUNCTION(opencl, int, clGetPlatformIDs, unsigned, void**, unsigned*);
  FUNCTION(opencl, int, clGetDeviceIDs, void*, uint64_t, unsigned, void**, unsigned*);
  FUNCTION(opencl, void*, clCreateContext, const void*, unsigned, void**, void*, void*, int*);
  FUNCTION(opencl, void*, clCreateCommandQueue, void*, void*, uint64_t, int*);
  FUNCTION(opencl, void*, clCreateBuffer, void*, uint64_t, size_t, void*, int*);
  FUNCTION(opencl, void*, clEnqueueMapBuffer, void*, void*, unsigned, uint64_t, size_t, size_t, unsigned, void*, void*,
           int*);
  FUNCTION(opencl, int, clEnqueueWriteBuffer, void*, void*, unsigned, size_t, size_t, const void*, unsigned, void*,
           void*);
  FUNCTION(opencl, int, clEnqueueReadBuffer, void*, void*, unsigned, size_t, size_t, void*, unsigned, void*, void*);
  FUNCTION(opencl, void*, clCreateProgramWithSource, void*, unsigned, const char**, const size_t*, int*);
  FUNCTION(opencl, int, clBuildProgram, void*, unsigned, void**, const char*, void*, void*);
  FUNCTION(opencl, void*, clCreateKernel, void*, const char*, int*);
  FUNCTION(opencl, int, clSetKernelArg, void*, unsigned, size_t, const void*);
  FUNCTION(opencl, int, clEnqueueNDRangeKernel, void*, void*, unsigned, const size_t*, const size_t*, const size_t*,
           unsigned, void*, void*);
  FUNCTION(opencl, int, clFinish, void*);

  void *platform, *device, *arrays[3];
  int wrong = 0;
  require(clGetPlatformIDs(1, &platform, NULL) == 0 && clGetDeviceIDs(platform, 0xffffffff, 1, &device, NULL) == 0,
          "clGetDeviceIDs");
  void* context = clCreateContext(NULL, 1, &device, NULL, NULL, &wrong);
  void* queue = clCreateCommandQueue(context, device, 0, &wrong);
  const char* text = text_of(words_of_opencl);
  void* program = clCreateProgramWithSource(context, 1, &text, NULL, &wrong);
  require(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL) == 0, "clBuildProgram");
  for (int i = 0; i < 3; ++i) arrays[i] = clCreateBuffer(context, 1, bytes, NULL, &wrong);
  void* in_host_memory = clCreateBuffer(context, 1 | 16, bytes, NULL, &wrong);
  void* host = clEnqueueMapBuffer(queue, in_host_memory, 1, 3, 0, bytes, 0, NULL, NULL, &wrong);
  require(host != NULL, "clEnqueueMapBuffer");
  memset(host, 1, bytes);
  for (int i = 0; i < 3; ++i) wrong |= clEnqueueWriteBuffer(queue, arrays[i], 1, 0, bytes, host, 0, NULL, NULL);
  require(wrong == 0, "clEnqueueWriteBuffer");

  const int copies = strncmp(what, "to_", 3) == 0, empty = strcmp(what, "launch") == 0;
  const int64_t n = (int64_t)(bytes / sizeof(double));
  const size_t local = empty ? 1 : group, global = empty ? 1 : ((size_t)n + group - 1) / group * group;
  void* kernel = copies ? NULL : clCreateKernel(program, what, &wrong);
  for (unsigned i = 0; !copies && i < (empty ? 1u : 3u); ++i)
    wrong |= clSetKernelArg(kernel, i, sizeof arrays[i], &arrays[i]);
  if (!copies && !empty) wrong |= clSetKernelArg(kernel, 3, sizeof n, &n);
  require(wrong == 0, "clSetKernelArg");
  if (!copies) {
    TIMED(loops, calls, {
      wrong |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
      wrong |= clFinish(queue);
    })
  } else if (strcmp(what, "to_device") == 0) {
    TIMED(loops, calls, {
      wrong |= clEnqueueWriteBuffer(queue, arrays[0], 0, 0, bytes, host, 0, NULL, NULL);
      wrong |= clFinish(queue);
    })
  } else {
    TIMED(loops, calls, {
      wrong |= clEnqueueReadBuffer(queue, arrays[0], 0, 0, bytes, host, 0, NULL, NULL);
      wrong |= clFinish(queue);
    })
  }
  require(wrong == 0, what);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
  if (argc < 6 || argc % 4 != 2) return 2;
  for (char** words = argv + 2; *words != NULL; words += 4)
    (cuda ? with_cuda : with_opencl)(words[0], strtoull(words[1], NULL, 10), atoi(words[2]), atoi(words[3]));
  MPI_Finalize();
  return 0;
}
