/* A disk that goes wrong, preloaded under the native program: of the calls on files of one storage case that a process makes.

   WRONG_DISK=flip:N      the N-th read has one wrong byte
   WRONG_DISK=keep:N      the N-th read and all later ones succeed without data
   WRONG_DISK=unwritten:N the N-th write and all later ones succeed without effect
   WRONG_DISK=full:N      the N-th write and all later ones fail: no space is left
   WRONG_DISK=list:1      none of this: reads and writes are listed with their places

   Every case has a folder of its own, with which counting begins anew. What was done is written to standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[4096];
static long reads, writes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of this call of its kind in its case; 0 where the file belongs to none. */
static long number_of(int descriptor, long* count) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  char* end = strstr(path, "/scope-storage-");
  if (end == NULL) return 0;
  end = strchr(end + 1, '/');
  if (end == NULL || strncmp(end, "/probe", 6) == 0) return 0;
  *end = 0;
  pthread_mutex_lock(&lock);
  if (strcmp(folder, path) != 0) {
    strcpy(folder, path);
    reads = writes = 0;
  }
  const long number = ++*count;
  pthread_mutex_unlock(&lock);
  return number;
}

static void list(const char* call, long number, off_t offset) {
  const char* asked = getenv("WRONG_DISK");
  if (number != 0 && asked != NULL && strcmp(asked, "list:1") == 0)
    fprintf(stderr, "disk: %s %ld\n", call, (long)offset);
}

/* Whether the fault of this name strikes the call. */
static int strikes(const char* name, long number, int once) {
  const char* asked = getenv("WRONG_DISK");
  const size_t length = strlen(name);
  if (number == 0 || asked == NULL || strncmp(asked, name, length) != 0 || asked[length] != ':') return 0;
  const long from = atol(asked + length + 1);
  if (number == from) fprintf(stderr, "wrong disk: %s\n", asked);
  return once ? number == from : number >= from;
}

ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  const long number = number_of(descriptor, &reads);
  list("read", number, offset);
  if (strikes("keep", number, 0)) return (ssize_t)bytes;
  const ssize_t moved = syscall(SYS_pread64, descriptor, data, bytes, offset);
  if (moved > 0 && strikes("flip", number, 1)) ((unsigned char*)data)[moved / 2] ^= 0x10;
  return moved;
}
ssize_t pread64(int descriptor, void* data, size_t bytes, off_t offset) {
  return pread(descriptor, data, bytes, offset);
}
ssize_t preadv(int descriptor, const struct iovec* parts, int count, off_t offset) {
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t moved = pread(descriptor, parts[i].iov_base, parts[i].iov_len, offset + all);
    if (moved < 0) return all > 0 ? all : moved;
    all += moved;
    if (moved < (ssize_t)parts[i].iov_len) break;
  }
  return all;
}
ssize_t preadv64(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return preadv(descriptor, parts, count, offset);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  const long number = number_of(descriptor, &writes);
  list("write", number, offset);
  if (strikes("unwritten", number, 0)) return (ssize_t)bytes;
  if (strikes("full", number, 0)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  return pwrite(descriptor, data, bytes, offset);
}
ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t offset) {
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t moved = pwrite(descriptor, parts[i].iov_base, parts[i].iov_len, offset + all);
    if (moved < 0) return all > 0 ? all : moved;
    all += moved;
  }
  return all;
}
ssize_t pwritev64(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return pwritev(descriptor, parts, count, offset);
}
