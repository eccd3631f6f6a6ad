/**
 * The connectors in `connectors/<key>/`: `spec.yaml`, its page `README.md` and, if more than its tests was run,
 * `verified.yaml`. Each is read once, when a request first needs it.
 */

import { readdir, readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { JsonObject } from '../core/json/json-object.ts';
import { readYaml } from '../core/json/yaml.ts';
import { type CatalogueConnector, VerificationKind } from '../core/resources/catalogue.ts';

export interface Catalogue {
  /** Throws when a file is missing or malformed. */
  list(): Promise<readonly CatalogueConnector[]>;
  /** Undefined if the key is unknown. */
  find(key: string): Promise<CatalogueConnector | undefined>;
}

/** Written beside a spec by `npm run verify-connectors`. */
export const Verification = v.object({
  kind: VerificationKind,
  on: v.pipe(v.string(), v.isoDate()),
  /** A sentence: with what, which version, how much. */
  statement: v.string(),
  /** Records of a real server that one full sync has delivered. */
  recordsSynced: v.optional(v.number()),
});
export type Verification = v.InferOutput<typeof Verification>;

/** The most connector folders; more are a mistake. */
const connectorsMax = 500;
const fileLengthMax = 1_048_576;

const shipped = new URL('../../connectors/', import.meta.url);

export function openCatalogue(folder: URL = shipped): Catalogue {
  const read = new Map<string, Promise<CatalogueConnector>>();
  const connectorOf = (key: string): Promise<CatalogueConnector> => {
    const connector = read.get(key) ?? readConnector(new URL(`${key}/`, folder));
    read.set(key, connector);
    return connector;
  };
  return {
    async list() {
      const connectors: CatalogueConnector[] = [];
      // Sequential, so that other requests have their turns in between.
      for (const key of await keysIn(folder)) connectors.push(await connectorOf(key));
      return connectors;
    },
    find: async (wanted) => ((await keysIn(folder)).includes(wanted) ? await connectorOf(wanted) : undefined),
  };
}

/** Shared by all that read it in a process. */
export const shippedCatalogue = openCatalogue();

async function keysIn(folder: URL): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const keys = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
  if (keys.length > connectorsMax) throw new Error(`${folder.pathname} has more than ${connectorsMax} connectors`);
  return keys;
}

async function readConnector(folder: URL): Promise<CatalogueConnector> {
  const spec = v.parse(Spec, readYaml(await readText(new URL('spec.yaml', folder))).value);
  const { key, name, version, description, tags } = spec.metadata;
  const { kind, statement, on } = (await readVerification(folder)) ?? testsAlone(name);
  return {
    ...{ key, name, version, description, tags, spec },
    authKind: spec.auth.kind,
    resources: spec.resources.map((resource) => resource.key),
    verifiedAgainst: { kind, statement, on },
    readme: await readText(new URL('README.md', folder)),
  };
}

/** `null` if only its tests were run. */
export async function readVerification(folder: URL): Promise<Verification | null> {
  const text = await readText(new URL('verified.yaml', folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : v.parse(Verification, readYaml(text).value);
}

const testsAlone = (name: string) => ({
  kind: 'tests' as const,
  on: null,
  statement: `Only its own tests, with responses in the documented form. Nobody has run it against ${name}.`,
});

/** The part of a spec that a list shows; the check of specs is a test of the catalogue. */
const Spec = v.intersect([
  JsonObject,
  v.looseObject({
    metadata: v.looseObject({
      key: v.string(),
      name: v.string(),
      version: v.string(),
      description: v.string(),
      tags: v.array(v.string()),
    }),
    auth: v.looseObject({ kind: v.string() }),
    resources: v.array(v.looseObject({ key: v.string() })),
  }),
]);

async function readText(file: URL): Promise<string> {
  const text = await readFile(file, 'utf8');
  if (text.length > fileLengthMax) throw new Error(`${file.pathname} is longer than ${fileLengthMax} characters`);
  return text;
}
