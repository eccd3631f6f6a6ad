/**
 * Checks a spec as a whole. Sizes come first, then the shape of each part (`spec/schema`), then the rules that span
 * several parts. It runs no expression and knows no connection.
 */

import { type Issue, schemaIssue } from '../../errors.ts';
import { createParser, type ParseExpression } from '../../expressions/expression-parser.ts';
import { documentGate } from '../../json/document-gate.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { checkAddresses } from './addresses.ts';
import { checkAuth } from './auth.ts';
import { checkChangingConditions } from './changing-conditions.ts';
import { checkDependencies } from './dependencies.ts';
import { checkDestination } from './destination.ts';
import { inDocumentOrder } from './document-paths.ts';
import { checkDuplicates } from './duplicates.ts';
import { checkExpressions } from './expressions.ts';
import { checkFieldChunks } from './field-chunks.ts';
import { checkPagination } from './pagination.ts';
import { checkParamDefinitions } from './param-definitions.ts';
import { checkPartitions } from './partitions.ts';
import { checkRecordSchemas } from './record-schemas.ts';
import { checkReportJobs } from './report-jobs.ts';
import { checkRequests } from './requests.ts';
import { checkResources } from './resources.ts';
import { checkSharedTables } from './shared-tables.ts';
import { checkSizes } from './sizes.ts';
import { checkStructure } from './structure.ts';
import { checkUnsoundReads } from './unsound-reads.ts';

export type SpecCheck =
  | {
      readonly valid: true;
      /** With every default filled in, for the engine. */
      readonly spec: ConnectorSpec;
      /** As given, without `orgId`: stored, checksummed and returned. */
      readonly document: Readonly<Record<string, unknown>>;
    }
  | { readonly valid: false; readonly issues: readonly Issue[] };

interface CheckOptions {
  /** The key that `metadata.key` must equal. */
  readonly expectedKey?: string;
  /** Published before: rules that this version of the service may have added do not apply. */
  readonly isPublished?: boolean;
}

const issuesMax = 100;

const rules: readonly ((document: unknown, parse: ParseExpression) => readonly Issue[])[] = [
  checkParamDefinitions,
  checkDuplicates,
  checkDependencies,
  checkAuth,
  checkAddresses,
  checkRequests,
  checkDestination,
  checkResources,
  checkPagination,
  checkFieldChunks,
  checkReportJobs,
  checkPartitions,
  checkExpressions,
  checkRecordSchemas,
];

/**
 * Checks a ConnectorSpec: structure first, then rules, each in document order, at most 100 issues. Cross-part rules run
 * on every part with a valid form, but not on a document that is too large as a whole. Never throws.
 */
export function checkSpec(given: unknown, options: CheckOptions = {}): SpecCheck {
  const gate = documentGate(given);
  if (gate) return { valid: false, issues: [gate] };
  const document = withoutOrgId(given);
  const sizes = checkSizes(document);
  if (sizes.length > 0) return { valid: false, issues: sizes.slice(0, issuesMax) };
  const structure = checkStructure(document);
  const structural = inDocumentOrder(document, [
    ...(structure.ok ? [] : structure.issues),
    ...keyIssues(document, options),
  ]);
  const checked = new Set(structural.map(({ path }) => path));
  const parse = createParser();
  const held = options.isPublished ? rules : [...rules, checkUnsoundReads, checkChangingConditions, checkSharedTables];
  const found = held.flatMap((rule) => rule(document, parse)).filter(({ path }) => !checked.has(path));
  const issues = [...structural, ...inDocumentOrder(document, found)].slice(0, issuesMax);
  return structure.ok && issues.length === 0 && isJsonObject(document)
    ? { valid: true, spec: structure.spec, document }
    : { valid: false, issues };
}

/** The credential alone decides the org: a body may name one, and it is ignored. */
function withoutOrgId(document: unknown): unknown {
  if (!isJsonObject(document)) return document;
  const { orgId: _, ...rest } = document;
  return rest;
}

function keyIssues(document: unknown, { expectedKey }: CheckOptions): readonly Issue[] {
  if (expectedKey === undefined || !isJsonObject(document)) return [];
  const { metadata } = document;
  if (!isJsonObject(metadata) || typeof metadata['key'] !== 'string' || metadata['key'] === expectedKey) return [];
  return [schemaIssue('metadata.key', 'differs from the key in the address of the request')];
}
