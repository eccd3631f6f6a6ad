import { lockOrg } from '../../../db/queries/orgs/org-limits.ts';
import {
  ensureSpec,
  findSpecVersion,
  hasSpec,
  insertDraft,
  markDeprecated,
  markPublished,
  removeDraft,
  updateDraft,
} from '../../../db/queries/specs.ts';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, conflict, found, invalid, schemaIssue } from '../../core/errors.ts';
import { specDeprecated, specPublished } from '../../core/events/org-events.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import type { SpecVersionRow, ValidationResult } from '../../core/resources/spec.ts';
import { checkSpec, type SpecCheck } from '../../core/spec/check/check.ts';
import { specChecksum } from '../../core/spec/checksum.ts';
import { runSpecTests } from '../../core/spec-tests/run-spec-tests.ts';
import type { Deps } from '../../deps.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

type SpecDeps = Pick<Deps, 'db'>;
type Evaluating = Pick<Deps, 'evaluators'>;

export interface VersionName {
  readonly key: string;
  readonly version: string;
}

/** Saves nothing; runs the tests of a valid document. */
export async function validateSpec(
  { evaluators }: Evaluating,
  scope: OrgScope,
  { document, key }: { readonly document: unknown; readonly key: string },
): Promise<ValidationResult> {
  const result = checkSpec(document, { expectedKey: key });
  if (!result.valid) return { valid: false, issues: [...result.issues] };
  const issues = await runSpecTests(result.spec, { evaluator: evaluators.forOrg(scope.orgId) });
  return issues.length > 0 ? { valid: false, issues: [...issues] } : { valid: true, spec: result.spec };
}

/** Throws validation (with every issue), conflict (the version exists). */
export async function createDraft(deps: WriteDeps, scope: OrgScope, document: unknown): Promise<SpecVersionRow> {
  const { spec, document: specJson } = checked(document);
  const { key, version } = spec.metadata;
  return write(deps, async (tx) => {
    if (!(await hasSpec(tx, scope, key))) await requireRoom(tx, scope, 'specs');
    const specId = await ensureSpec(tx, scope, key);
    await requireRoom(tx, scope, 'versionsPerSpec', { specId });
    await requireRoom(tx, scope, 'specMebibytes');
    const draft = await insertDraft(tx, scope, { specId, version, specJson, checksum: specChecksum(specJson) });
    if (!draft)
      throw conflict(
        `Version ${version} of this spec exists already: raise metadata.version, or replace the version with PUT while it is a draft.`,
      );
    return draft;
  });
}

/**
 * Key and version must stay. Throws validation, not_found, immutable, conflict (the specs of the org are too large together).
 */
export async function replaceDraft(
  { db }: SpecDeps,
  scope: OrgScope,
  { document, ...name }: VersionName & { readonly document: unknown },
): Promise<SpecVersionRow> {
  const { spec, document: specJson } = checked(document, name.key);
  if (spec.metadata.version !== name.version) {
    const message = `expected ${name.version}, the version of the path`;
    throw invalid('The version in the spec differs from the version in the path.', [
      schemaIssue('metadata.version', message),
    ]);
  }
  return db.transaction().execute(async (tx) => {
    await lockOrg(tx, scope);
    const { id, specJson: before } = await versionNamed(tx, scope, name);
    if (JSON.stringify(specJson).length > JSON.stringify(before).length) await requireRoom(tx, scope, 'specMebibytes');
    const draft = await updateDraft(tx, scope, { id, specJson, checksum: specChecksum(specJson) });
    if (!draft) throw immutable();
    return draft;
  });
}

/** Throws not_found, immutable. */
export async function deleteDraft({ db }: SpecDeps, scope: OrgScope, name: VersionName): Promise<void> {
  const { id } = await versionNamed(db, scope, name);
  if (!(await removeDraft(db, scope, id))) throw immutable();
}

/**
 * Throws not_found, conflict (published already, or changed meanwhile), and validation when one of the spec's tests fails.
 */
export async function publishVersion(
  deps: WakeDeps & Evaluating,
  scope: OrgScope,
  name: VersionName,
): Promise<SpecVersionRow> {
  const { db, evaluators } = deps;
  const { id, status, specJson, checksum } = await versionNamed(db, scope, name);
  if (status !== 'draft') throw alreadyPublished();
  const { spec } = checked(specJson);
  const failures = await runSpecTests(spec, { evaluator: evaluators.forOrg(scope.orgId) });
  if (failures.length > 0) throw invalid('Tests of the spec fail: correct the spec or its tests.', failures);
  const published = await db.transaction().execute(async (tx) => {
    const row = await markPublished(tx, scope, { id, checksum });
    if (row) await recordEvent(tx, scope, specPublished({ ...row, key: name.key }));
    return row;
  });
  if (!published) throw conflict('The draft was published or changed meanwhile: read it again, then publish it.');
  void wakeEndpoints(deps, scope);
  return published;
}

/**
 * Closes a version to new connections and upgrades; connections pinned to it continue. A deprecated version is returned
 * unchanged. Throws not_found, conflict (still a draft).
 */
export async function deprecateVersion(deps: WakeDeps, scope: OrgScope, name: VersionName): Promise<SpecVersionRow> {
  const { db } = deps;
  const { id } = await versionNamed(db, scope, name);
  const marked = await db.transaction().execute(async (tx) => {
    const row = await markDeprecated(tx, scope, id);
    if (row) await recordEvent(tx, scope, specDeprecated({ ...row, key: name.key }));
    return row;
  });
  if (marked) void wakeEndpoints(deps, scope);
  const deprecated = marked ?? (await versionNamed(db, scope, name));
  if (deprecated.status !== 'deprecated')
    throw conflict('A draft cannot be deprecated: delete it, or publish it first.');
  return deprecated;
}

interface Preview {
  readonly expression: string;
  readonly record: JsonObject;
  /** By name, seen as `$lookups.<name>`. */
  readonly lookups: JsonObject;
}

interface Previewed {
  readonly row: JsonObject;
  /** The engine that ran the expression; a run uses the same. */
  readonly engine: 'compiled' | 'interpreted';
}

/** Throws validation when the expression fails or returns anything but an object. */
export async function previewTransform(
  { evaluators }: Evaluating,
  scope: OrgScope,
  { expression, record, lookups }: Preview,
): Promise<Previewed> {
  const input = { records: [record], bindings: { lookups, params: {}, each: {} }, now: new Date() } as const;
  const evaluator = evaluators.forOrg(scope.orgId);
  try {
    const [result] = await evaluator.transform({ expression, ...input, nulls: 'keep', timeoutMs: previewTimeoutMs });
    if (result?.ok) return { row: result.value, engine: result.engine ?? 'interpreted' };
    throw expressionFailed(result?.failure.message ?? 'returned no result');
  } catch (error) {
    // It repeatedly killed its process: an error of the spec in a run, here of the request.
    if (error instanceof AppError && error.code === 'spec_invalid') throw expressionFailed(error.message, error);
    throw error;
  }
}

const expressionFailed = (message: string, cause?: unknown): AppError =>
  new AppError('validation', 'The expression failed.', {
    issues: [schemaIssue('expression', message)],
    cause,
  });

/** A slower expression is too slow for a page of records; a usual one takes microseconds. */
const previewTimeoutMs = 2000;

type Checked = Extract<SpecCheck, { valid: true }>;

function checked(given: unknown, expectedKey?: string): Checked {
  const result = checkSpec(given, expectedKey === undefined ? {} : { expectedKey });
  if (!result.valid) throw invalid('The spec is not valid.', result.issues);
  return result;
}

async function versionNamed(db: SpecDeps['db'], scope: OrgScope, name: VersionName): Promise<SpecVersionRow> {
  return found(await findSpecVersion(db, scope, name), 'Spec version');
}

const immutable = (): AppError =>
  new AppError('immutable', 'A published version never changes: create a new version instead.');

const alreadyPublished = (): AppError =>
  conflict('This version is published already: create a new version to change it.');
