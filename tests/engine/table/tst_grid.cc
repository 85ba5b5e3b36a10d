// SPDX-License-Identifier: Apache-2.0
#include "engine/table/grid.h"

#include <QTest>
#include <cmath>

using namespace lamina;

class TestGrid : public QObject {
  Q_OBJECT

 private slots:
  void default_grid_has_the_papers_indices() {
    const ConfigGrid grid = ConfigGrid::default_grid();
    QCOMPARE(grid.size(), 54);
    QCOMPARE(grid.full_index(), 53);
    QVERIFY((grid.at(0) == LayerConfig{0.1, 4, 4}));
    QVERIFY((grid.at(4) == LayerConfig{0.1, 8, 8}));
    QVERIFY((grid.at(7) == LayerConfig{0.1, 16, 8}));
    QVERIFY((grid.at(9) == LayerConfig{0.25, 4, 4}));
    QVERIFY((grid.at(46) == LayerConfig{1.0, 4, 8}));
    QVERIFY((grid.at(53) == LayerConfig{1.0, 16, 16}));
    QVERIFY(grid.validate("g").is_ok());
  }

  // Axes of different lengths, so that a swapped axis is seen.
  void index_and_back() {
    const ConfigGrid grid{{0.05, 0.5}, {2, 4, 8, 16}, {1, 8, 16}};
    QCOMPARE(grid.size(), 24);
    int expected = 0;
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 4; ++b) {
        for (int c = 0; c < 3; ++c, ++expected) {
          QCOMPARE(grid.index(a, b, c), expected);
          QCOMPARE(grid.keep_i(expected), a);
          QCOMPARE(grid.k_i(expected), b);
          QCOMPARE(grid.v_i(expected), c);
          QCOMPARE(grid.find(grid.at(expected)), expected);
        }
      }
    }
    QCOMPARE(grid.find({0.05, 2, 4}), -1);
    QCOMPARE(grid.find({0.05, 3, 8}), -1);
    QCOMPARE(grid.find({0.1, 2, 8}), -1);
  }

  void refuses_bad_axes() {
    auto error = [](ConfigGrid grid) { return grid.validate("file.json").message(); };
    auto names = [](const std::string& message, const char* axis) {
      return message.find(axis) != std::string::npos &&
             message.find("file.json") != std::string::npos;
    };
    const std::vector<int> bits{4, 16};
    QVERIFY(names(error({{}, bits, bits}), "keep"));
    QVERIFY(names(error({{0.5}, {}, bits}), "k_bits"));
    QVERIFY(names(error({{0.5}, bits, {}}), "v_bits"));
    for (double keep : {0.0, -0.5, 1.0000001, std::nan(""), double{INFINITY}}) {
      QVERIFY(names(error({{keep}, bits, bits}), "keep"));
    }
    QVERIFY(names(error({{0.5, 0.5}, bits, bits}), "keep"));
    QVERIFY(names(error({{0.5, 0.25}, bits, bits}), "keep"));
    QVERIFY(names(error({{0.5}, {0, 4}, bits}), "k_bits"));
    QVERIFY(names(error({{0.5}, bits, {4, 17}}), "v_bits"));
    QVERIFY(names(error({{0.5}, {8, 4}, bits}), "k_bits"));
    std::vector<double> keeps;
    for (int i = 1; i <= 1025; ++i) keeps.push_back(i / 1025.0);
    QVERIFY(names(error({keeps, bits, bits}), "4100 recipes"));
    keeps.pop_back();
    QVERIFY(ConfigGrid({keeps, bits, bits}).validate("g").is_ok());
  }

  void spells() { QCOMPARE(to_string(LayerConfig{0.25, 4, 8}), std::string("keep 0.25, K4 V8")); }
};

QTEST_GUILESS_MAIN(TestGrid)
#include "tst_grid.moc"
