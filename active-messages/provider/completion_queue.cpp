#include "completion_queue.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "endpoint.hpp"

namespace scope::provider {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto longest_sleep = std::chrono::milliseconds(10);
// A yield that takes longer gave the processor to another process; if it takes much longer, that process computes.
constexpr auto switched = std::chrono::microseconds(1), computed = std::chrono::microseconds(3);

CompletionQueue& queue_of(fid_cq* queue) { return object<CompletionQueue>(queue); }

// Each format is a prefix of the next one, and of an error entry.
std::size_t entry_bytes(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED: return sizeof(fi_cq_tagged_entry);
    default: return sizeof(fi_cq_entry);
  }
}

ssize_t take(CompletionQueue& queue, void* buffer, std::size_t count, fi_addr_t* sources) {
  if (queue.entries.empty()) return -FI_EAGAIN;
  const std::size_t bytes = entry_bytes(queue.format);
  std::size_t taken = 0;
  while (taken < count && !queue.entries.empty() && queue.entries.front().completion.err == 0) {
    const CompletionQueue::Entry& entry = queue.entries.front();
    std::memcpy(static_cast<std::byte*>(buffer) + taken * bytes, &entry.completion, bytes);
    if (sources != nullptr) sources[taken] = entry.source;
    queue.entries.pop_front();
    ++taken;
  }
  if (taken > 0) return static_cast<ssize_t>(taken);
  return count > 0 ? -FI_EAVAIL : 0;
}

ssize_t read_from(fid_cq* id, void* buffer, std::size_t count, fi_addr_t* sources) {
  return guarded([&] {
    CompletionQueue& queue = queue_of(id);
    bool idle = false;
    std::unique_lock guard(queue.domain.lock);
    // If there are enough entries, they are returned at once: polling first would only delay them. Programs read
    // zero entries to make progress.
    if (count == 0 || queue.entries.size() < count)
      for (Endpoint* endpoint : queue.endpoints) {
        endpoint->share_processor(queue.switched);
        idle = !endpoint->progress() || idle;
      }
    queue.switched = false;
    const ssize_t taken = take(queue, buffer, count, sources);
    guard.unlock();
    // Not every MPI library yields, and the peer may be waiting for this processor. As long as another process is,
    // it gets the processor at once.
    if ((idle || queue.crowded) && taken == -FI_EAGAIN) {
      const auto before = Clock::now();
      sched_yield();
      const auto away = Clock::now() - before;
      queue.switched = away > switched;
      queue.crowded = away > computed;
    }
    return static_cast<int>(taken);
  });
}

ssize_t read(fid_cq* id, void* buffer, std::size_t count) { return read_from(id, buffer, count, nullptr); }

ssize_t read_error(fid_cq* id, fi_cq_err_entry* buffer, std::uint64_t) {
  CompletionQueue& queue = queue_of(id);
  const Guard guard(queue.domain.lock);
  if (queue.entries.empty() || queue.entries.front().completion.err == 0) return -FI_EAGAIN;
  fi_cq_err_entry error = queue.entries.front().completion;
  const std::string cause = std::move(queue.causes.front());
  queue.causes.pop_front();
  // Writes into the caller's memory, or into ours, which is valid until the next error is read.
  const bool theirs = buffer->err_data_size > 0 && buffer->err_data != nullptr;
  char* const to = theirs ? static_cast<char*>(buffer->err_data) : queue.cause.data();
  const std::size_t room = theirs ? buffer->err_data_size : queue.cause.size();
  error.err_data_size = cause.empty() ? 0 : std::min(room, cause.size() + 1);
  error.err_data = theirs || !cause.empty() ? to : nullptr;
  if (!cause.empty()) {
    std::memcpy(to, cause.c_str(), error.err_data_size);
    to[error.err_data_size - 1] = '\0';
  }
  *buffer = error;
  queue.entries.pop_front();
  return 1;
}

ssize_t wait_from(fid_cq* id, void* buffer, std::size_t count, fi_addr_t* sources, const void*, int timeout_ms) {
  CompletionQueue& queue = queue_of(id);
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const ssize_t got = read_from(id, buffer, count, sources);
    if (got != -FI_EAGAIN) return got;
    if (queue.signaled) {
      queue.signaled = false;
      return -FI_EAGAIN;
    }
    if (timeout_ms >= 0 && Clock::now() >= end) return -FI_EAGAIN;
    std::vector<pollfd> arrivals;
    std::chrono::nanoseconds patience = longest_sleep;
    {
      const Guard guard(queue.domain.lock);
      for (Endpoint* endpoint : queue.endpoints)
        patience = std::min(patience, endpoint->arrivals(patience, arrivals));
    }
    sleep(arrivals, patience);
  }
}

ssize_t wait(fid_cq* id, void* buffer, std::size_t count, const void* condition, int timeout_ms) {
  return wait_from(id, buffer, count, nullptr, condition, timeout_ms);
}

int signal(fid_cq* id) {
  queue_of(id).signaled = true;
  return 0;
}

const char* error_text(fid_cq*, int error, const void* cause, char* buffer, std::size_t bytes) {
  const char* text = cause != nullptr ? static_cast<const char*>(cause) : std::strerror(error);
  if (buffer != nullptr && bytes > 0) {
    std::strncpy(buffer, text, bytes);
    buffer[bytes - 1] = '\0';
  }
  return text;
}

fi_ops object_functions = closed_by(destroy_unless_bound<CompletionQueue, fid_cq>);

fi_ops_cq queue_functions{.size = sizeof(fi_ops_cq),
                          .read = read,
                          .readfrom = read_from,
                          .readerr = read_error,
                          .sread = wait,
                          .sreadfrom = wait_from,
                          .signal = signal,
                          .strerror = error_text};

}  // namespace

int open_completion_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** result, void* context) {
  if (attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC) return -FI_ENOSYS;
  return guarded([&] {
    const fi_cq_format format =
        attributes->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attributes->format;
    return hand_over(new CompletionQueue(object<Domain>(domain), format),
                     {FI_CLASS_CQ, context, &object_functions}, queue_functions, result);
  });
}

}  // namespace scope::provider
