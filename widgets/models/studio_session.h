// SPDX-License-Identifier: GPL-3.0-or-later
// The studio without a window: the open document, its table, the budget and the plan that the
// budget gives. A budget change is solved at once (a solve takes well under a millisecond) and
// announced by one signal that carries the whole result, so no view can show numbers of two
// different plans. Opening and calibrating run as background jobs. Belongs to the GUI thread; opens
// no project file there.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/solve/solve.h"
#include "widgets/models/document.h"
#include "widgets/models/job_runner.h"

namespace lamina::studio {

// One layer of the current plan, as the tables show it.
struct PlanRow {
  LayerConfig config;
  double bytes = 0;        // of PlanState::kind
  double sensitivity = 0;  // predicted error of the layer
};

// A solved budget. Immutable once announced.
struct PlanState {
  std::int64_t budget = 0;
  BytesKind kind = BytesKind::kActual;
  Solution solution;                // greedy
  std::optional<Solution> uniform;  // 2d_uniform; empty where it cannot reach the budget
  LayerConfig uniform_config;
  std::vector<PlanRow> rows;  // (layers)
  double full_bytes = 0;
  std::int64_t peak_bytes = 0;  // actual bytes + eviction slack
  int distinct = 0;
  std::int64_t t_cache = 0;
};

class StudioSession : public QObject {
  Q_OBJECT
 public:
  // data_dir: where projects of models that were opened without one are kept.
  explicit StudioSession(QString data_dir, QObject* parent = nullptr);
  ~StudioSession() override;

  const std::optional<Document>& document() const { return document_; }
  // Rows of a calibration that runs now; null otherwise.
  const PartialTable* measuring() const { return measuring_ ? &*measuring_ : nullptr; }
  // The solver's view of the complete table; null where there is none.
  const Problem* problem() const { return problem_.get(); }
  std::shared_ptr<const PlanState> plan() const { return plan_; }
  JobRunner& jobs() { return jobs_; }

  BytesKind bytesKind() const { return bytes_kind_; }
  std::int64_t budget() const { return budget_; }
  std::int64_t smallestBudget() const;  // 0 without a problem
  std::int64_t fullBudget() const;
  // Why the open document cannot be calibrated; empty where it can.
  QString calibrationObstacle() const;

  // Each solves and emits planChanged(), or returns the error and changes nothing.
  Status setBudget(std::int64_t bytes);
  Status setBudgetText(const QString& text);
  // Keeps the ratio to the full cache.
  Status setBytesKind(BytesKind kind);

  Result<Plan> exportablePlan() const;
  Status exportPlan(const QString& path) const;

 public slots:
  void open(const QString& path);
  // scorer: "streaming", "keydiff" or "triattention".
  void calibrate(const QString& scorer);
  // Copies the project and goes on in the copy.
  void saveProjectAs(const QString& path);
  void cancel() { jobs_.cancel(); }

 signals:
  void documentChanged();
  // The heatmap's rows are different ones: another table, a calibration began or ended.
  void tableChanged();
  void rowMeasured(int layer);
  void planChanged(const std::shared_ptr<const lamina::studio::PlanState>& plan);
  void failed(const QString& title, const QString& message);
  void opened(const QString& path);
  void notice(const QString& text);

 private:
  void adopt(Document document);
  void adoptTable(TableData table);
  Result<std::shared_ptr<const PlanState>> solve(const Problem& problem, std::int64_t budget) const;
  void solveDefault();
  void report(const QString& title, const Status& status);
  void calibrationEnded(Result<TableData> result);
  // Rows measured by a job that is about to be replaced stay on screen where there is no table.
  void abandonMeasuring();

  QString data_dir_;
  std::optional<Document> document_;
  std::optional<PartialTable> measuring_;
  std::unique_ptr<const Problem> problem_;
  std::shared_ptr<const PlanState> plan_;
  BytesKind bytes_kind_ = BytesKind::kActual;
  std::int64_t budget_ = 0;
  JobRunner jobs_;  // last: stopped before the rest is destroyed
};

// The ratio a fresh table is opened at, where it is feasible.
inline constexpr double kDefaultRatio = 14.0;

}  // namespace lamina::studio
