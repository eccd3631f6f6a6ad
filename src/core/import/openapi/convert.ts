import type { JsonObject } from '../../json/json-object.ts';
import type { ImportReport } from '../import-result.ts';
import { Refusal } from '../refusal.ts';
import type { OpenapiDocument } from './document.ts';
import { findList } from './list-response.ts';
import { resourceKey, unique } from './names.ts';
import { type Operation, operationsOf } from './operations.ts';
import { createParams } from './params.ts';
import { anonymous, type Parent } from './partitions.ts';
import { createRecords } from './record.ts';
import { type ConvertedResource, convertOperation, type ListOperation } from './resource.ts';
import { type Credentials, createSecurity } from './security.ts';
import { createServers, type Server } from './servers.ts';
import { createShapes } from './shape.ts';

export interface Conversion {
  readonly server: Server;
  readonly auth: JsonObject;
  /** In document order. */
  readonly resources: readonly JsonObject[];
  readonly connectionParams: readonly JsonObject[];
  /** Notes on the document as a whole, one sentence each. */
  readonly notes: readonly string[];
  report(): readonly ImportReport[];
  /** Leaves out resources by index, with the reason, and those that are partitions of their records. */
  refuse(reasons: ReadonlyMap<number, string>): void;
}

/** As in a spec. */
const resourcesMax = 200;
/** Characters of all resources as JSON, so that the draft can be sent back: a request has 1 MiB and 100,000 values. */
const charactersMax = 500_000;
const paramsMax = 200;

/** Throws validation when the document takes too much work. */
export function convert(document: OpenapiDocument): Conversion {
  const read = createShapes(document);
  const readRecord = createRecords(read);
  const params = createParams();
  const outcomes = new Map<Operation, ConvertedResource | Refusal>();
  const attempt = <Value>(operation: Operation, work: () => Value): Value | null => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      outcomes.set(operation, error);
      return null;
    }
  };

  const operations = operationsOf(document);
  const lists = operations.flatMap((operation) => {
    const list = attempt(operation, () => findList(operation, { read, document }));
    return list === null ? [] : [{ operation, list }];
  });
  const readServer = createServers(document, params);
  const server = mostCommon(
    lists.flatMap(({ operation }) => attempt(operation, () => readServer(operation)) ?? []),
    ({ baseUrl }) => baseUrl,
  ) ?? { baseUrl: '', params: [] };
  const security = createSecurity(operations, { document, params, baseUrl: server.baseUrl });
  const credentialsOf = (operation: Operation) => attempt(operation, () => security.of(operation)) ?? [];
  const common = mostCommon(
    lists.flatMap(({ operation }) => credentialsOf(operation)),
    ({ id }) => id,
  );

  const parents = new Map<string, Parent>();
  const sizes = { characters: 0, resources: 0, params: new Set([...server.params, ...(common?.params ?? [])]) };
  for (const { operation, list, key } of named(lists)) {
    if (outcomes.has(operation)) continue;
    attempt(operation, () => {
      if (sizes.resources >= resourcesMax)
        throw new Refusal(`a spec has at most ${resourcesMax} resources: split the document`);
      if (readServer(operation).baseUrl !== server.baseUrl)
        throw new Refusal('it has another server than the other lists: import it by itself');
      const credentials = ownCredentials(security.of(operation), common);
      const converted = convertOperation(
        { operation, list, key },
        { document, params, read, readRecord, parents, credentials },
      );
      takeRoom(sizes, converted);
      outcomes.set(operation, converted);
      parents.set(anonymous(operation.path), converted.asParent);
    });
  }
  return conversionOf({ operations, outcomes, params, server, common, isGuessed: security.isGuessed });
}

/** Sorts shorter paths first, so a parent comes before its children and has the shorter name. */
function named(lists: readonly Omit<ListOperation, 'key'>[]): readonly ListOperation[] {
  const taken = new Map<string, number>();
  const depth = ({ operation: { path } }: Omit<ListOperation, 'key'>): number => path.split('/').length;
  return lists
    .toSorted((one, other) => depth(one) - depth(other))
    .map((list) => ({ ...list, key: unique(resourceKey(list.operation.path), taken) }));
}

/** `null` when the alternatives include the credentials of the spec. */
function ownCredentials(alternatives: readonly Credentials[], common: Credentials | undefined): Credentials | null {
  const [first] = alternatives;
  return first === undefined || alternatives.some(({ id }) => id === common?.id) ? null : first;
}

interface Sizes {
  characters: number;
  resources: number;
  readonly params: Set<string>;
}

function takeRoom(sizes: Sizes, { resource, params }: ConvertedResource): void {
  const characters = JSON.stringify(resource).length;
  if (sizes.characters + characters > charactersMax)
    throw new Refusal('the spec would be too long: split the document');
  const added = new Set(params.filter((key) => !sizes.params.has(key)));
  if (sizes.params.size + added.size > paramsMax)
    throw new Refusal(`a spec has at most ${paramsMax} params: split the document`);
  sizes.characters += characters;
  sizes.resources += 1;
  for (const key of added) sizes.params.add(key);
}

interface ConversionParts {
  readonly operations: readonly Operation[];
  readonly outcomes: Map<Operation, ConvertedResource | Refusal>;
  readonly params: ReturnType<typeof createParams>;
  readonly server: Server;
  readonly common: Credentials | undefined;
  readonly isGuessed: boolean;
}

function conversionOf({ operations, outcomes, params, server, common, isGuessed }: ConversionParts): Conversion {
  const kept = () =>
    operations.flatMap((operation) => {
      const outcome = outcomes.get(operation);
      return outcome === undefined || outcome instanceof Refusal ? [] : [{ operation, ...outcome }];
    });
  return {
    server,
    auth: common?.auth ?? { kind: 'none' },
    notes: isGuessed
      ? ['The document does not say which requests need credentials: its first usable scheme is used for all.']
      : [],
    get resources() {
      return kept().map(({ resource }) => resource);
    },
    get connectionParams() {
      const used = [...server.params, ...(common?.params ?? []), ...kept().flatMap((one) => one.params)];
      return params.definitionsOf(new Set(used));
    },
    report: () =>
      operations.flatMap((operation) => {
        const outcome = outcomes.get(operation);
        return outcome === undefined ? [] : [reportOf(operation, outcome)];
      }),
    refuse(reasons) {
      const before = kept();
      for (const [index, reason] of reasons) {
        const operation = before[index]?.operation;
        if (operation !== undefined) outcomes.set(operation, new Refusal(cutReason(reason)));
      }
      orphaned(kept()).forEach((operation) =>
        outcomes.set(operation, new Refusal('the list that it is read for is refused')),
      );
    },
  };
}

const cutReason = (reason: string): string => `the spec check refuses it: ${reason.slice(0, 300)}`;

/** Operations without their parents, and the descendants of these. */
function orphaned(kept: readonly (ConvertedResource & { readonly operation: Operation })[]): readonly Operation[] {
  const orphans = kept.filter(
    ({ parentKey }) => parentKey !== null && !kept.some(({ asParent }) => asParent.key === parentKey),
  );
  if (orphans.length === 0) return [];
  return [...orphans.map(({ operation }) => operation), ...orphaned(kept.filter((one) => !orphans.includes(one)))];
}

function reportOf(operation: Operation, outcome: ConvertedResource | Refusal): ImportReport {
  const { name, at } = operation;
  return outcome instanceof Refusal
    ? { name, status: 'refused', path: outcome.path ?? at, reason: outcome.reason }
    : { name, status: 'converted', path: null, reason: null };
}

/** The most common value, the first among equals; `undefined` without values. */
function mostCommon<Value>(values: readonly Value[], idOf: (value: Value) => string): Value | undefined {
  const counts = new Map<string, { readonly value: Value; readonly count: number }>();
  for (const value of values) {
    const id = idOf(value);
    counts.set(id, { value: counts.get(id)?.value ?? value, count: (counts.get(id)?.count ?? 0) + 1 });
  }
  return [...counts.values()].toSorted((one, other) => other.count - one.count)[0]?.value;
}
