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
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

int descriptor_of(int descriptor) { return descriptor; }
int descriptor_of(FILE* stream) { return stream ? fileno_unlocked(stream) : -1; }

template <typename Open>
auto opens(const char* path, Layer layer, const Open& open) {
  if (!watching()) return open();
  const u8 begin = ticks_now();
  const auto opened = open();
  opened_descriptor(descriptor_of(opened), path, begin, layer);
  return opened;
}

// Without an offset, at the file position.
template <typename Transfer>
ssize_t transfers(int descriptor, Action action, std::optional<u8> offset, const Transfer& transfer) {
  if (!followed(descriptor)) return transfer();
  const u8 begin = ticks_now();
  const ssize_t bytes = transfer();
  transferred(descriptor, action, begin, bytes, offset);
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
  synchronized(descriptor, begin);
  return code;
}

// `bytes`: number of bytes from the result of the call.
template <typename Bytes, typename Call>
auto streams(FILE* stream, Action action, const Bytes& bytes, const Call& call) {
  const int descriptor = descriptor_of(stream);
  if (!followed(descriptor)) return call();
  const u8 begin = ticks_now();
  const auto result = call();
  streamed(descriptor, action, begin, bytes(result));
  return result;
}

u8 printed(int result) { return result > 0 ? static_cast<u8>(result) : 0; }

u8 nothing(int) { return 0; }

template <typename Close>
int closes(int descriptor, Layer layer, const Close& close) {
  const bool counted = is_known(descriptor);
  // Before the call, because afterwards another thread may immediately get the same number.
  forget_descriptor(descriptor);
  if (!counted) return close();
  const u8 begin = ticks_now();
  const int code = close();
  closed_descriptor(descriptor, begin, layer);
  return code;
}

}  // namespace

#define SCOPE_OPEN(name)                                                         \
  SCOPE_ENTRY int name(const char* path, int flags, ...) {                       \
    SCOPE_BEHIND(name)                                                           \
    va_list rest;                                                                \
    va_start(rest, flags);                                                       \
    const mode_t mode = mode_of(flags, rest);                                    \
    va_end(rest);                                                                \
    return opens(path, Layer::posix, [&] { return behind(path, flags, mode); }); \
  }
SCOPE_OPEN(open)
SCOPE_OPEN(open64)

#define SCOPE_OPENAT(name)                                                               \
  SCOPE_ENTRY int name(int folder, const char* path, int flags, ...) {                   \
    SCOPE_BEHIND(name)                                                                   \
    va_list rest;                                                                        \
    va_start(rest, flags);                                                               \
    const mode_t mode = mode_of(flags, rest);                                            \
    va_end(rest);                                                                        \
    return opens(path, Layer::posix, [&] { return behind(folder, path, flags, mode); }); \
  }
SCOPE_OPENAT(openat)
SCOPE_OPENAT(openat64)

// An entry that passes its arguments on within `around`, which counts the call.
#define SCOPE_PASSES(Result, name, parameters, arguments, around, ...) \
  SCOPE_ENTRY Result name parameters {                                 \
    SCOPE_BEHIND(name)                                                 \
    return around(__VA_ARGS__, [&] { return behind arguments; });      \
  }
SCOPE_PASSES(int, creat, (const char* path, mode_t mode), (path, mode), opens, path, Layer::posix)
SCOPE_PASSES(int, creat64, (const char* path, mode_t mode), (path, mode), opens, path, Layer::posix)
// Entries called by programs that were compiled with _FORTIFY_SOURCE.
SCOPE_PASSES(int, __open_2, (const char* path, int flags), (path, flags), opens, path, Layer::posix)
SCOPE_PASSES(int, __open64_2, (const char* path, int flags), (path, flags), opens, path, Layer::posix)
SCOPE_PASSES(int, __openat_2, (int folder, const char* path, int flags), (folder, path, flags), opens, path,
             Layer::posix)
SCOPE_PASSES(int, __openat64_2, (int folder, const char* path, int flags), (folder, path, flags), opens, path,
             Layer::posix)
SCOPE_PASSES(ssize_t, __read_chk, (int descriptor, void* data, std::size_t bytes, std::size_t room),
             (descriptor, data, bytes, room), transfers, descriptor, reads, std::nullopt)
SCOPE_PASSES(ssize_t, __pread_chk, (int descriptor, void* data, std::size_t bytes, off_t at, std::size_t room),
             (descriptor, data, bytes, at, room), transfers, descriptor, reads, at)
SCOPE_PASSES(ssize_t, __pread64_chk, (int descriptor, void* data, std::size_t bytes, off64_t at, std::size_t room),
             (descriptor, data, bytes, at, room), transfers, descriptor, reads, at)

SCOPE_PASSES(ssize_t, read, (int descriptor, void* data, std::size_t bytes), (descriptor, data, bytes), transfers,
             descriptor, reads, std::nullopt)
SCOPE_PASSES(ssize_t, write, (int descriptor, const void* data, std::size_t bytes), (descriptor, data, bytes),
             transfers, descriptor, writes, std::nullopt)
SCOPE_PASSES(ssize_t, readv, (int descriptor, const iovec* parts, int count), (descriptor, parts, count),
             transfers, descriptor, reads, std::nullopt)
SCOPE_PASSES(ssize_t, writev, (int descriptor, const iovec* parts, int count), (descriptor, parts, count),
             transfers, descriptor, writes, std::nullopt)

#define SCOPE_AT(name, Data, Offset, action)                                              \
  SCOPE_PASSES(ssize_t, name, (int descriptor, Data* data, std::size_t bytes, Offset at), \
               (descriptor, data, bytes, at), transfers, descriptor, action, at)
SCOPE_AT(pread, void, off_t, reads)
SCOPE_AT(pread64, void, off64_t, reads)
SCOPE_AT(pwrite, const void, off_t, writes)
SCOPE_AT(pwrite64, const void, off64_t, writes)

#define SCOPE_VECTOR_AT(name, Offset, action)                                             \
  SCOPE_PASSES(ssize_t, name, (int descriptor, const iovec* parts, int count, Offset at), \
               (descriptor, parts, count, at), transfers, descriptor, action, at)
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
    transferred(descriptor, action, begin, code == 0 ? asked : -1, offset);    \
    return code;                                                               \
  }
SCOPE_ASYNCHRONOUS(aio_read, aiocb, reads)
SCOPE_ASYNCHRONOUS(aio_read64, aiocb64, reads)
SCOPE_ASYNCHRONOUS(aio_write, aiocb, writes)
SCOPE_ASYNCHRONOUS(aio_write64, aiocb64, writes)

SCOPE_PASSES(off_t, lseek, (int descriptor, off_t offset, int whence) noexcept, (descriptor, offset, whence),
             seeks, descriptor)
SCOPE_PASSES(off64_t, lseek64, (int descriptor, off64_t offset, int whence) noexcept, (descriptor, offset, whence),
             seeks, descriptor)

SCOPE_PASSES(int, fsync, (int descriptor), (descriptor), syncs, descriptor)
SCOPE_PASSES(int, fdatasync, (int descriptor), (descriptor), syncs, descriptor)

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

SCOPE_PASSES(int, close, (int descriptor), (descriptor), closes, descriptor, Layer::posix)
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

SCOPE_PASSES(FILE*, fopen, (const char* path, const char* mode), (path, mode), opens, path, Layer::stream)
SCOPE_PASSES(FILE*, fopen64, (const char* path, const char* mode), (path, mode), opens, path, Layer::stream)
SCOPE_PASSES(int, fclose, (FILE * stream), (stream), closes, descriptor_of(stream), Layer::stream)

#define SCOPE_STREAM(name, Data, action)                                                            \
  SCOPE_PASSES(std::size_t, name, (Data * data, std::size_t each, std::size_t count, FILE* stream), \
               (data, each, count, stream), streams, stream, action, [&](u8 done) { return done * each; })
SCOPE_STREAM(fread, void, reads)
SCOPE_STREAM(fread_unlocked, void, reads)
SCOPE_STREAM(fwrite, const void, writes)
SCOPE_STREAM(fwrite_unlocked, const void, writes)

SCOPE_PASSES(char*, fgets, (char* text, int room, FILE* stream), (text, room, stream), streams, stream, reads,
             [](const char* line) { return line ? std::strlen(line) : u8{0}; })
SCOPE_PASSES(int, fputs, (const char* text, FILE* stream), (text, stream), streams, stream, writes,
             [&](int code) { return code >= 0 ? std::strlen(text) : u8{0}; })
SCOPE_PASSES(int, fflush, (FILE * stream), (stream), streams, stream, Action::other, nothing)
SCOPE_PASSES(int, vfprintf, (FILE * stream, const char* format, va_list words), (stream, format, words), streams,
             stream, writes, printed)
SCOPE_PASSES(int, __vfprintf_chk, (FILE * stream, int flag, const char* format, va_list words),
             (stream, flag, format, words), streams, stream, writes, printed)
SCOPE_ENTRY int fprintf(FILE* stream, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int code = vfprintf(stream, format, words);
  va_end(words);
  return code;
}
SCOPE_ENTRY int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int code = __vfprintf_chk(stream, flag, format, words);
  va_end(words);
  return code;
}
