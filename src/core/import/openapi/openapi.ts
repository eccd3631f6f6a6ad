/**
 * Makes a draft of a ConnectorSpec from an OpenAPI document (3.0, 3.1, Swagger 2): each GET that returns a list becomes a
 * resource. Nothing is read from files or addresses, and the work is bounded whatever the document says.
 */

import { invalid, schemaIssue } from '../../errors.ts';
import { cutText } from '../../json/cut-text.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { checkSpec } from '../../spec/check/check.ts';
import type { ImportReport, ImportResult } from '../import-result.ts';
import { type Conversion, convert } from './convert.ts';
import { openDocument, own, textOf } from './document.ts';
import { identifier } from './names.ts';

/** The version of every draft: that of the document is the API's, not the connector's. */
const draftVersion = '0.1.0';
/** Rounds in which what the spec check refuses is left out. */
const checksMax = 3;

/**
 * The draft and the outcome of each list operation. `key`: of the spec; made of the title if absent. Throws validation when
 * the value is no OpenAPI document, or no list operation of it can be converted: the issues are then their reasons.
 */
export function importOpenapi(given: unknown, { key }: { readonly key?: string }): ImportResult {
  const document = openDocument(given);
  const conversion = convert(document);
  const info = document.objectOf(own(document.root, 'info'));
  for (let round = 0; round < checksMax; round += 1) {
    if (conversion.resources.length === 0) throw nothingConverted(conversion.report());
    const spec = specOf(conversion, { info, key });
    const check = checkSpec(spec);
    if (check.valid) return { spec, report: conversion.report() };
    const issues = check.issues.map(({ path, message }) => ({
      path,
      message,
      resource: /^resources\.(\d+)\b/.exec(path)?.[1],
    }));
    const [general] = issues.filter(({ resource }) => resource === undefined);
    if (general !== undefined) throw refused(general.path, general.message);
    const reasons = new Map(
      issues.toReversed().map(({ resource, path, message }) => [Number(resource), `${path}: ${message}`]),
    );
    conversion.refuse(reasons);
  }
  throw refused('', 'the draft that it gives is not valid');
}

interface Facts {
  readonly info: JsonObject;
  readonly key: string | undefined;
}

function specOf(conversion: Conversion, { info, key }: Facts): JsonObject {
  const { server, auth, resources, connectionParams, notes } = conversion;
  const title = cutText((textOf(info, 'title') ?? 'Imported API').trim() || 'Imported API', 200);
  const description = [
    'A draft made from an OpenAPI document. Pagination, primary keys and incremental reads are guessed from names: check each resource.',
    ...notes,
  ].join(' ');
  return {
    metadata: { key: key ?? keyOf(title), name: title, version: draftVersion, description },
    connectionParams,
    auth,
    http: { baseUrl: server.baseUrl },
    resources,
  };
}

const keyOf = (title: string): string => identifier(title, 'imported').replaceAll('_', '-').toLowerCase();

/** Reasons that are reported at once. */
const issuesMax = 100;

function nothingConverted(report: readonly ImportReport[]) {
  if (report.length === 0) return refused('paths', 'no GET of the document returns a list of objects as JSON');
  const issues = report.slice(0, issuesMax).map(({ name, path, reason }) => ({
    code: 'schema' as const,
    path: path ?? '',
    message: `${name}: ${reason}`,
  }));
  return invalid('No list operation of the document can be converted.', issues);
}

const refused = (path: string, message: string) =>
  invalid('The document cannot be imported.', [schemaIssue(path, message)]);
