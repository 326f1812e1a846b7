// Objects that other processes refer to by number. Numbers that are no longer valid, or never were, are detected,
// because data from outside is not trusted.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace scope::provider {

template <class Object>
class Slots {
 public:
  // Returns a number other than 0. The object does not move until it is removed.
  std::uint64_t add(Object object) {
    std::uint32_t index;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].object.emplace(std::move(object));
    ++used_;
    return number(index);
  }

  Object* find(std::uint64_t number_given) {
    const auto index = static_cast<std::uint32_t>(number_given);
    if (index >= slots_.size() || !slots_[index].object || number(index) != number_given) return nullptr;
    return &*slots_[index].object;
  }

  void remove(std::uint64_t number_given) {
    const auto index = static_cast<std::uint32_t>(number_given);
    slots_[index].object.reset();
    ++slots_[index].generation;
    free_.push_back(index);
    --used_;
  }

  std::size_t used() const { return used_; }

  // The numbers of all objects that satisfy a condition.
  template <class Condition>
  std::vector<std::uint64_t> numbers(Condition condition) const {
    std::vector<std::uint64_t> found;
    for (std::uint32_t index = 0; index < slots_.size(); ++index)
      if (slots_[index].object && condition(*slots_[index].object)) found.push_back(number(index));
    return found;
  }

 private:
  struct Slot {
    std::optional<Object> object;
    std::uint32_t generation = 1;
  };

  std::uint64_t number(std::uint32_t index) const { return std::uint64_t{slots_[index].generation} << 32 | index; }

  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace scope::provider
