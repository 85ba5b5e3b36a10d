// SPDX-License-Identifier: GPL-3.0-or-later
// The studio without a window: the open document, its table, what the user has decided (PlanInputs)
// and the plan that follows. A change is solved at once (milliseconds) and announced by one signal
// that carries the whole result, so no view can show numbers of two different plans. Opening,
// calibrating and the frontiers run as background jobs. Belongs to the GUI thread; opens no project
// file there.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "widgets/models/document.h"
#include "widgets/models/frontier_job.h"
#include "widgets/models/job_runner.h"
#include "widgets/models/plan_state.h"

namespace lamina::studio {

// What becomes of the budget when the inputs ask for another problem.
enum class BudgetRule {
  kGiven,     // exactly the one given, or an error
  kFeasible,  // raised to the smallest feasible or lowered to the full cache where it must
  kKeepRatio  // the same share of the full cache, then as kFeasible
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
  // The curves of the problem; restarted whenever it changes.
  FrontierJob& frontier() { return frontier_; }
  // Stops all background work and waits for it.
  void stopAll();

  const PlanInputs& inputs() const { return inputs_; }
  BytesKind bytesKind() const { return inputs_.kind; }
  std::int64_t budget() const { return inputs_.budget; }
  std::int64_t smallestBudget() const;  // 0 without a problem
  std::int64_t fullBudget() const;
  // Why the open document cannot be calibrated; empty where it can.
  QString calibrationObstacle() const;

  // Solves and emits planChanged(), or returns the error and changes nothing. A target whose shape
  // rules out the method brings the richest one that fits. Errors: kUsage without a table, those of
  // Problem::make and Problem::solve.
  Status apply(PlanInputs inputs, BudgetRule rule = BudgetRule::kGiven);
  Status setBudget(std::int64_t bytes);
  Status setBudgetText(const QString& text);
  Status setBytesKind(BytesKind kind);
  // The bytes that a typed budget means; "8 requests" is the largest budget with which so many fit
  // the GPU memory. Errors: kUsage, those of memory_budget() and budget_for_peak().
  Result<std::int64_t> parseBudgetText(const QString& text) const;

  // Where the plan is to run; "" forgets it. "24GiB" and so on. Errors: kUsage.
  Status setGpuMemory(const QString& text);
  std::int64_t gpuMemory() const { return gpu_bytes_; }
  // Why the table cannot be solved for an objective; empty where it can.
  QString objectiveObstacle(Objective objective) const;

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
  // Another table: the inputs are new ones that no edit led to.
  void inputsReset();
  void failed(const QString& title, const QString& message);
  void opened(const QString& path);
  void notice(const QString& text);

 private:
  void adopt(Document document);
  void adoptTable(TableData table);
  // The problem and plan of inputs, not yet shown. `problem` is null where the present one serves.
  struct Solved {
    std::unique_ptr<const Problem> problem;
    PlanInputs inputs;
    std::shared_ptr<const PlanState> plan;
  };
  Result<Solved> solveInputs(const SensitivityTable& table, PlanInputs inputs, BudgetRule rule,
                             const Problem* present) const;
  void show(Solved solved);
  Result<std::int64_t> budgetForRequests(std::int64_t requests) const;
  Deployment deployment() const;
  void report(const QString& title, const Status& status);
  void calibrationEnded(Result<TableData> result);
  // Rows measured by a job that is about to be replaced stay on screen where there is no table.
  void abandonMeasuring();

  QString data_dir_;
  std::optional<Document> document_;
  std::optional<PartialTable> measuring_;
  std::unique_ptr<const Problem> problem_;
  std::shared_ptr<const PlanState> plan_;
  PlanInputs inputs_;
  std::int64_t gpu_bytes_ = 0;
  std::uint64_t generation_ = 0;  // of problem_
  FrontierJob frontier_;
  JobRunner jobs_;  // last: stopped before the rest is destroyed
};

// The ratio a fresh table is opened at, where it is feasible.
inline constexpr double kDefaultRatio = 14.0;

}  // namespace lamina::studio
