/**
 * Makes a draft of a ConnectorSpec from an OpenAPI document (3.x, Swagger 2). Each GET that returns a list becomes a
 * resource. Reads no files or addresses, and bounds the work for any document.
 */

import { invalid, schemaIssue } from '../../errors.ts';
import { cutText } from '../../json/cut-text.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { checkSpec } from '../../spec/check/check.ts';
import type { ImportReport, ImportResult } from '../import-result.ts';
import { type Conversion, convert } from './convert.ts';
import { openDocument, own, textOf } from './document.ts';
import { identifier } from './names.ts';

/** The version of every draft; the document's version is that of the API, not of the connector. */
const draftVersion = '0.1.0';
/** Rounds of leaving out resources that the spec check refuses. */
const checksMax = 3;

/**
 * `key` of the spec is made of the title if absent. Throws validation when the value is not an OpenAPI document, or
 * when no list operation of it can be converted; the issues are then the reasons.
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
