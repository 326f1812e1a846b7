#include "requests.hpp"

#include "handles.hpp"
#include "profile.hpp"

namespace scope {

namespace {

constexpr int place_capacity = 8192;
constexpr std::size_t bucket_count = 1 << 13;

Request places[place_capacity];
Request* buckets[bucket_count];
Request* unused = nullptr;
int touched = 0;  // number of slots ever used; the rest of the memory stays untouched

Request*& bucket(std::uint64_t key) { return buckets[spread(key) >> (64 - 13)]; }

}  // namespace

Request* add_request(std::uint64_t key) {
  Request* place = unused;
  if (place) {
    unused = place->next;
  } else if (touched < place_capacity) {
    place = &places[touched++];
  } else {
    ++profile.process->lost_requests;
    return nullptr;
  }
  place->key = key;
  place->next = bucket(key);
  bucket(key) = place;
  ++profile.process->open_requests;
  return place;
}

Request* find_request(std::uint64_t key) {
  Request* found = bucket(key);
  while (found && found->key != key) found = found->next;
  return found;
}

void remove_request(Request* request) {
  Request** link = &bucket(request->key);
  while (*link != request) link = &(*link)->next;
  *link = request->next;
  if (request->members) release(*request->members);
  request->next = unused;
  unused = request;
  --profile.process->open_requests;
}

}  // namespace scope
