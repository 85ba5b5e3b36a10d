// SPDX-License-Identifier: GPL-3.0-or-later
// The studio's window: menus, start page and workspace, drag and drop, errors, remembered layout.
// Closing it while a job runs stops the job first.
#pragma once

#include <QMainWindow>
#include <QString>
#include <memory>

#include "widgets/models/studio_session.h"
#include "widgets/plots/color_map.h"

class QAction;
class QMenu;
class QSettings;
class QStackedWidget;

namespace lamina::studio {

class PlanEditor;
class RecentFiles;
class StartPage;
class WorkspacePage;

struct WindowOptions {
  QString settings_file;  // INI file
  QString data_dir;       // automatic projects
  // The user's own: settings beside other applications', projects in the application's data folder.
  static WindowOptions standard();
};

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  StudioSession* session() const { return session_.get(); }
  PlanEditor* editor() const { return editor_; }
  WorkspacePage* workspace() const { return workspace_; }
  StartPage* startPage() const { return start_; }
  bool showsWorkspace() const;

 public slots:
  // Asks first where that would stop a running calibration.
  void open(const QString& path);
  void exportPlanTo(const QString& path);
  void restoreDefaultLayout();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void buildMenus();
  void buildFileMenu();
  void buildEditMenu();
  void buildPlanMenu();
  void buildViewMenu();
  void buildHelpMenu();
  void connectSession();
  void refillRecentMenu();
  void refreshActions();
  void refreshTitle();
  void setColorMap(ColorMap map);
  void restoreSettings();
  void saveSettings();

  void askModelFile();
  void askModelFolder();
  void askProject();
  void askSaveProject();
  void askExport();
  void showError(const QString& title, const QString& message);
  void showAbout();
  QString lastFolder() const;

  std::unique_ptr<QSettings> settings_;
  std::unique_ptr<StudioSession> session_;
  PlanEditor* editor_;
  RecentFiles* recent_;
  QStackedWidget* pages_;
  StartPage* start_;
  WorkspacePage* workspace_;
  QMenu* recent_menu_ = nullptr;
  QAction* save_project_ = nullptr;
  QAction* export_plan_ = nullptr;
  QAction* calibrate_ = nullptr;
  QAction* cancel_ = nullptr;
};

}  // namespace lamina::studio
