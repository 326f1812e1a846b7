// A pause between two looks at memory that another processor will write.
#pragma once

namespace scope {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace scope
