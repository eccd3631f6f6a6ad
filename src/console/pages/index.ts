import type { ConsoleRoute } from '../route.ts';
import { connectionPage } from './connection.ts';
import { activate, backfillResource, pause, syncResource, test } from './connection-actions.ts';
import { connectionsPage } from './connections.ts';
import { overview } from './overview.ts';
import { cancel, replay, runPage } from './run.ts';
import { runsPage } from './runs.ts';
import { addSchedule, removeSchedule, switchSchedule } from './schedules.ts';

/** Every page and action behind a session. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  overview,
  connectionsPage,
  connectionPage,
  syncResource,
  backfillResource,
  test,
  activate,
  pause,
  addSchedule,
  switchSchedule,
  removeSchedule,
  runsPage,
  runPage,
  cancel,
  replay,
];
