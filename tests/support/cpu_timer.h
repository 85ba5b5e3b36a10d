// SPDX-License-Identifier: Apache-2.0
// Processor time of this process, for limits that hold on a busy machine too.
#pragma once

#include <ctime>

namespace lamina::test {

class CpuTimer {
 public:
  double seconds() const {
    return static_cast<double>(std::clock() - start_) / static_cast<double>(CLOCKS_PER_SEC);
  }

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace lamina::test
