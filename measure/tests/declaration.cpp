#include "declaration.hpp"

#include "check.hpp"

using namespace scope;

int main() {
  CHECK(size("message_bytes", "B", 1, 0, 2, "").label() == "message size");
  CHECK(method("look_ahead", "on,off", "").label() == "look ahead");
  CHECK(size("n", "", 1, 0, 2, "").labeled("order of the matrix").label() == "order of the matrix");
  CHECK(seconds("latency_s").label() == "latency");
  CHECK(phase("distribute_s").role == MetricRole::phase);

  CHECK(Ranks::any().allow(1) && !Ranks::any().allow(0));
  CHECK(Ranks::exactly(2).allow(2) && !Ranks::exactly(2).allow(3) && !Ranks::exactly(2).allow(1));
  CHECK(Ranks::even().allow(4) && !Ranks::even().allow(3) && !Ranks::even().allow(0));
  CHECK(Ranks::squares().allow(9) && !Ranks::squares().allow(8));
  CHECK(Ranks::among("1,7").allow(7) && !Ranks::among("1,7").allow(2));
  CHECK(Ranks::exactly(2).description() == "2");
  CHECK(Ranks::at_most(8).description() == "at least 1 and at most 8");
  CHECK(Ranks::even().description() == "an even number, at least 2");
  CHECK(Ranks::squares().description() == "a square number, at least 1");
  CHECK(Ranks::among("1,7").description() == "1 or 7");
  return scope::testing::failures;
}
