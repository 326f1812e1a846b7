#include "json/json.hpp"

#include <limits>

#include "check.hpp"

using scope::Json;
using scope::testing::thrown;

int main() {
  Json json;
  json.object();
  json.member("name", "a \"quoted\"\n\\name");
  json.key("numbers");
  json.array();
  json.value(1);
  json.value(true);
  json.value(2.5e-9);
  json.null();
  json.end();
  json.member("nested", std::vector<std::vector<double>>{{0.5}, {}});
  json.key("at");
  json.moment(1234567890.1234);
  json.end();
  CHECK(json.text() == R"({"name":"a \"quoted\"\u000a\\name","numbers":[1,true,2.5e-09,null],)"
                       R"("nested":[[0.5],[]],"at":1234567890.123})");

  for (const double number : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()}) {
    CHECK(thrown([&] { Json().value(number); }) != "");
  }
  return scope::testing::failures;
}
