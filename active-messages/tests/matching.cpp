// Compares the provider's matching with the rules of MPI (messages of one source in order, receives in order), and
// tests the numbers under which other processes refer to its objects.
#include "../provider/matching.hpp"

#include <optional>

#include "../provider/slots.hpp"
#include "expect.hpp"

using namespace scope::provider;

namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

Receive receive(int number, Peer source, std::uint64_t tag, std::uint64_t ignore = 0) {
  return {.buffer = nullptr,
          .bytes = 0,
          .source = source,
          .tag = tag,
          .ignore = ignore,
          .context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)),
          .completes = true,
          .shared = nullptr};
}

Envelope message(std::uint64_t tag, std::uint64_t data = 0) { return {tag, data, 0, 0, 0}; }

int number_of(const std::optional<Receive>& receive) {
  return receive ? static_cast<int>(reinterpret_cast<std::uintptr_t>(receive->context)) : 0;
}

void a_message_takes_the_first_receive_that_fits() {
  Matching matching;
  matching.post(receive(1, 0, 7));
  matching.post(receive(2, any_peer, 7));
  matching.post(receive(3, any_peer, 0, all_bits));
  matching.post(receive(4, 0, 7));
  EXPECT(number_of(matching.receive_for(1, message(8))) == 3);
  EXPECT(number_of(matching.receive_for(1, message(8))) == 0);
  EXPECT(number_of(matching.receive_for(1, message(7))) == 2);
  EXPECT(number_of(matching.receive_for(0, message(7))) == 1);
  EXPECT(number_of(matching.receive_for(0, message(7))) == 4);
  EXPECT(number_of(matching.receive_for(0, message(7))) == 0);
}

void a_receive_takes_the_first_message_that_fits() {
  Matching matching;
  for (std::uint64_t i = 0; i < 4; ++i)
    matching.keep({static_cast<Peer>(i % 2), message(0x10 + i % 2, i), true, {}});
  EXPECT(matching.first_for(receive(1, 1, 0x11))->envelope.data == 1);
  EXPECT(matching.arrival_for(receive(1, 1, 0, all_bits))->envelope.data == 1);
  EXPECT(matching.arrival_for(receive(1, any_peer, 0x1f, 0x0f))->envelope.data == 0);
  EXPECT(matching.arrival_for(receive(1, 1, 0x11))->envelope.data == 3);
  EXPECT(!matching.arrival_for(receive(1, 1, 0x11)));
  EXPECT(matching.first_for(receive(1, 1, 0x10)) == nullptr);
  EXPECT(matching.arrival_for(receive(1, 0, 0x10))->envelope.data == 2);
}

void a_cancelled_receive_takes_nothing() {
  Matching matching;
  matching.post(receive(1, any_peer, 5));
  matching.post(receive(2, any_peer, 5));
  EXPECT(number_of(matching.cancel(reinterpret_cast<void*>(1))) == 1);
  EXPECT(!matching.cancel(reinterpret_cast<void*>(1)));
  EXPECT(number_of(matching.receive_for(0, message(5))) == 2);
}

void a_shared_buffer_takes_messages_until_it_is_retired() {
  Matching matching;
  Receive sharing = receive(1, any_peer, 0, all_bits);
  sharing.shared = std::make_shared<SharedBuffer>(SharedBuffer{nullptr, 100, 10});
  matching.post(sharing);
  matching.post(receive(2, any_peer, 0, all_bits));
  EXPECT(number_of(matching.receive_for(0, message(1))) == 1);
  EXPECT(number_of(matching.receive_for(0, message(2))) == 1);
  matching.retire(*sharing.shared);
  EXPECT(number_of(matching.receive_for(0, message(3))) == 2);
  EXPECT(number_of(matching.receive_for(0, message(4))) == 0);
}

void a_number_that_was_given_back_finds_nothing() {
  Slots<int> slots;
  const std::uint64_t first = slots.add(1);
  const std::uint64_t second = slots.add(2);
  EXPECT(first != 0 && second != 0 && *slots.find(first) == 1 && *slots.find(second) == 2);
  slots.remove(first);
  EXPECT(slots.find(first) == nullptr && slots.used() == 1);
  const std::uint64_t third = slots.add(3);  // reuses the first slot
  EXPECT(third != first && slots.find(first) == nullptr && *slots.find(third) == 3);
  for (const std::uint64_t stranger :
       {std::uint64_t{0}, std::uint64_t{5}, all_bits, second + (std::uint64_t{1} << 32)})
    EXPECT(slots.find(stranger) == nullptr);
}

}  // namespace

int main() {
  a_message_takes_the_first_receive_that_fits();
  a_receive_takes_the_first_message_that_fits();
  a_cancelled_receive_takes_nothing();
  a_shared_buffer_takes_messages_until_it_is_retired();
  a_number_that_was_given_back_finds_nothing();
}
