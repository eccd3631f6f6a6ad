import type { Issue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { checkSpec } from '../../spec/check/check.ts';
import type { ImportReport } from '../import-result.ts';
import type { Config } from './config/config.ts';
import { asText } from './objects.ts';
import { resourceOf } from './resource.ts';
import type { StreamDraft } from './stream/convert-stream.ts';
import type { ReadStream, ReadStreams } from './streams.ts';

type Part = Readonly<Record<string, unknown>>;

interface Assembled {
  readonly spec: Part;
  readonly report: readonly ImportReport[];
}

interface Heading {
  readonly config: Config;
  readonly key: string;
  readonly title: string;
  readonly docsUrl: string | null;
}

const resourcesMax = 200;

interface Entry {
  readonly stream: ReadStream;
  readonly draft: StreamDraft;
}

export function assemble(streams: ReadStreams, heading: Heading): Assembled {
  const refused = new Map<string, { readonly path: string; readonly reason: string }>();
  const unique = [...new Map([...streams.listed, ...streams.parents].map((stream) => [stream.key, stream])).values()];
  let entries = unique.flatMap((stream): Entry[] => (stream.draft === null ? [] : [{ stream, draft: stream.draft }]));
  for (const { stream } of entries.slice(resourcesMax))
    refused.set(stream.key, { path: '', reason: `a spec has at most ${resourcesMax} resources` });
  entries = entries.slice(0, resourcesMax);
  const dropped: Dropped = { rules: new Set(), types: new Set() };
  for (;;) {
    entries = withParents(entries, streams, refused);
    const spec = specOf(entries, heading, dropped);
    if (entries.length === 0) return { spec, report: reportOf(streams, refused) };
    const result = checkSpec(spec);
    if (result.valid) return { spec, report: reportOf(streams, refused) };
    const faulty = faultyOf(result.issues, { entries, spec, dropped });
    for (const [key, issue] of faulty)
      refused.set(key, { path: '', reason: `its resource would not be valid: ${issue}` });
    entries = entries.filter(({ stream }) => !faulty.has(stream.key));
  }
}

/** Removes children whose parent was dropped, and parents that no child needs. */
function withParents(
  entries: readonly Entry[],
  streams: ReadStreams,
  refused: Map<string, { readonly path: string; readonly reason: string }>,
): Entry[] {
  const helpers = new Set(streams.parents.map(({ key }) => key));
  let current = [...entries];
  for (;;) {
    const keys = new Set(current.map(({ stream }) => stream.key));
    const parentsOf = ({ draft }: Entry): readonly string[] =>
      draft.forEach
        .flatMap((dimension): readonly unknown[] => [
          dimension,
          ...(Array.isArray(dimension['union']) ? dimension['union'] : []),
        ])
        .flatMap((source) =>
          isJsonObject(source) && typeof source['resource'] === 'string' ? [source['resource']] : [],
        );
    const orphans = current.filter((entry) => parentsOf(entry).some((key) => !keys.has(key)));
    for (const { stream } of orphans)
      refused.set(stream.key, { path: '', reason: 'its parent stream is not converted' });
    const needed = new Set(current.flatMap(parentsOf));
    const next = current.filter(
      (entry) => !orphans.includes(entry) && (!helpers.has(entry.stream.key) || needed.has(entry.stream.key)),
    );
    if (next.length === current.length) return next;
    current = next;
  }
}

interface Dropped {
  /** Keys of params whose rules for values are left out. */
  readonly rules: Set<string>;
  /** Keys of resources whose types are left out. */
  readonly types: Set<string>;
}

/** The resources with issues, by key; all of them where nothing else can be left out. */
function faultyOf(
  issues: readonly Issue[],
  { entries, spec, dropped }: { readonly entries: readonly Entry[]; readonly spec: Part; readonly dropped: Dropped },
): ReadonlyMap<string, string> {
  const faulty = new Map<string, string>();
  const before = dropped.rules.size + dropped.types.size;
  const params = Array.isArray(spec['connectionParams']) ? spec['connectionParams'] : [];
  for (const { path, message } of issues) {
    const [top, index, field] = path.split('.');
    const entry = top === 'resources' ? entries[Number(index)] : undefined;
    if (entry && field === 'validate' && !dropped.types.has(entry.stream.key)) dropped.types.add(entry.stream.key);
    else if (entry) faulty.set(entry.stream.key, `${path.split('.').slice(2).join('.')}: ${message}`.slice(0, 400));
    else if (top === 'connectionParams') dropped.rules.add(asText(params[Number(index)]?.key));
  }
  if (faulty.size > 0 || dropped.rules.size + dropped.types.size > before) return faulty;
  const [issue] = issues;
  return new Map(entries.map(({ stream }) => [stream.key, `${issue?.path}: ${issue?.message}`.slice(0, 400)]));
}

function specOf(entries: readonly Entry[], { config, key, title, docsUrl }: Heading, dropped: Dropped): Part {
  const base = commonBase(entries);
  const auth = commonAuth(entries);
  const resources = entries.map(({ stream, draft }) =>
    resourceOf(draft, {
      key: stream.key,
      name: stream.name,
      auth: JSON.stringify(draft.auth) === JSON.stringify(auth) ? null : draft.auth,
      address: { base },
      types: dropped.types.has(stream.key) ? null : draft.types,
    }),
  );
  const http = base === null ? {} : { baseUrl: base };
  const params = config
    .paramsOf(JSON.stringify([auth, http, resources]))
    .map((param) => (dropped.rules.has(asText(param['key'])) ? withoutRules(param) : param));
  return {
    formatVersion: 1,
    metadata: { key, name: title.slice(0, 200), version: '0.1.0', ...(docsUrl === null ? {} : { docsUrl }) },
    ...(params.length === 0 ? {} : { connectionParams: params }),
    ...(auth['kind'] === 'none' ? {} : { auth }),
    http,
    resources,
  };
}

const rules: ReadonlySet<string> = new Set(['pattern', 'enum', 'default', 'format', 'min', 'max']);

const withoutRules = (param: Part): Part =>
  Object.fromEntries(Object.entries(param).filter(([key]) => !rules.has(key)));

/** The base of most requests; `null` when they lead to several hosts. */
function commonBase(entries: readonly Entry[]): string | null {
  const bases = new Map<string, number>();
  // The response to their poll names the addresses of report files.
  const direct = entries.filter(({ draft }) => draft.job === null);
  for (const { draft } of direct) bases.set(draft.request.base, (bases.get(draft.request.base) ?? 0) + 1);
  const hosts = new Set([...bases.keys()].map(hostOf));
  const [most] = [...bases].toSorted(([, one], [, other]) => other - one);
  return hosts.size > 1 ? null : (most?.[0] ?? null);
}

const hostOf = (base: string): string => /^(?:https?:\/\/)?[^/]*/.exec(base)?.[0] ?? '';

function commonAuth(entries: readonly Entry[]): Part {
  const kinds = new Map<string, { readonly auth: Part; readonly count: number }>();
  for (const { draft } of entries) {
    const id = JSON.stringify(draft.auth);
    kinds.set(id, { auth: draft.auth, count: (kinds.get(id)?.count ?? 0) + 1 });
  }
  const [most] = [...kinds.values()].toSorted((one, other) => other.count - one.count);
  return most?.auth ?? { kind: 'none' };
}

const keyless =
  'has no primary_key: the content of a record is its key, so a changed record becomes another row. Set primaryKey, if it has one.';

function reportOf(
  streams: ReadStreams,
  refused: ReadonlyMap<string, { readonly path: string; readonly reason: string }>,
): readonly ImportReport[] {
  return streams.listed.map(({ name, key, draft, refusal }, index): ImportReport => {
    const late = refused.get(key);
    if (refusal !== null) return { name, status: 'refused', path: refusal.path, reason: refusal.reason };
    if (late !== undefined)
      return { name, status: 'refused', path: late.path === '' ? `streams.${index}` : late.path, reason: late.reason };
    return { name, status: 'converted', path: null, reason: draft?.primaryKey.length === 0 ? keyless : null };
  });
}
