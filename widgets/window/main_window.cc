// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/window/main_window.h"

#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QStatusBar>
#include <QVBoxLayout>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/text.h"
#include "widgets/pages/start_page.h"
#include "widgets/pages/workspace_page.h"
#include "widgets/panels/deployment_bar.h"
#include "widgets/panels/model_bar.h"
#include "widgets/panels/progress_strip.h"
#include "widgets/plots/frontier_view.h"
#include "widgets/plots/heatmap_view.h"
#include "widgets/window/error_dialog.h"
#include "widgets/window/recent_files.h"

namespace lamina::studio {
namespace {

constexpr int kNoticeMs = 10000;

// The local file that a drag carries, or "".
QString draggedFile(const QMimeData* data) {
  if (!data->hasUrls() || data->urls().size() != 1) return {};
  return data->urls().front().toLocalFile();
}

}  // namespace

WindowOptions WindowOptions::standard() {
  const QString config = QStandardPaths::writableLocation(QStandardPaths::AppConfigLocation);
  const QString data = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  return {QDir(config).filePath(QStringLiteral("studio.ini")),
          QDir(data).filePath(QStringLiteral("projects"))};
}

MainWindow::MainWindow(const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent),
      settings_(std::make_unique<QSettings>(options.settings_file, QSettings::IniFormat)),
      session_(std::make_unique<StudioSession>(options.data_dir)),
      editor_(new PlanEditor(session_.get(), this)),
      recent_(new RecentFiles(settings_.get(), this)) {
  setAcceptDrops(true);
  auto* body = new QWidget(this);
  pages_ = new QStackedWidget(body);
  start_ = new StartPage(pages_);
  workspace_ = new WorkspacePage(editor_, pages_);
  pages_->addWidget(start_);
  pages_->addWidget(workspace_);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(new ProgressStrip(&session_->jobs(), body));
  layout->addWidget(pages_, 1);
  setCentralWidget(body);
  buildMenus();
  statusBar()->setSizeGripEnabled(true);
  connect(start_, &StartPage::openModelFileRequested, this, &MainWindow::askModelFile);
  connect(start_, &StartPage::openModelFolderRequested, this, &MainWindow::askModelFolder);
  connect(start_, &StartPage::openProjectRequested, this, &MainWindow::askProject);
  connect(start_, &StartPage::openRequested, this, &MainWindow::open);
  connect(recent_, &RecentFiles::changed, this, &MainWindow::refillRecentMenu);
  connectSession();
  restoreSettings();
  refillRecentMenu();
  refreshActions();
  refreshTitle();
}

// The session stops its job and goes first, while everything it signals to still lives.
MainWindow::~MainWindow() {
  disconnect(session_.get(), nullptr, nullptr, nullptr);
  disconnect(&session_->jobs(), nullptr, nullptr, nullptr);
  disconnect(&session_->frontier(), nullptr, nullptr, nullptr);
  session_->stopAll();
  delete takeCentralWidget();
  delete editor_;
}

bool MainWindow::showsWorkspace() const { return pages_->currentWidget() == workspace_; }

void MainWindow::connectSession() {
  StudioSession* session = session_.get();
  connect(session, &StudioSession::failed, this, &MainWindow::showError);
  connect(session, &StudioSession::notice, this,
          [this](const QString& text) { statusBar()->showMessage(text, kNoticeMs); });
  connect(session, &StudioSession::opened, recent_, &RecentFiles::add);
  connect(session, &StudioSession::documentChanged, this, [this] {
    pages_->setCurrentWidget(workspace_);
    refreshTitle();
    refreshActions();
  });
  connect(session, &StudioSession::planChanged, this, &MainWindow::refreshActions);
  connect(&session->jobs(), &JobRunner::started, this, [this](const QString& title) {
    statusBar()->showMessage(title + QStringLiteral("…"));
    refreshActions();
  });
  connect(&session->jobs(), &JobRunner::finished, this, [this] {
    if (statusBar()->currentMessage().endsWith(QStringLiteral("…"))) statusBar()->clearMessage();
    refreshActions();
  });
}

void MainWindow::buildMenus() {
  buildFileMenu();
  buildEditMenu();
  buildPlanMenu();
  buildViewMenu();
  buildHelpMenu();
}

void MainWindow::buildFileMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  menu->addAction(tr("&Open Model File…"), QKeySequence::Open, this, &MainWindow::askModelFile);
  menu->addAction(tr("Open Model &Folder…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), this,
                  &MainWindow::askModelFolder);
  menu->addAction(tr("Open &Project or Table…"), QKeySequence(Qt::CTRL | Qt::Key_P), this,
                  &MainWindow::askProject);
  recent_menu_ = menu->addMenu(tr("Open &Recent"));
  menu->addSeparator();
  save_project_ = menu->addAction(tr("&Save Project As…"), QKeySequence::SaveAs, this,
                                  &MainWindow::askSaveProject);
  export_plan_ = menu->addAction(tr("&Export Plan…"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                                 &MainWindow::askExport);
  menu->addSeparator();
  menu->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::buildEditMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Edit"));
  QAction* undo = editor_->history()->createUndoAction(this, tr("&Undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = editor_->history()->createRedoAction(this, tr("&Redo"));
  redo->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z));
  menu->addActions({undo, redo});
}

void MainWindow::buildPlanMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Calibration"));
  calibrate_ = menu->addAction(tr("&Calibrate"), QKeySequence(Qt::CTRL | Qt::Key_R), this,
                               [this] { workspace_->modelBar()->startCalibration(); });
  cancel_ = menu->addAction(tr("C&ancel Running Job"), QKeySequence(Qt::CTRL | Qt::Key_Period),
                            session_.get(), &StudioSession::cancel);
}

void MainWindow::buildViewMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  QMenu* colors = menu->addMenu(tr("&Heatmap Colours"));
  auto* group = new QActionGroup(this);
  for (const ColorMap map : kColorMaps) {
    QAction* action = colors->addAction(colorMapName(map), this, [this, map] { setColorMap(map); });
    action->setCheckable(true);
    action->setData(static_cast<int>(map));
    group->addAction(action);
  }
  group->setObjectName(QStringLiteral("colorMaps"));
  menu->addSeparator();
  menu->addAction(tr("Restore &Default Layout"), this, &MainWindow::restoreDefaultLayout);
}

void MainWindow::buildHelpMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Help"));
  menu->addAction(tr("&About Lamina Studio"), this, &MainWindow::showAbout);
}

void MainWindow::setColorMap(ColorMap map) {
  workspace_->heatmap()->plot()->setColorMap(map);
  workspace_->heatmap()->update();
  for (QAction* action : findChild<QActionGroup*>(QStringLiteral("colorMaps"))->actions()) {
    action->setChecked(action->data().toInt() == static_cast<int>(map));
  }
}

void MainWindow::refillRecentMenu() {
  recent_menu_->clear();
  const QStringList paths = recent_->paths();
  for (const QString& path : paths) {
    recent_menu_->addAction(QDir::toNativeSeparators(path), this, [this, path] { open(path); });
  }
  if (!paths.isEmpty()) {
    recent_menu_->addSeparator();
    recent_menu_->addAction(tr("Clear List"), recent_, &RecentFiles::clear);
  }
  recent_menu_->setEnabled(!paths.isEmpty());
  start_->setRecent(paths);
}

void MainWindow::refreshActions() {
  const bool running = session_->jobs().isRunning();
  const auto& document = session_->document();
  save_project_->setEnabled(!running && document && !document->project.isEmpty());
  export_plan_->setEnabled(session_->plan() != nullptr);
  calibrate_->setEnabled(!running && session_->calibrationObstacle().isEmpty());
  cancel_->setEnabled(running);
}

void MainWindow::refreshTitle() {
  const auto& document = session_->document();
  if (!document) {
    setWindowTitle(tr("Lamina Studio"));
    return;
  }
  QString where;
  if (document->project.isEmpty()) {
    where = QFileInfo(document->source).fileName();
  } else if (document->automatic_project) {
    where = tr("%1 (automatic project)").arg(QFileInfo(document->project).fileName());
  } else {
    where = QFileInfo(document->project).fileName();
  }
  setWindowTitle(tr("%1 — %2 — Lamina Studio").arg(document->displayName(), where));
}

void MainWindow::open(const QString& path) {
  if (session_->measuring()) {
    const auto answer = QMessageBox::question(
        this, tr("A calibration is running"),
        tr("Stop the calibration and open %1?\nThe layers measured so far stay in the project.")
            .arg(QFileInfo(path).fileName()),
        QMessageBox::Open | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer != QMessageBox::Open) return;
  }
  session_->open(path);
}

QString MainWindow::lastFolder() const {
  return settings_->value(QStringLiteral("folder"), QDir::currentPath()).toString();
}

void MainWindow::askModelFile() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open model file"), lastFolder(),
                                   tr("Models (*.gguf *.safetensors);;All files (*)"));
  if (path.isEmpty()) return;
  settings_->setValue(QStringLiteral("folder"), QFileInfo(path).absolutePath());
  open(path);
}

void MainWindow::askModelFolder() {
  const QString path = QFileDialog::getExistingDirectory(
      this, tr("Open model folder (config.json and safetensors)"), lastFolder());
  if (path.isEmpty()) return;
  settings_->setValue(QStringLiteral("folder"), path);
  open(path);
}

void MainWindow::askProject() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open project or table"), lastFolder(),
                                   tr("Projects and tables (*.lamina *.json);;All files (*)"));
  if (path.isEmpty()) return;
  settings_->setValue(QStringLiteral("folder"), QFileInfo(path).absolutePath());
  open(path);
}

void MainWindow::askSaveProject() {
  if (!session_->document()) return;
  QFileDialog dialog(this, tr("Save project as"), lastFolder(), tr("Lamina projects (*.lamina)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setDefaultSuffix(QStringLiteral("lamina"));
  dialog.selectFile(session_->document()->displayName() + QStringLiteral(".lamina"));
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return;
  session_->saveProjectAs(dialog.selectedFiles().front());
}

void MainWindow::askExport() {
  if (!session_->plan()) return;
  QFileDialog dialog(this, tr("Export plan"), lastFolder(),
                     tr("Lamina plans (*.plan.json *.json)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setDefaultSuffix(QStringLiteral("plan.json"));
  dialog.selectFile(session_->document()->displayName() + QStringLiteral(".plan.json"));
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return;
  exportPlanTo(dialog.selectedFiles().front());
}

void MainWindow::exportPlanTo(const QString& path) {
  const Status status = session_->exportPlan(path);
  if (!status.is_ok()) {
    showError(tr("Cannot export the plan"), toQString(status.message()));
    return;
  }
  settings_->setValue(QStringLiteral("folder"), QFileInfo(path).absolutePath());
  statusBar()->showMessage(tr("Exported %1").arg(QDir::toNativeSeparators(path)), kNoticeMs);
}

void MainWindow::showError(const QString& title, const QString& message) {
  ErrorDialog::show(title, message, this);
}

void MainWindow::showAbout() {
  QMessageBox::about(
      this, tr("About Lamina Studio"),
      tr("<b>Lamina Studio %1</b><p>Per-layer compression of the KV cache of language "
         "models.</p><p>Free software under the GNU General Public License, version 3 or "
         "later; the engine is under the Apache License 2.0.</p>")
          .arg(QStringLiteral(LAMINA_VERSION)));
}

void MainWindow::restoreSettings() {
  resize(1280, 800);
  restoreGeometry(settings_->value(QStringLiteral("window/geometry")).toByteArray());
  const QByteArray layout = settings_->value(QStringLiteral("window/layout")).toByteArray();
  if (!layout.isEmpty()) workspace_->restoreLayout(layout);
  setColorMap(colorMapFromName(settings_->value(QStringLiteral("heatmap/colors")).toString()));
  workspace_->modelBar()->setScorer(
      settings_->value(QStringLiteral("calibration/scorer")).toString());
  workspace_->deploymentBar()->setGpuMemory(
      settings_->value(QStringLiteral("deployment/gpu_memory")).toString());
  workspace_->frontier()->setHiddenSeries(
      settings_->value(QStringLiteral("frontier/hidden")).toStringList());
}

void MainWindow::saveSettings() {
  settings_->setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings_->setValue(QStringLiteral("window/layout"), workspace_->saveLayout());
  settings_->setValue(QStringLiteral("heatmap/colors"),
                      colorMapName(workspace_->heatmap()->plot()->colorMap()));
  settings_->setValue(QStringLiteral("calibration/scorer"), workspace_->modelBar()->scorer());
  settings_->setValue(QStringLiteral("deployment/gpu_memory"),
                      workspace_->deploymentBar()->gpuMemory());
  settings_->setValue(QStringLiteral("frontier/hidden"), workspace_->frontier()->hiddenSeries());
}

void MainWindow::restoreDefaultLayout() {
  showNormal();
  resize(1280, 800);
  workspace_->restoreDefaultLayout();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveSettings();
  session_->stopAll();
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!draggedFile(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString path = draggedFile(event->mimeData());
  if (path.isEmpty()) return;
  event->acceptProposedAction();
  open(path);
}

}  // namespace lamina::studio
