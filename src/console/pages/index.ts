import type { ConsoleRoute } from '../route.ts';
import { addApiKey, apiKeysPage, revoke } from './api-keys.ts';
import { cataloguePage } from './catalogue/catalogue.ts';
import { connectorPage, useConnector } from './catalogue/connector.ts';
import { beginConnectSession } from './connect-session.ts';
import { connectionPage } from './connection.ts';
import { activate, backfillResource, pause, syncResource, test } from './connection-actions.ts';
import { connectionHooks } from './connection-hooks.ts';
import { connectionRuns } from './connection-runs.ts';
import { connectionSettings } from './connection-settings.ts';
import { checkEdit, editPage, saveEdit } from './connection-values/edit-connection.ts';
import { addConnection, newConnectionPage } from './connection-values/new-connection.ts';
import { connectionsPage, selectedConnections } from './connections.ts';
import { findPage, findResults } from './find.ts';
import { addHook, hookPage, hooksPage, removeHook, rotate, switchHook } from './hooks.ts';
import { overview } from './overview.ts';
import { connectionQuarantine, quarantinePage, requeueSelected } from './quarantine.ts';
import { quarantinedRecord, requeueAll, requeueOne } from './quarantined-record.ts';
import { recordPage } from './record.ts';
import { cancel, replay, runPage } from './run.ts';
import { runsPage, selectedRuns } from './runs.ts';
import { addSchedule, removeSchedule, switchSchedule } from './schedules.ts';
import { addDraft, checkSpec, newSpec, previewOne, saveDraft } from './specs/spec-editor.ts';
import { deprecate, publish, removeDraft, versionPage } from './specs/spec-version.ts';
import { comparePage, specPage, specsPage } from './specs/specs.ts';
import { deliveriesPage, deliveryPage, redeliverOne, selectedDeliveries } from './webhooks/deliveries.ts';
import { endpointPage, recover, removeEndpoint, switchEndpoint, testOne } from './webhooks/endpoint.ts';
import { addEndpoint, endpointsPage } from './webhooks/endpoints.ts';
import { recoveryPage } from './webhooks/recovery.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...[overview, findPage, findResults],
  ...[connectionsPage, selectedConnections, connectionPage, syncResource, backfillResource, test, activate, pause],
  ...[newConnectionPage, addConnection, editPage, checkEdit, saveEdit],
  ...[connectionRuns, connectionQuarantine, connectionHooks, connectionSettings, beginConnectSession],
  ...[recordPage],
  ...[addSchedule, switchSchedule, removeSchedule, addHook],
  ...[runsPage, selectedRuns, runPage, cancel, replay],
  ...[quarantinePage, quarantinedRecord, requeueOne, requeueSelected, requeueAll],
  ...[endpointsPage, addEndpoint, endpointPage, testOne, switchEndpoint, removeEndpoint, recover, recoveryPage],
  ...[deliveriesPage, selectedDeliveries, deliveryPage, redeliverOne],
  ...[cataloguePage, connectorPage, useConnector],
  // `comparePage` precedes `versionPage`, whose path would match it.
  ...[specsPage, addDraft, newSpec, checkSpec, previewOne, specPage, comparePage, versionPage, saveDraft],
  ...[publish, deprecate, removeDraft],
  ...[hooksPage, hookPage, switchHook, rotate, removeHook],
  ...[apiKeysPage, addApiKey, revoke],
];
