// SPDX-License-Identifier: GPL-3.0-or-later
// Everything a user decides about the plan, by mouse and keyboard, and its undo.
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QMenu>
#include <QMenuBar>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include "studio_testing.h"
#include "widgets/edit/plan_editor.h"
#include "widgets/models/comparison_model.h"
#include "widgets/models/heatmap_model.h"
#include "widgets/models/limit_edits.h"
#include "widgets/models/plan_table_model.h"
#include "widgets/pages/workspace_page.h"
#include "widgets/panels/budget_slider.h"
#include "widgets/panels/plan_view.h"
#include "widgets/panels/summary_panel.h"
#include "widgets/plots/frontier_view.h"
#include "widgets/window/error_dialog.h"
#include "widgets/window/main_window.h"
#include "widgets/window/theme.h"

namespace lamina::studio {

using testing::cutOffTexts;
using testing::openAndWait;
using testing::syntheticTable;
using testing::writeTable;

class TestPlanEditing : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void init();
  void cleanup();
  void aDragIsOneStep();
  void aHeldKeyIsOneStep();
  void theWheelMoves();
  void snapsToCorners();
  void shiftSnapsWhileDragging();
  void typedValuesWithUnits();
  void pinByCheckBox();
  void pinByChoosingAnotherValue();
  void pinsHoldAtEveryBudget();
  void limitsFromTheMenu();
  void refusedLimitChangesNothing();
  void targets();
  void objectives();
  void methods();
  void contextAndMemory();
  void undoRestoresEverything();
  void anotherTableEmptiesTheHistory();
  void modelsKeepTheRules();
  void noHeadroomIsSaid();
  void nothingIsCutAtTheMinimumSize_data();
  void nothingIsCutAtTheMinimumSize();

 private:
  StudioSession& session() const { return *window_->session(); }
  QUndoStack& history() const { return *window_->editor()->history(); }
  BudgetSlider* slider() const { return window_->findChild<BudgetSlider*>(); }
  QTableView* table() const { return window_->workspace()->planView()->table(); }
  QString label(const char* name) const {
    return window_->findChild<QWidget*>(QLatin1String(name))->property("text").toString();
  }
  QComboBox* box(const char* name) const {
    return window_->findChild<QComboBox*>(QLatin1String(name));
  }
  // As a user picks an entry: the index changes, then the box tells of it.
  void choose(QComboBox* box, int index) {
    box->setCurrentIndex(index);
    emit box->activated(index);
  }
  QPoint handle() const {
    return {slider()->pixelOf(double(slider()->bytes())), slider()->height() / 2};
  }
  void type(const QString& text) {
    auto* entry = window_->findChild<QLineEdit*>(QStringLiteral("budgetEntry"));
    entry->clear();
    QTest::keyClicks(entry, text);
    QTest::keyClick(entry, Qt::Key_Return);
  }
  // Triggers "Submenu > Entry" of the limits menu of a layer.
  void trigger(int layer, const QString& submenu, const QString& entry);
  void undo() { QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier); }
  void redo() {
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  }

  std::unique_ptr<QTemporaryDir> dir_;
  std::unique_ptr<MainWindow> window_;
};

void TestPlanEditing::initTestCase() {
  QStandardPaths::setTestModeEnabled(true);
  applyTheme(*qApp, Theme::kLight);
}

void TestPlanEditing::init() {
  dir_ = std::make_unique<QTemporaryDir>();
  window_ = std::make_unique<MainWindow>(WindowOptions{dir_->filePath(QStringLiteral("studio.ini")),
                                                       dir_->filePath(QStringLiteral("projects"))});
  window_->resize(1280, 800);
  window_->show();
  openAndWait(session(), writeTable(*dir_, QStringLiteral("t.json"), syntheticTable(8)));
  QVERIFY(session().setBudgetText(QStringLiteral("8x")).is_ok());
}

void TestPlanEditing::cleanup() {
  window_.reset();
  dir_.reset();
}

void TestPlanEditing::trigger(int layer, const QString& submenu, const QString& entry) {
  const std::unique_ptr<QMenu> menu = window_->workspace()->planView()->makeLimitsMenu(layer);
  const QList<QAction*> actions = submenu.isEmpty() ? menu->actions() : [&]() -> QList<QAction*> {
    for (QAction* action : menu->actions()) {
      if (action->text() == submenu) return action->menu()->actions();
    }
    return {};
  }();
  for (QAction* action : actions) {
    if (action->text() == entry) return action->trigger();
  }
  QFAIL(qPrintable(QStringLiteral("no entry %1 > %2").arg(submenu, entry)));
}

void TestPlanEditing::aDragIsOneStep() {
  const std::int64_t before = session().budget();
  QSignalSpy plans(&session(), &StudioSession::planChanged);
  const QPoint from = handle();
  QTest::mousePress(slider(), Qt::LeftButton, {}, from);
  for (int i = 1; i <= 30; ++i) QTest::mouseMove(slider(), from + QPoint(4 * i, 0));
  QTest::mouseRelease(slider(), Qt::LeftButton, {}, from + QPoint(120, 0));
  QVERIFY2(plans.count() >= 20, qPrintable(QString::number(plans.count())));
  const std::int64_t after = session().budget();
  QVERIFY(after > before);
  QCOMPARE(history().count(), 1);
  undo();
  QCOMPARE(session().budget(), before);
  QCOMPARE(slider()->bytes(), before);
  redo();
  QCOMPARE(session().budget(), after);
  // A second drag is a second step; one that comes back to where it began is none.
  QTest::mousePress(slider(), Qt::LeftButton, {}, handle());
  QTest::mouseMove(slider(), handle() + QPoint(-40, 0));
  QTest::mouseRelease(slider(), Qt::LeftButton, {}, handle());
  QCOMPARE(history().count(), 2);
}

void TestPlanEditing::aHeldKeyIsOneStep() {
  slider()->setFocus();
  const std::int64_t before = session().budget();
  QTest::keyPress(slider(), Qt::Key_Right);
  for (int i = 0; i < 10; ++i) {
    QKeyEvent repeat(QEvent::KeyPress, Qt::Key_Right, Qt::NoModifier, QString(), true);
    QApplication::sendEvent(slider(), &repeat);
  }
  QTest::keyRelease(slider(), Qt::Key_Right);
  QVERIFY(session().budget() > before);
  QCOMPARE(history().count(), 1);
  QTest::keyClick(slider(), Qt::Key_Left);
  QCOMPARE(history().count(), 2);
  undo();
  undo();
  QCOMPARE(session().budget(), before);
}

void TestPlanEditing::theWheelMoves() {
  const std::int64_t before = session().budget();
  const auto turn = [&](int notches) {
    QWheelEvent event(handle(), slider()->mapToGlobal(handle()), {}, {0, 120 * notches},
                      Qt::NoButton, {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(slider(), &event);
  };
  turn(1);
  turn(1);
  QVERIFY(session().budget() > before);
  QCOMPARE(history().count(), 1);
  QTest::qWait(600);
  turn(-1);
  QCOMPARE(history().count(), 2);
}

void TestPlanEditing::snapsToCorners() {
  auto* snap = window_->findChild<QCheckBox*>(QStringLiteral("budgetSnap"));
  QTest::keyClick(snap, Qt::Key_Space);
  QVERIFY(slider()->isSnapping());
  const std::vector<std::int64_t> corners = session().problem()->corner_bytes();
  QVERIFY(corners.size() > 8);
  for (const int position : {0, 137, 500, 1001, 1499, 2000}) {
    slider()->setValue(position);
    QVERIFY(std::binary_search(corners.begin(), corners.end(), session().budget()));
  }
  // Keys go from corner to corner, whatever lies between.
  slider()->setValue(0);
  QCOMPARE(session().budget(), corners.front());
  for (std::size_t i = 1; i < 6; ++i) {
    QTest::keyClick(slider(), Qt::Key_Right);
    QCOMPARE(session().budget(), corners[i]);
  }
  QTest::keyClick(slider(), Qt::Key_Left);
  QCOMPARE(session().budget(), corners[4]);
  QTest::keyClick(slider(), Qt::Key_PageUp);
  QCOMPARE(session().budget(), corners[std::min<std::size_t>(14, corners.size() - 1)]);
  // From between two corners the next one up or down is the next place.
  QVERIFY(session().setBudget((corners[4] + corners[5]) / 2).is_ok());
  QTest::keyClick(slider(), Qt::Key_Right);
  QCOMPARE(session().budget(), corners[5]);
  QVERIFY(session().setBudget((corners[4] + corners[5]) / 2).is_ok());
  QTest::keyClick(slider(), Qt::Key_Left);
  QCOMPARE(session().budget(), corners[4]);
  QTest::keyClick(snap, Qt::Key_Space);
  QVERIFY(!slider()->isSnapping());
}

void TestPlanEditing::shiftSnapsWhileDragging() {
  const std::vector<std::int64_t> corners = session().problem()->corner_bytes();
  const auto on_corner = [&] {
    return std::binary_search(corners.begin(), corners.end(), session().budget());
  };
  const QPoint from = handle();
  QTest::mousePress(slider(), Qt::LeftButton, Qt::ShiftModifier, from);
  int snapped = 0, free = 0;
  for (int i = 1; i <= 20; ++i) {
    const QPoint to = from + QPoint(5 * i, 0);
    const Qt::KeyboardModifiers keys = i <= 10 ? Qt::ShiftModifier : Qt::NoModifier;
    QMouseEvent move(QEvent::MouseMove, to, slider()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                     keys);
    QApplication::sendEvent(slider(), &move);
    (i <= 10 ? snapped : free) += on_corner();
  }
  QTest::mouseRelease(slider(), Qt::LeftButton, {}, from + QPoint(100, 0));
  QCOMPARE(snapped, 10);
  QVERIFY2(free < 5, qPrintable(QString::number(free)));
  QCOMPARE(history().count(), 1);
}

void TestPlanEditing::typedValuesWithUnits() {
  type(QStringLiteral("1.5MB"));
  QCOMPARE(session().budget(), 1'500'000);
  type(QStringLiteral("2MiB"));
  QCOMPARE(session().budget(), 2 << 20);
  type(QStringLiteral("25%"));
  QCOMPARE(session().budget(), session().fullBudget() / 4);
  QCOMPARE(history().count(), 3);
  type(QStringLiteral("25%"));  // nothing changes: no step
  QCOMPARE(history().count(), 3);
  type(QStringLiteral("lots"));
  QCOMPARE(history().count(), 3);
  undo();
  QCOMPARE(session().budget(), 2 << 20);
}

void TestPlanEditing::pinByCheckBox() {
  const LayerConfig chosen = session().plan()->rows[2].config;
  const QModelIndex cell = window_->workspace()->planModel()->index(2, PlanTableModel::kPin);
  table()->scrollTo(cell);
  table()->setCurrentIndex(cell);
  QTest::keyClick(table(), Qt::Key_Space);
  QCOMPARE(pinOf(session().inputs().limits, 2).value(), chosen);
  QVERIFY(session().plan()->rows[2].pinned);
  QCOMPARE(cell.data(Qt::CheckStateRole).toInt(), int(Qt::Checked));
  QVERIFY(label("limits").contains(QStringLiteral("layer 2 pinned at ") + recipeText(chosen)));
  QTest::keyClick(table(), Qt::Key_Space);
  QVERIFY(session().inputs().limits.empty());
  undo();
  QVERIFY(session().plan()->rows[2].pinned);
  undo();
  QVERIFY(session().inputs().limits.empty());
}

void TestPlanEditing::pinByChoosingAnotherValue() {
  const LayerConfig before = session().plan()->rows[1].config;
  const QModelIndex cell = window_->workspace()->planModel()->index(1, PlanTableModel::kKBits);
  table()->setCurrentIndex(cell);
  table()->edit(cell);
  auto* editor = table()->viewport()->findChild<QComboBox*>();
  QVERIFY(editor);
  QCOMPARE(editor->currentText(), QString::number(before.k_bits));
  const int other = before.k_bits == 16 ? 0 : 2;
  choose(editor, other);
  LayerConfig expected = before;
  expected.k_bits = other == 0 ? 4 : 16;
  QCOMPARE(pinOf(session().inputs().limits, 1).value(), expected);
  QCOMPARE(session().plan()->rows[1].config, expected);
  QCOMPARE(window_->workspace()->heatmapModel()->chosen(1),
           session().problem()->table().grid.find(expected));
  undo();
  QVERIFY(session().inputs().limits.empty());
}

void TestPlanEditing::pinsHoldAtEveryBudget() {
  const LayerConfig recipe{0.75, 8, 16};
  QVERIFY(window_->editor()->pin(5, recipe).is_ok());
  for (const int position : {0, 400, 900, 1700, 2000}) {
    slider()->setValue(position);
    QCOMPARE(session().plan()->rows[5].config, recipe);
    for (const MethodResult& result : session().plan()->methods) {
      if (result.solution) QCOMPARE(result.solution->layers[5], recipe);
    }
  }
}

void TestPlanEditing::limitsFromTheMenu() {
  trigger(3, QStringLiteral("In layer 3"), QStringLiteral("Never below keep 0.5"));
  QCOMPARE(minKeep(session().inputs().limits, 3), 0.5);
  QVERIFY(session().plan()->rows[3].config.keep >= 0.5);
  trigger(0, QStringLiteral("In all layers"), QStringLiteral("No 4-bit K"));
  for (const PlanRow& row : session().plan()->rows) QVERIFY(row.config.k_bits != 4);
  QCOMPARE(label("limits"), QStringLiteral("layer 3: keep >= 0.5; all layers: K bits != 4"));
  // The menu shows what is in force, and takes it away again.
  const std::unique_ptr<QMenu> menu = window_->workspace()->planView()->makeLimitsMenu(3);
  int checked = 0;
  for (QAction* action : menu->actions()) {
    if (!action->menu()) continue;
    for (QAction* entry : action->menu()->actions()) checked += entry->isChecked();
  }
  QCOMPARE(checked, 3);  // keep >= 0.5 in layer 3, any keep and no 4-bit K in all layers
  trigger(0, QStringLiteral("In all layers"), QStringLiteral("No 4-bit K"));
  trigger(3, {}, QStringLiteral("Clear limits of layer 3"));
  QVERIFY(session().inputs().limits.empty());
  QCOMPARE(history().count(), 4);
  undo();
  QCOMPARE(minKeep(session().inputs().limits, 3), 0.5);
  auto* clear = window_->findChild<QPushButton*>(QStringLiteral("clearLimits"));
  QVERIFY(clear->isVisible());
  QTest::mouseClick(clear, Qt::LeftButton);
  QVERIFY(session().inputs().limits.empty());
  QVERIFY(!clear->isVisible());
}

void TestPlanEditing::refusedLimitChangesNothing() {
  trigger(0, QStringLiteral("In all layers"), QStringLiteral("No 4-bit V"));
  trigger(0, QStringLiteral("In all layers"), QStringLiteral("No 8-bit V"));
  const auto plan = session().plan();
  const PlanInputs inputs = session().inputs();
  trigger(0, QStringLiteral("In all layers"), QStringLiteral("No 16-bit V"));
  auto* dialog = window_->findChild<ErrorDialog*>();
  QVERIFY(dialog);
  QVERIFY2(dialog->message().contains(QStringLiteral("layer 0")), qPrintable(dialog->message()));
  dialog->close();
  QCOMPARE(session().plan(), plan);
  QVERIFY(session().inputs() == inputs);
  QCOMPARE(history().count(), 2);
}

void TestPlanEditing::targets() {
  QComboBox* target = box("target");
  QCOMPARE(target->count(), static_cast<int>(builtin_targets().size()) + 1);
  const int llama = target->findData(QStringLiteral("llama.cpp"));
  QVERIFY(llama > 0);
  QVERIFY(!target->itemData(llama, Qt::ToolTipRole).toString().isEmpty());
  choose(target, llama);
  QCOMPARE(session().inputs().limits.target->name, std::string("llama.cpp"));
  // One recipe for all layers: the method follows, and the menu of methods says why.
  QCOMPARE(session().plan()->method, methods::kUniform2d);
  QCOMPARE(session().plan()->distinct, 1);
  QCOMPARE(session().plan()->rows[0].config.keep, 1.0);
  auto* items = qobject_cast<QStandardItemModel*>(box("method")->model());
  QVERIFY(!items->item(0)->isEnabled());
  QVERIFY(items->item(0)->toolTip().contains(QStringLiteral("llama.cpp")));
  undo();
  QVERIFY(!session().inputs().limits.target);
  QCOMPARE(target->currentIndex(), 0);
  QCOMPARE(session().plan()->method, methods::kExact);
  QVERIFY(items->item(0)->isEnabled());
  // Every target can be chosen or is refused with nothing changed.
  for (int index = 0; index < target->count(); ++index) {
    const auto before = session().plan();
    choose(target, index);
    if (auto* dialog = window_->findChild<ErrorDialog*>()) {
      QCOMPARE(session().plan(), before);
      delete dialog;
    }
    QCOMPARE(target->currentData().toString(),
             session().inputs().limits.target ? toQString(session().inputs().limits.target->name)
                                              : QString());
  }
}

void TestPlanEditing::objectives() {
  QComboBox* objective = box("objective");
  auto* items = qobject_cast<QStandardItemModel*>(objective->model());
  QCOMPARE(objective->itemText(0), QStringLiteral("S"));
  QVERIFY(items->item(0)->isEnabled());
  QVERIFY(items->item(1)->isEnabled());
  // The table has no KL and no weights; the box says so.
  for (const int index : {2, 3, 4}) {
    QVERIFY(!items->item(index)->isEnabled());
    QVERIFY2(items->item(index)->toolTip().size() > 20, qPrintable(items->item(index)->toolTip()));
  }
  const double before = session().plan()->solution.predicted;
  choose(objective, 1);
  QCOMPARE(session().plan()->objective, Objective::kS2);
  QVERIFY(session().plan()->solution.predicted != before);
  QVERIFY(label("summaryPredicted").contains(QStringLiteral("S²")));
  QCOMPARE(window_->workspace()
               ->planModel()
               ->headerData(PlanTableModel::kError, Qt::Horizontal, Qt::DisplayRole)
               .toString(),
           QStringLiteral("Error S²"));
  undo();
  QCOMPARE(session().plan()->solution.predicted, before);
  QCOMPARE(objective->currentIndex(), 0);
}

void TestPlanEditing::methods() {
  QComboBox* method = box("method");
  for (int index = 0; index < method->count(); ++index) {
    const auto direct = session().problem()->solve(shownMethods()[static_cast<std::size_t>(index)],
                                                   session().budget());
    choose(method, index);
    if (direct) {
      QCOMPARE(session().plan()->solution.configs, direct->configs);
      QCOMPARE(method->currentIndex(), index);
    } else {
      auto* dialog = window_->findChild<ErrorDialog*>();
      QVERIFY(dialog);
      delete dialog;
    }
    QCOMPARE(method->currentText(), methodText(session().plan()->method));
  }
}

void TestPlanEditing::contextAndMemory() {
  auto* context = window_->findChild<QSpinBox*>(QStringLiteral("context"));
  QCOMPARE(context->value(), 4096);
  context->selectAll();
  QTest::keyClicks(context, QStringLiteral("8192"));
  QTest::keyClick(context, Qt::Key_Return);
  QCOMPARE(session().plan()->t_cache, 8192);
  QVERIFY(label("summaryFull").contains(QStringLiteral("8192 tokens")));
  undo();
  QCOMPARE(session().plan()->t_cache, 4096);
  QCOMPARE(context->value(), 4096);
  auto* memory = window_->findChild<QLineEdit*>(QStringLiteral("gpuMemory"));
  QTest::keyClicks(memory, QStringLiteral("24GiB"));
  QTest::keyClick(memory, Qt::Key_Return);
  QCOMPARE(session().gpuMemory(), std::int64_t{24} << 30);
  // A table without its model has no weights to subtract: no number is made up.
  QVERIFY(label("deploymentNote").contains(QStringLiteral("unknown")));
  QVERIFY(!label("budgetReadout").contains(QStringLiteral("request")));
}

void TestPlanEditing::undoRestoresEverything() {
  const PlanInputs start = session().inputs();
  std::vector<PlanInputs> states{start};
  const auto note = [&] { states.push_back(session().inputs()); };
  QVERIFY(window_->editor()->pin(0, {1.0, 16, 16}).is_ok());
  note();
  type(QStringLiteral("3x"));
  note();
  choose(box("objective"), 1);
  note();
  trigger(4, QStringLiteral("In layer 4"), QStringLiteral("No 8-bit V"));
  note();
  QVERIFY(window_->editor()->setBytesKind(BytesKind::kNominal).is_ok());
  note();
  choose(box("method"), 1);
  note();
  QCOMPARE(history().count(), static_cast<int>(states.size()) - 1);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = states.size() - 1; i-- > 0;) {
      undo();
      QVERIFY(session().inputs() == states[i]);
      QCOMPARE(session().plan()->budget, states[i].budget);
    }
    QVERIFY(!history().canUndo());
    for (std::size_t i = 1; i < states.size(); ++i) {
      redo();
      QVERIFY(session().inputs() == states[i]);
    }
  }
}

void TestPlanEditing::anotherTableEmptiesTheHistory() {
  QVERIFY(window_->editor()->pin(0, {1.0, 16, 16}).is_ok());
  QCOMPARE(history().count(), 1);
  openAndWait(session(), writeTable(*dir_, QStringLiteral("other.json"), syntheticTable(3)));
  QCOMPARE(history().count(), 0);
  QVERIFY(session().inputs().limits.empty());
  QVERIFY(label("limits").startsWith(QStringLiteral("No limits")));
}

void TestPlanEditing::modelsKeepTheRules() {
  QAbstractItemModelTester plan(window_->workspace()->planModel(),
                                QAbstractItemModelTester::FailureReportingMode::QtTest);
  QAbstractItemModelTester comparison(window_->findChild<SummaryPanel*>()->comparison(),
                                      QAbstractItemModelTester::FailureReportingMode::QtTest);
  QAbstractItemModelTester cells(window_->workspace()->heatmapModel(),
                                 QAbstractItemModelTester::FailureReportingMode::QtTest);
  slider()->setValue(300);
  QVERIFY(window_->editor()->pin(1, {0.5, 8, 8}).is_ok());
  choose(box("objective"), 1);
  choose(box("target"), 2);
  undo();
  openAndWait(session(), writeTable(*dir_, QStringLiteral("other.json"), syntheticTable(3)));
  slider()->setValue(900);
}

void TestPlanEditing::noHeadroomIsSaid() {
  // Equal layers of which only the whole is any good: every layer keeps all its tokens.
  SensitivityTable flat = syntheticTable(4);
  for (auto& row : flat.values) {
    for (int c = 0; c < flat.grid.size(); ++c) {
      const LayerConfig config = flat.grid.at(c);
      row[static_cast<std::size_t>(c)] =
          100 * (1 - config.keep) + 1e-3 * (16 - config.k_bits) + 1e-3 * (16 - config.v_bits);
    }
  }
  auto* sentence = window_->findChild<QWidget*>(QStringLiteral("summaryHeadroom"));
  openAndWait(session(), writeTable(*dir_, QStringLiteral("flat.json"), flat));
  QVERIFY(session().setBudgetText(QStringLiteral("2x")).is_ok());
  QVERIFY(!session().plan()->headroom.worth_routing);
  QVERIFY(sentence->isVisibleTo(window_.get()));
  QVERIFY(
      sentence->property("text").toString().contains(toQString(session().plan()->headroom.reason)));
}

void TestPlanEditing::nothingIsCutAtTheMinimumSize_data() {
  QTest::addColumn<bool>("dark");
  QTest::newRow("light") << false;
  QTest::newRow("dark") << true;
}

void TestPlanEditing::nothingIsCutAtTheMinimumSize() {
  QFETCH(bool, dark);
  applyTheme(*qApp, dark ? Theme::kDark : Theme::kLight);
  window_->resize(window_->minimumSizeHint());
  QTest::qWait(60);
  QVERIFY2(window_->width() <= 1280, qPrintable(QString::number(window_->width())));
  QVERIFY2(window_->height() <= 800, qPrintable(QString::number(window_->height())));
  // What lies in a scroll area may be scrolled to; nothing else may be cut.
  QCOMPARE(cutOffTexts(window_->workspace()), QStringList());
  // Column headings fit their columns.
  for (QTableView* view : window_->findChildren<QTableView*>()) {
    QHeaderView* header = view->horizontalHeader();
    for (int column = 0; column < header->count(); ++column) {
      const QString text =
          view->model()->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
      QVERIFY2(header->fontMetrics().horizontalAdvance(text) <= header->sectionSize(column),
               qPrintable(view->objectName() + QLatin1Char(' ') + text));
    }
  }
  applyTheme(*qApp, Theme::kLight);
}

}  // namespace lamina::studio

QTEST_MAIN(lamina::studio::TestPlanEditing)
#include "tst_plan_editing.moc"
