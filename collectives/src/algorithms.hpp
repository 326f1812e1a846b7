// The algorithms; each is a file in algorithms/ that registers itself.
//
// Contents of the memory spaces when a program begins and ends:
//
//   operation  begins with                                   ends with
//   broadcast  work: the message, at the root                work: the message, everywhere
//   reduce     input: the contribution; work: a copy of it   work: the result, at the root
//   allreduce  as reduce                                     the result everywhere: in `result` if the program
//                                                            writes there, else in `work`
//   barrier    nothing                                       nothing
//   gather     input: the own block; work: the own block,    work: the blocks in `order`, at the root
//              first
//   scatter    work: the blocks in `order`, at the root      work: the own block, first
//   allgather  work: the own block at its place in `order`   work: the blocks in `order`
//   alltoall   input: the blocks for each rank in `order`    result: the blocks from each rank in `order`
#pragma once

#include <span>

#include "schedule.hpp"

namespace scope {

inline constexpr Shape any_shape[] = {Shape::binomial};  // for algorithms without a multilevel tree
inline constexpr Shape passing_shapes[] = {Shape::binomial, Shape::chain, Shape::tail};
inline constexpr Shape collecting_shapes[] = {Shape::star, Shape::binomial};

struct Algorithm {
  Operation operation;
  const char* name;
  bool segmented = false;  // the message is cut into segments
  std::span<const Shape> shapes = any_shape;
  Schedule (*make)(const Problem&);
};

// A namespace-scope Registration makes an algorithm known; no other file lists it.
class Registration {
 public:
  explicit Registration(const Algorithm& algorithm);
};

// Sorted by operation, then by name; the same on every rank.
std::span<const Algorithm> algorithms();

// Returns nullptr if the operation does not have an algorithm of this name.
const Algorithm* find_algorithm(Operation operation, const std::string& name);

}  // namespace scope
