import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/schema.ts';
import type { Proof } from '../../src/core/model/coverage.ts';
import type { DeletionState } from '../../src/core/model/receipt.ts';
import { ConnectSessionState, ConnectStep } from '../../src/core/resources/connect-session.ts';
import { ConnectionStatus } from '../../src/core/resources/connection.ts';
import { HookRequestStatus } from '../../src/core/resources/hook.ts';
import { RunStatus, RunTrigger } from '../../src/core/resources/run.ts';
import { SpecVersionStatus } from '../../src/core/resources/spec.ts';
import { WebhookDeliveryState, WebhookTrigger } from '../../src/core/resources/webhook-delivery.ts';
import { SignatureScheme, WebhookDisabledReason, WebhookOrdering } from '../../src/core/resources/webhook-endpoint.ts';
import { WorkspaceKind } from '../../src/core/resources/workspace.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';

/** The words of columns that the API does not show: a word that the type lacks, or has beside these, does not compile. */
const messageStatuses: Record<Database['webhookMessages']['status'], true> = {
  pending: true,
  succeeded: true,
  exhausted: true,
  canceled: true,
  skipped: true,
};

const deletionStates: Readonly<Record<DeletionState, true>> = { before: true, pending: true, due: true, done: true };
const proofs: Readonly<Record<Proof, true>> = { whole: true, unchanged: true, gap: true };

/** The words of each column with a check `column in (…)`, as the code knows them. */
const known: Readonly<Record<string, readonly string[]>> = {
  'connect_sessions.state': ConnectSessionState.options,
  'connect_sessions.step': ConnectStep.options,
  'connections.status': ConnectionStatus.options,
  'hook_requests.status': HookRequestStatus.options,
  'listed_deletions.state': Object.keys(deletionStates),
  'oauth_apps.workspace_kind': WorkspaceKind.options,
  'partitions.proof': Object.keys(proofs),
  'runs.status': RunStatus.options,
  'runs.trigger': RunTrigger.options,
  'spec_versions.status': SpecVersionStatus.options,
  'webhook_deliveries.state': WebhookDeliveryState.options,
  'webhook_deliveries.trigger': WebhookTrigger.options,
  'webhook_endpoint_secrets.scheme': SignatureScheme.options,
  'webhook_endpoints.disabled_reason': WebhookDisabledReason.options,
  'webhook_endpoints.ordering': WebhookOrdering.options,
  'webhook_messages.status': Object.keys(messageStatuses),
  'workspaces.kind': WorkspaceKind.options,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** The words of every check of one column with texts. A partition inherits the checks of its table and is left out. */
async function checkedWords(): Promise<Readonly<Record<string, readonly string[]>>> {
  const { rows } = await sql<{ readonly column: string; readonly definition: string }>`
    select conrelid::regclass || '.' || attname as "column", pg_get_constraintdef(c.oid) as definition
    from pg_constraint c join pg_attribute on attrelid = conrelid and attnum = conkey[1]
    where contype = 'c' and conislocal and cardinality(conkey) = 1 and connamespace = current_schema()::regnamespace`.execute(
    database.db,
  );
  const words = rows.map(({ column, definition }) => [column, wordsIn(definition)] as const);
  return Object.fromEntries(words.filter(([, texts]) => texts.length > 0));
}

const wordsIn = (definition: string): readonly string[] =>
  [...definition.matchAll(/'([^']*)'::text/g)].map(([, word = '']) => word);

const sorted = (words: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(words).map(([column, texts]) => [column, texts.toSorted()]));

it('a column takes exactly the words that the code knows', async () => {
  expect(sorted(await checkedWords())).toEqual(sorted(known));
});
