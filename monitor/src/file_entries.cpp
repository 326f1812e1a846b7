// The entries of the C library that programs call for files. Each passes its arguments on unchanged and leaves
// errno as the library set it. Nothing else happens in processes that are not monitored, and for descriptors that
// are not regular files.
#undef _FORTIFY_SOURCE  // avoids the library's own inline versions
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "files.hpp"

#define SCOPE_ENTRY extern "C" __attribute__((visibility("default")))

// The library's own function of the same name. Two threads that look it up at once find the same function.
#define SCOPE_BEHIND(name)                 \
  static decltype(&name) behind = nullptr; \
  if (!behind) [[unlikely]]                \
    behind = reinterpret_cast<decltype(behind)>(dlsym(RTLD_NEXT, #name));

using namespace scope;

namespace {

constexpr auto reads = Action::read;
constexpr auto writes = Action::write;

// The mode argument of open, which is present only with some flags.
mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(rest, mode_t) : 0;
}

bool locks(int command) {
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: return true;
    default: return false;
  }
}

template <typename Open>
int opens(const char* path, const Open& open) {
  if (!watching()) return open();
  const u8 begin = ticks_now();
  const int descriptor = open();
  if (descriptor >= 0) opened_descriptor(descriptor, path, begin, Layer::posix);
  return descriptor;
}

template <typename Transfer>
ssize_t transfers(int descriptor, Action action, const Transfer& transfer) {
  if (!followed(descriptor)) return transfer();
  const u8 begin = ticks_now();
  const ssize_t bytes = transfer();
  transferred(descriptor, action, begin, bytes);
  return bytes;
}

template <typename Transfer>
ssize_t transfers_at(int descriptor, Action action, off64_t offset, const Transfer& transfer) {
  if (!followed(descriptor)) return transfer();
  const u8 begin = ticks_now();
  const ssize_t bytes = transfer();
  transferred_at(descriptor, action, begin, bytes, static_cast<u8>(offset));
  return bytes;
}

template <typename Seek>
off64_t seeks(int descriptor, const Seek& seek) {
  if (!followed(descriptor)) return seek();
  const u8 begin = ticks_now();
  const off64_t position = seek();
  moved(descriptor, begin, position);
  return position;
}

template <typename Sync>
int syncs(int descriptor, const Sync& sync) {
  if (!followed(descriptor)) return sync();
  const u8 begin = ticks_now();
  const int code = sync();
  synchronized(descriptor, begin, Layer::posix);
  return code;
}

template <typename Open>
FILE* opens_stream(const char* path, const Open& open) {
  if (!watching()) return open();
  const u8 begin = ticks_now();
  FILE* const stream = open();
  if (stream) opened_descriptor(fileno_unlocked(stream), path, begin, Layer::stream);
  return stream;
}

// Number of bytes from the result of a call.
template <typename Call, typename Bytes>
auto streams(FILE* stream, Action action, const Call& call, const Bytes& bytes) {
  const int descriptor = stream ? fileno_unlocked(stream) : -1;
  if (!followed(descriptor)) return call();
  const u8 begin = ticks_now();
  const auto result = call();
  streamed(descriptor, action, begin, bytes(result));
  return result;
}

u8 printed(int result) { return result > 0 ? static_cast<u8>(result) : 0; }

u8 nothing(int) { return 0; }

}  // namespace

#define SCOPE_OPEN(name)                                           \
  SCOPE_ENTRY int name(const char* path, int flags, ...) {         \
    SCOPE_BEHIND(name)                                             \
    va_list rest;                                                  \
    va_start(rest, flags);                                         \
    const mode_t mode = mode_of(flags, rest);                      \
    va_end(rest);                                                  \
    return opens(path, [&] { return behind(path, flags, mode); }); \
  }
SCOPE_OPEN(open)
SCOPE_OPEN(open64)

#define SCOPE_OPENAT(name)                                                 \
  SCOPE_ENTRY int name(int folder, const char* path, int flags, ...) {     \
    SCOPE_BEHIND(name)                                                     \
    va_list rest;                                                          \
    va_start(rest, flags);                                                 \
    const mode_t mode = mode_of(flags, rest);                              \
    va_end(rest);                                                          \
    return opens(path, [&] { return behind(folder, path, flags, mode); }); \
  }
SCOPE_OPENAT(openat)
SCOPE_OPENAT(openat64)

#define SCOPE_OPEN_WITH(name, parameters, ...)               \
  SCOPE_ENTRY int name parameters {                          \
    SCOPE_BEHIND(name)                                       \
    return opens(path, [&] { return behind(__VA_ARGS__); }); \
  }
SCOPE_OPEN_WITH(creat, (const char* path, mode_t mode), path, mode)
SCOPE_OPEN_WITH(creat64, (const char* path, mode_t mode), path, mode)
// Entries called by programs that were compiled with _FORTIFY_SOURCE.
SCOPE_OPEN_WITH(__open_2, (const char* path, int flags), path, flags)
SCOPE_OPEN_WITH(__open64_2, (const char* path, int flags), path, flags)
SCOPE_OPEN_WITH(__openat_2, (int folder, const char* path, int flags), folder, path, flags)
SCOPE_OPEN_WITH(__openat64_2, (int folder, const char* path, int flags), folder, path, flags)
SCOPE_ENTRY ssize_t __read_chk(int descriptor, void* data, std::size_t bytes, std::size_t room) {
  SCOPE_BEHIND(__read_chk)
  return transfers(descriptor, reads, [&] { return behind(descriptor, data, bytes, room); });
}
SCOPE_ENTRY ssize_t __pread_chk(int descriptor, void* data, std::size_t bytes, off_t at, std::size_t room) {
  SCOPE_BEHIND(__pread_chk)
  return transfers_at(descriptor, reads, at, [&] { return behind(descriptor, data, bytes, at, room); });
}
SCOPE_ENTRY ssize_t __pread64_chk(int descriptor, void* data, std::size_t bytes, off64_t at, std::size_t room) {
  SCOPE_BEHIND(__pread64_chk)
  return transfers_at(descriptor, reads, at, [&] { return behind(descriptor, data, bytes, at, room); });
}

SCOPE_ENTRY ssize_t read(int descriptor, void* data, std::size_t bytes) {
  SCOPE_BEHIND(read)
  return transfers(descriptor, reads, [&] { return behind(descriptor, data, bytes); });
}
SCOPE_ENTRY ssize_t write(int descriptor, const void* data, std::size_t bytes) {
  SCOPE_BEHIND(write)
  return transfers(descriptor, writes, [&] { return behind(descriptor, data, bytes); });
}

#define SCOPE_AT(name, Data, Offset, action)                                                          \
  SCOPE_ENTRY ssize_t name(int descriptor, Data* data, std::size_t bytes, Offset at) {                \
    SCOPE_BEHIND(name)                                                                                \
    return transfers_at(descriptor, action, at, [&] { return behind(descriptor, data, bytes, at); }); \
  }
SCOPE_AT(pread, void, off_t, reads)
SCOPE_AT(pread64, void, off64_t, reads)
SCOPE_AT(pwrite, const void, off_t, writes)
SCOPE_AT(pwrite64, const void, off64_t, writes)

#define SCOPE_VECTOR(name, action)                                                          \
  SCOPE_ENTRY ssize_t name(int descriptor, const iovec* parts, int count) {                 \
    SCOPE_BEHIND(name)                                                                      \
    return transfers(descriptor, action, [&] { return behind(descriptor, parts, count); }); \
  }
SCOPE_VECTOR(readv, reads)
SCOPE_VECTOR(writev, writes)

#define SCOPE_VECTOR_AT(name, Offset, action)                                                          \
  SCOPE_ENTRY ssize_t name(int descriptor, const iovec* parts, int count, Offset at) {                 \
    SCOPE_BEHIND(name)                                                                                 \
    return transfers_at(descriptor, action, at, [&] { return behind(descriptor, parts, count, at); }); \
  }
SCOPE_VECTOR_AT(preadv, off_t, reads)
SCOPE_VECTOR_AT(preadv64, off64_t, reads)
SCOPE_VECTOR_AT(pwritev, off_t, writes)
SCOPE_VECTOR_AT(pwritev64, off64_t, writes)

// Asynchronous calls, which Open MPI's nonblocking MPI-IO uses; counted with the requested number of bytes.
#define SCOPE_ASYNCHRONOUS(name, Block, action)                                \
  SCOPE_ENTRY int name(Block* block) noexcept {                                \
    SCOPE_BEHIND(name)                                                         \
    if (!followed(block->aio_fildes)) return behind(block);                    \
    const u8 begin = ticks_now(), offset = static_cast<u8>(block->aio_offset); \
    const int descriptor = block->aio_fildes;                                  \
    const i8 asked = static_cast<i8>(block->aio_nbytes);                       \
    const int code = behind(block);                                            \
    transferred_at(descriptor, action, begin, code == 0 ? asked : -1, offset); \
    return code;                                                               \
  }
SCOPE_ASYNCHRONOUS(aio_read, aiocb, reads)
SCOPE_ASYNCHRONOUS(aio_read64, aiocb64, reads)
SCOPE_ASYNCHRONOUS(aio_write, aiocb, writes)
SCOPE_ASYNCHRONOUS(aio_write64, aiocb64, writes)

SCOPE_ENTRY off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  SCOPE_BEHIND(lseek)
  return seeks(descriptor, [&] { return behind(descriptor, offset, whence); });
}
SCOPE_ENTRY off64_t lseek64(int descriptor, off64_t offset, int whence) noexcept {
  SCOPE_BEHIND(lseek64)
  return seeks(descriptor, [&] { return behind(descriptor, offset, whence); });
}

SCOPE_ENTRY int fsync(int descriptor) {
  SCOPE_BEHIND(fsync)
  return syncs(descriptor, [&] { return behind(descriptor); });
}
SCOPE_ENTRY int fdatasync(int descriptor) {
  SCOPE_BEHIND(fdatasync)
  return syncs(descriptor, [&] { return behind(descriptor); });
}

// Locks: on some file systems, MPI-IO waits longer for locks than for its data. The argument is passed on in the
// way in which the C library itself reads it.
#define SCOPE_CONTROL(name)                                                                     \
  SCOPE_ENTRY int name(int descriptor, int command, ...) {                                      \
    SCOPE_BEHIND(name)                                                                          \
    va_list rest;                                                                               \
    va_start(rest, command);                                                                    \
    void* const argument = va_arg(rest, void*);                                                 \
    va_end(rest);                                                                               \
    if (!locks(command) || !followed(descriptor)) return behind(descriptor, command, argument); \
    const u8 begin = ticks_now();                                                               \
    const int code = behind(descriptor, command, argument);                                     \
    moved(descriptor, begin, -1);                                                               \
    return code;                                                                                \
  }
SCOPE_CONTROL(fcntl)
SCOPE_CONTROL(fcntl64)

SCOPE_ENTRY int close(int descriptor) {
  SCOPE_BEHIND(close)
  const bool counted = is_known(descriptor);
  // Before the call, because afterwards another thread may immediately get the same number.
  forget_descriptor(descriptor);
  if (!counted) return behind(descriptor);
  const u8 begin = ticks_now();
  const int code = behind(descriptor);
  closed_descriptor(descriptor, begin, Layer::posix);
  return code;
}
SCOPE_ENTRY int dup2(int from, int to) noexcept {
  SCOPE_BEHIND(dup2)
  if (from != to) forget_descriptor(to);
  return behind(from, to);
}
SCOPE_ENTRY int dup3(int from, int to, int flags) noexcept {
  SCOPE_BEHIND(dup3)
  forget_descriptor(to);
  return behind(from, to, flags);
}

SCOPE_ENTRY FILE* fopen(const char* path, const char* mode) {
  SCOPE_BEHIND(fopen)
  return opens_stream(path, [&] { return behind(path, mode); });
}
SCOPE_ENTRY FILE* fopen64(const char* path, const char* mode) {
  SCOPE_BEHIND(fopen64)
  return opens_stream(path, [&] { return behind(path, mode); });
}
SCOPE_ENTRY int fclose(FILE* stream) {
  SCOPE_BEHIND(fclose)
  const int descriptor = stream ? fileno_unlocked(stream) : -1;
  const bool counted = is_known(descriptor);
  forget_descriptor(descriptor);
  if (!counted) return behind(stream);
  const u8 begin = ticks_now();
  const int code = behind(stream);
  closed_descriptor(descriptor, begin, Layer::stream);
  return code;
}

#define SCOPE_STREAM(name, Data, action)                                                                          \
  SCOPE_ENTRY std::size_t name(Data* data, std::size_t each, std::size_t count, FILE* stream) {                   \
    SCOPE_BEHIND(name)                                                                                            \
    return streams(                                                                                               \
        stream, action, [&] { return behind(data, each, count, stream); }, [&](u8 done) { return done * each; }); \
  }
SCOPE_STREAM(fread, void, reads)
SCOPE_STREAM(fread_unlocked, void, reads)
SCOPE_STREAM(fwrite, const void, writes)
SCOPE_STREAM(fwrite_unlocked, const void, writes)

SCOPE_ENTRY char* fgets(char* text, int room, FILE* stream) {
  SCOPE_BEHIND(fgets)
  return streams(
      stream, reads, [&] { return behind(text, room, stream); },
      [](const char* line) { return line ? std::strlen(line) : u8{0}; });
}
SCOPE_ENTRY int fputs(const char* text, FILE* stream) {
  SCOPE_BEHIND(fputs)
  return streams(
      stream, writes, [&] { return behind(text, stream); },
      [&](int code) { return code >= 0 ? std::strlen(text) : u8{0}; });
}
SCOPE_ENTRY int vfprintf(FILE* stream, const char* format, va_list words) {
  SCOPE_BEHIND(vfprintf)
  return streams(stream, writes, [&] { return behind(stream, format, words); }, printed);
}
SCOPE_ENTRY int fprintf(FILE* stream, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int code = vfprintf(stream, format, words);
  va_end(words);
  return code;
}
SCOPE_ENTRY int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list words) {
  SCOPE_BEHIND(__vfprintf_chk)
  return streams(stream, writes, [&] { return behind(stream, flag, format, words); }, printed);
}
SCOPE_ENTRY int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int code = __vfprintf_chk(stream, flag, format, words);
  va_end(words);
  return code;
}
SCOPE_ENTRY int fflush(FILE* stream) {
  SCOPE_BEHIND(fflush)
  return streams(stream, Action::other, [&] { return behind(stream); }, nothing);
}
