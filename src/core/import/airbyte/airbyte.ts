/**
 * Makes a ConnectorSpec of an Airbyte low-code manifest. Every stream that has a faithful counterpart becomes a
 * resource; each other one is refused by itself, with the component and the reason.
 */

import { AppError, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { findJsonIssue } from '../../json/json-issue.ts';
import type { ImportReport, ImportResult } from '../import-result.ts';
import { assemble } from './assemble.ts';
import { createConfig } from './config/config.ts';
import { createOrigins } from './manifest/origins.ts';
import { createResolver } from './manifest/resolve-references.ts';
import { specificationOf } from './specification.ts';
import { readStreams } from './streams.ts';

/** Manifests with schemas of all streams have some ten thousand values. */
const manifestLimits = { nodesMax: 500_000, textLengthMax: 200_000 } as const;

/**
 * The report has an entry for each stream in document order. If no stream can be converted, the spec has no resources
 * and the spec check refuses it.
 *
 * @param options `key` of the spec; it follows from the manifest by default.
 * @throws AppError `validation` when the document is not a manifest, or too large.
 */
export function importAirbyte(document: unknown, options: { readonly key?: string } = {}): ImportResult {
  const manifest = manifestOf(document);
  const origins = createOrigins();
  const resolver = createResolver(manifest, origins);
  const specification = specificationOf(manifest, resolver);
  const config = createConfig(specification.connection);
  const streams = readStreams(manifest, { origins, resolver, config });
  const { spec, report } = assemble(streams, {
    config,
    key: options.key ?? specification.key,
    title: specification.title,
    docsUrl: specification.docsUrl,
  });
  return { spec, report: report satisfies readonly ImportReport[] };
}

function manifestOf(document: unknown): Readonly<Record<string, unknown>> {
  const issue = findJsonIssue(document, manifestLimits);
  if (issue !== null)
    throw notManifest(
      issue.path.join('.'),
      issue.name === null
        ? `the document is no manifest that can be read (${issue.kind})`
        : `the key ${JSON.stringify(issue.name.slice(0, 100))} is not allowed`,
    );
  if (!isJsonObject(document)) throw notManifest('', 'expected a manifest: an object with `streams`');
  const { streams, dynamic_streams: dynamic } = document;
  if (!Array.isArray(streams) && !Array.isArray(dynamic)) throw notManifest('streams', 'expected a list of streams');
  return document;
}

const notManifest = (path: string, message: string): AppError =>
  new AppError('validation', `The document is no manifest of Airbyte: ${message}.`, {
    issues: [schemaIssue(path, message)],
  });
