#include "python.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "handles.hpp"
#include "recorder.hpp"

namespace scope {

namespace {

// Functions of CPython 3.9 and later; all except PyEval_GetFrame return references that must be released.
struct Interpreter {
  int (*Py_IsInitialized)();
  void* (*PyGILState_GetThisThreadState)();
  int (*PyGILState_Ensure)();
  void (*PyGILState_Release)(int);
  void* (*PyEval_GetFrame)();
  void* (*PyFrame_GetBack)(void*);
  void* (*PyFrame_GetCode)(void*);
  int (*PyFrame_GetLineNumber)(void*);
  void* (*PyObject_GetAttrString)(void*, const char*);
  const char* (*PyUnicode_AsUTF8AndSize)(void*, ssize_t*);
  void (*PyErr_Fetch)(void**, void**, void**);
  void (*PyErr_Restore)(void*, void*, void*);
  void (*Py_IncRef)(void*);
  void (*Py_DecRef)(void*);
};
Interpreter python;

template <typename Function>
bool look_up(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

int most_frames = 1;
thread_local u8 last_frames[frame_capacity];
thread_local int last_count = 0;

// Lines by code object; the code objects are kept alive so that another one cannot get the same address.
struct Line {
  void* code;
  int line;
  u4 place;
};
constexpr u4 line_capacity = 4 * most_places;
constexpr u4 most_lines = line_capacity / 4 * 3;
Line lines[line_capacity];
u4 lines_in_use = 0;
u4 places_in_use = 0;

// Interpreter functions must not run under the lock of the tables: they could free objects, which could call MPI.

// The row of a line, or the empty row where it belongs.
Line& find_line(void* code, int line) {
  u8 at = mixed(reinterpret_cast<u8>(code) + static_cast<u8>(line));
  while (lines[at % line_capacity].code &&
         (lines[at % line_capacity].code != code || lines[at % line_capacity].line != line))
    ++at;
  return lines[at % line_capacity];
}

void copy_text(void* object, const char* attribute, char* to, std::size_t capacity) {
  void* const text = python.PyObject_GetAttrString(object, attribute);
  const char* const letters = text ? python.PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  if (letters)
    std::strncpy(to, letters, capacity - 1);
  else
    python.PyErr_Restore(nullptr, nullptr, nullptr);
  if (text) python.Py_DecRef(text);
}

PlaceRow describe(void* code, int line) {
  PlaceRow row{};
  void *type, *value, *trace;
  python.PyErr_Fetch(&type, &value, &trace);  // preserved, because the program may be handling an exception
  copy_text(code, "co_qualname", row.function, sizeof row.function);
  if (!*row.function) copy_text(code, "co_name", row.function, sizeof row.function);
  copy_text(code, "co_filename", row.file, sizeof row.file);
  python.PyErr_Restore(type, value, trace);
  row.line = static_cast<u4>(std::max(line, 0));
  row.used = 1;
  return row;
}

// The number of a row of `places`; most_places if the table is full.
u4 number_of(const PlaceRow& row) {
  for (u4 i = 0; i < places_in_use; ++i)
    if (std::memcmp(&profile.places[i], &row, sizeof row) == 0) return i;
  if (places_in_use == most_places) return most_places;
  profile.places[places_in_use] = row;
  return places_in_use++;
}

u4 place_of(void* frame) {
  void* const code = python.PyFrame_GetCode(frame);
  const int line = python.PyFrame_GetLineNumber(frame);
  {
    const Locked locked;
    if (const Line& row = find_line(code, line); row.code) {
      python.Py_DecRef(code);  // not the last reference
      return row.place;
    }
  }
  const PlaceRow described = describe(code, line);
  const Locked locked;
  const u4 place = number_of(described);
  if (Line& row = find_line(code, line); !row.code && lines_in_use < most_lines) {
    row = {code, line, place};  // the row keeps the reference
    ++lines_in_use;
  }
  return place;
}

}  // namespace

bool find_python(int depth) {
  most_frames = depth;
#define SCOPE_LOOK_UP(name) look_up(#name, python.name)
  in_python = SCOPE_LOOK_UP(Py_IsInitialized) && SCOPE_LOOK_UP(PyGILState_GetThisThreadState) &&
              SCOPE_LOOK_UP(PyGILState_Ensure) && SCOPE_LOOK_UP(PyGILState_Release) &&
              SCOPE_LOOK_UP(PyEval_GetFrame) && SCOPE_LOOK_UP(PyFrame_GetBack) && SCOPE_LOOK_UP(PyFrame_GetCode) &&
              SCOPE_LOOK_UP(PyFrame_GetLineNumber) && SCOPE_LOOK_UP(PyObject_GetAttrString) &&
              SCOPE_LOOK_UP(PyUnicode_AsUTF8AndSize) && SCOPE_LOOK_UP(PyErr_Fetch) &&
              SCOPE_LOOK_UP(PyErr_Restore) && SCOPE_LOOK_UP(Py_IncRef) && SCOPE_LOOK_UP(Py_DecRef);
#undef SCOPE_LOOK_UP
  return in_python;
}

const void* caller_in_python(const void* caller) {
  // At its end, the interpreter frees communicators and other objects, and must not be called any more.
  if (!python.Py_IsInitialized() || !python.PyGILState_GetThisThreadState()) return caller;
  const int state = python.PyGILState_Ensure();
  last_count = 0;
  void* frame = python.PyEval_GetFrame();
  if (frame) python.Py_IncRef(frame);
  while (frame) {
    const u4 place = last_count < most_frames ? place_of(frame) : most_places;
    void* const outer = place < most_places ? python.PyFrame_GetBack(frame) : nullptr;
    python.Py_DecRef(frame);
    if (place < most_places) last_frames[last_count++] = place_bit | place;
    frame = outer;
  }
  python.PyGILState_Release(state);
  return last_count ? reinterpret_cast<const void*>(last_frames[0]) : caller;
}

int frames_in_python(u8* frames) {
  std::copy(last_frames, last_frames + last_count, frames);
  return last_count;
}

}  // namespace scope
