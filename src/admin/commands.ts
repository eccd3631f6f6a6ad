/**
 * The operator's commands: orgs and their limits, API keys, key rotation, a test of the configuration. They use the
 * rules of `src/control` and print no secret, except a new API key.
 */

import type { Kysely } from 'kysely';
import * as v from 'valibot';
import { findConnectionsByName } from '../../db/queries/connections/found-connections.ts';
import { listApiKeys } from '../../db/queries/orgs/api-keys.ts';
import { readOrgLimits, setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { findOrg, listOrgs } from '../../db/queries/orgs/orgs.ts';
import { advanceSequences } from '../../db/queries/webhooks/events.ts';
import type { Database } from '../../db/schema.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { createApiKeyWithin, revokeApiKeyWithin } from '../control/orgs/api-keys.ts';
import { createOrg, operatorGrant } from '../control/orgs/orgs.ts';
import { createWorkspace } from '../control/orgs/workspaces.ts';
import { found } from '../core/errors.ts';
import { type ApiKeyRow } from '../core/resources/api-key.ts';
import { issueWords } from '../core/resources/issue-words.ts';
import { isOrgLimit, type OrgLimitName, orgLimits } from '../core/resources/org-limits.ts';
import { RunStatus } from '../core/resources/run.ts';
import { WorkspaceKind } from '../core/resources/workspace.ts';
import type { AdminTools, CommandResult } from './command.ts';
import { createDestinationDatabase } from './database-command.ts';
import { doctorUsage } from './doctor/doctor.ts';
import { rotateKeys, showKeys } from './key-commands.ts';
import { reconcile } from './reconcile.ts';
import { showRuns, tailRuns } from './run-commands.ts';
import { listWorkerVersions, setCurrentWorkerVersion, unsetCurrentWorkerVersion } from './worker-versions.ts';

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Command {
  /** Noun and verb, as typed, or one word. */
  readonly name: string;
  readonly summary: string;
  readonly options: readonly string[];
  readonly flags: readonly string[];
  readonly synopsis: string;
  /** Runs until interrupted, so its result is not a JSON document. */
  readonly endless?: true;
  /** Throws {@link UsageError} for bad options, `AppError` for what cannot be done. */
  run(tools: AdminTools, given: Readonly<Record<string, unknown>>): Promise<CommandResult>;
}

export const usage = (): string =>
  [
    'Usage: npm run admin -- <command> [options] [--json]',
    '',
    ...commands.map(
      ({ name, synopsis, summary }) => `  ${[name, synopsis].filter(Boolean).join(' ')}\n      ${summary}`,
    ),
    ...doctorUsage,
    '',
    '--json prints one JSON document and nothing else. Exit codes: 0 success, 1 failure, 2 wrong usage, 78 wrong configuration.',
  ].join('\n');

const Text = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const Count = v.pipe(v.string(), v.regex(/^\d{1,9}$/, 'expected a whole number'), v.transform(Number));
const Days = v.pipe(
  v.string(),
  v.regex(/^[1-9]\d{0,3}$/, 'expected a whole number of days from 1 to 9999'),
  v.transform(Number),
);

export const commands: readonly Command[] = [
  command({
    name: 'org create',
    summary: 'Create an org with a workspace of each kind and a first API key, which is shown only once.',
    synopsis: '--name NAME [--plan PLAN] [--max-active-connections COUNT]',
    options: v.object({
      name: Text,
      plan: v.optional(Text, 'standard'),
      'max-active-connections': v.optional(v.nullable(Count), null),
    }),
    async run({ db }, { name, plan, 'max-active-connections': activeConnectionsMax }) {
      const { org, workspaces, apiKey } = await createOrg({ db }, { name, plan, activeConnectionsMax });
      return {
        json: { orgId: org.id, workspaces: workspaces.map(({ id, kind }) => ({ id, kind })), apiKey: apiKey.key },
        lines: [
          `org        ${org.id}  ${org.name}`,
          ...workspaces.map(({ id, kind }) => `workspace  ${id}  ${kind}`),
          `API key    ${apiKey.key}  (shown only once)`,
        ],
      };
    },
  }),
  command({
    name: 'org list',
    summary: 'Show every org, newest first.',
    synopsis: '',
    options: v.object({}),
    async run({ db }) {
      const orgs = await listOrgs(db);
      const cap = (max: number | null) => (max === null ? 'no cap' : `at most ${max} active connections`);
      return {
        json: orgs,
        lines: orgs.map((org) => `${org.id}  ${org.name}  ${org.plan}, ${cap(org.activeConnectionsMax)}`),
      };
    },
  }),
  command({
    name: 'org limits',
    summary: 'Show the limits of an org, and change them. `name=` alone restores the default.',
    synopsis: '--org ORG [--set NAME=NUMBER,…]',
    options: v.object({ org: Text, set: v.optional(Text) }),
    async run({ db }, { org, set }) {
      const scope = await scopeOf(db, org);
      if (set !== undefined) await setOrgLimits(db, scope, limitChanges(set));
      const own = await readOrgLimits(db, scope);
      const limits = Object.entries(orgLimits).map(([name, limit]) => ({
        name,
        ...limit,
        value: own[name] ?? limit.default,
      }));
      return { json: limits, lines: limits.map(({ name, value, about }) => `${name}  ${value}  ${about}`) };
    },
  }),
  command({
    name: 'workspace create',
    summary: 'Create a workspace.',
    synopsis: `--org ORG --name NAME --kind ${WorkspaceKind.options.join('|')}`,
    options: v.object({ org: Text, name: Text, kind: WorkspaceKind }),
    async run({ db }, { org, name, kind }) {
      const workspace = await createWorkspace({ db }, await scopeOf(db, org), { name, kind });
      return { json: workspace, lines: [`workspace  ${workspace.id}  ${workspace.name} (${workspace.kind})`] };
    },
  }),
  command({
    name: 'key create',
    summary: 'Create an API key, which is shown only once.',
    synopsis: '--org ORG [--expires-in-days DAYS]',
    options: v.object({ org: Text, 'expires-in-days': v.optional(Days) }),
    async run({ db }, { org, 'expires-in-days': days }) {
      const expiresAt = days === undefined ? null : new Date(Date.now() + days * 86_400_000).toISOString();
      const grant = { ...operatorGrant, expiresAt };
      const scope = await scopeOf(db, org);
      const created = await db.transaction().execute((tx) => createApiKeyWithin(tx, scope, grant));
      return { json: created, lines: [`API key    ${created.key}  (shown only once)`, `id         ${created.id}`] };
    },
  }),
  command({
    name: 'key list',
    summary: 'Show the API keys of an org, newest first.',
    synopsis: '--org ORG',
    options: v.object({ org: Text }),
    async run({ db }, { org }) {
      const { rows } = await listApiKeys(db, await scopeOf(db, org));
      const keys = await Array.fromAsync(rows);
      return { json: keys, lines: keys.map(lineOf) };
    },
  }),
  command({
    name: 'key revoke',
    summary:
      'Revoke an API key: its next request is rejected. With the option also those that it has made, those that they have made, and so on.',
    synopsis: '--org ORG --id KEY_ID [--with-descendants]',
    options: v.object({ org: Text, id: Text, 'with-descendants': v.optional(v.boolean(), false) }),
    async run({ db }, { org, id, 'with-descendants': withDescendants }) {
      const scope = await scopeOf(db, org);
      const { key, descendants } = await db
        .transaction()
        .execute((tx) => revokeApiKeyWithin(tx, scope, { id, withDescendants }));
      return { json: withDescendants ? { ...key, descendants } : key, lines: [key, ...descendants].map(lineOf) };
    },
  }),
  command({
    name: 'connection find',
    summary:
      'Show connections of every org by a part of their name or of the name of their org, or by the whole id of the end customer.',
    synopsis: '--name NAME [--limit COUNT]',
    options: v.object({ name: Text, limit: v.optional(Count, '50') }),
    async run({ db }, { name, limit }) {
      const connections = await findConnectionsByName(db, name, limit);
      const lines = connections.map(({ id, displayName, externalCustomerId, orgId, orgName, specKey, status }) =>
        [id, displayName, externalCustomerId ?? '-', specKey, status, `${orgName} (${orgId})`].join('  '),
      );
      return { json: connections, lines: lines.length > 0 ? lines : ['There is no such connection.'] };
    },
  }),
  command({
    name: 'runs list',
    summary: 'Show the latest runs of an org, newest first.',
    synopsis: '--org ORG [--status STATUS] [--limit COUNT]',
    options: v.object({ org: Text, status: v.optional(RunStatus), limit: v.optional(Count, '20') }),
    run: async (tools, { org, ...filter }) => showRuns(tools, await scopeOf(tools.db, org), filter),
  }),
  command({
    name: 'runs tail',
    summary: 'Show the latest runs of an org, and each change of a status, until Ctrl-C. Has no --json.',
    synopsis: '--org ORG',
    endless: true,
    options: v.object({ org: Text }),
    run: async (tools, { org }) => tailRuns(tools, await scopeOf(tools.db, org)),
  }),
  command({
    name: 'database create',
    summary: 'Create a database in the embedded PostgreSQL, to try destinations with. Not in production.',
    synopsis: '--name NAME',
    options: v.object({
      name: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,39}$/, 'expected small letters, digits and _')),
    }),
    run: (tools, { name }) => createDestinationDatabase(tools, name),
  }),
  command({
    name: 'keys status',
    summary: 'Show which keys of SECRETS_KEYS are in use, and which can be removed from it.',
    synopsis: '',
    options: v.object({}),
    run: showKeys,
  }),
  command({
    name: 'keys rotate',
    summary: 'Wrap every stored secret with the first key of SECRETS_KEYS, while the service runs. Safe to repeat.',
    synopsis: '',
    options: v.object({}),
    run: rotateKeys,
  }),
  command({
    name: 'reconcile',
    summary:
      'After a restore of the control database: create the schedules in Temporal again, and show runs without a workflow, destinations that are ahead of the ledger, and events that may be sent again. Changes nothing else.',
    synopsis: '',
    options: v.object({}),
    run: reconcile,
  }),
  command({
    name: 'events renumber',
    summary:
      'After a restore of the control database, once and before any process starts: number the events of each connection on behind a gap, as numbers since the backup were sent under other ids.',
    synopsis: '',
    options: v.object({}),
    async run({ db }) {
      const connections = await advanceSequences(db);
      return { json: { connections }, lines: [`events of ${connections} connections are numbered on behind a gap`] };
    },
  }),
  command({
    name: 'worker-version list',
    summary: 'Show the builds of the workers: which is current, which still have open runs, which may be stopped.',
    synopsis: '',
    options: v.object({}),
    run: listWorkerVersions,
  }),
  command({
    name: 'worker-version current',
    summary: 'Send new runs to a build, once its workers serve every queue. Waits for them, by default for 60 s.',
    synopsis: '--build-id BUILD [--wait-seconds SECONDS]',
    options: v.object({ 'build-id': Text, 'wait-seconds': v.optional(Count, '60') }),
    run: (tools, { 'build-id': buildId, 'wait-seconds': waitSeconds }) =>
      setCurrentWorkerVersion(tools, { buildId, waitSeconds }),
  }),
  command({
    name: 'worker-version none',
    summary:
      'Send runs to workers without a build again, once they serve every queue. Waits for them, by default for 60 s.',
    synopsis: '[--wait-seconds SECONDS]',
    options: v.object({ 'wait-seconds': v.optional(Count, '60') }),
    run: (tools, { 'wait-seconds': waitSeconds }) => unsetCurrentWorkerVersion(tools, { waitSeconds }),
  }),
];

interface Declaration<E extends v.ObjectEntries> extends Omit<Command, 'options' | 'flags' | 'run'> {
  readonly options: v.ObjectSchema<E, undefined>;
  readonly run: (tools: AdminTools, options: v.InferOutput<v.ObjectSchema<E, undefined>>) => Promise<CommandResult>;
}

function command<E extends v.ObjectEntries>({ options, run, ...facts }: Declaration<E>): Command {
  return {
    ...facts,
    options: Object.keys(options.entries),
    flags: Object.keys(options.entries).filter(
      (name) => v.getDefault(options.entries[name] as v.GenericSchema) === false,
    ),
    async run(tools, given) {
      const { success, output, issues } = v.safeParse(options, given);
      if (success) return run(tools, output);
      throw new UsageError(issues.map(issueOf).join('\n'));
    },
  };
}

function issueOf(issue: v.BaseIssue<unknown>): string {
  return `--${v.getDotPath(issue) ?? ''} ${issueWords(issue)}`;
}

async function scopeOf(db: Kysely<Database>, orgId: string): Promise<OrgScope> {
  found(await findOrg(db, orgId), 'Org');
  return orgScope(orgId);
}

const lineOf = (key: ApiKeyRow): string => {
  const state = key.revokedAt === null ? `expires ${key.expiresAt ?? 'never'}` : `revoked ${key.revokedAt}`;
  const made = `made ${key.createdAt} by ${key.createdBy ?? 'the operator'}`;
  return `${key.id}  …${key.last4}  ${made}, ${state}, last used ${key.lastUsedAt ?? 'never'}`;
};

/** Parses `name=number,…`; an empty number means the default. Throws {@link UsageError}. */
function limitChanges(text: string): Partial<Record<OrgLimitName, number | null>> {
  const changes: Partial<Record<OrgLimitName, number | null>> = {};
  for (const change of text.split(',')) {
    const [, name = '', value = ''] = /^(\w+)=(\d{0,9})$/.exec(change.trim()) ?? [];
    if (!isOrgLimit(name)) {
      throw new UsageError(`--set: expected NAME=NUMBER; the names are ${Object.keys(orgLimits).join(', ')}`);
    }
    changes[name] = value === '' ? null : Number(value);
  }
  return changes;
}
