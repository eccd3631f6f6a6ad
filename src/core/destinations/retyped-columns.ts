/** Columns whose type a new version of a spec changes: a table that has the old type refuses every batch. */

import type { ChangePlan } from '../resources/spec.ts';
import type { ColumnType } from '../spec/schema/column-type.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { hasTables, targetTable } from './target-table.ts';

/** `null` for a spec that is not valid. */
interface ComparedSpecs {
  readonly before: ConnectorSpec | null;
  readonly after: ConnectorSpec | null;
}

/** Marks a resource of the plan as `breaking` where the columns of its table no longer fit. */
export function withRetypedColumns(plan: ChangePlan, { before, after }: ComparedSpecs): ChangePlan {
  if (before === null || after === null) return plan;
  const resources = plan.resources.map((one): ChangePlan['resources'][number] => {
    const names = retypedColumns(before, after, one.resourceKey);
    if (names.length === 0) return one;
    return { ...one, class: 'breaking', effect: `${one.effect} ${effectOf(names)}` };
  });
  const isBroken = resources.some((one) => one.class === 'breaking');
  return { ...plan, resources, class: isBroken ? 'breaking' : plan.class };
}

const effectOf = (columns: readonly string[]): string =>
  `A table that has them as until now refuses every batch: alter ${columns.join(', ')} before the next run, or keep the types with target.columns.`;

function retypedColumns(before: ConnectorSpec, after: ConnectorSpec, resourceKey: string): readonly string[] {
  const [old, next] = [before, after].map((spec) => tableOf(spec, resourceKey));
  if (!old || !next || old.table !== next.table || old.schema !== next.schema) return [];
  const types = new Map(old.columns.map(({ name, type }) => [name, type]));
  return next.columns.flatMap(({ name, type }) => {
    const stored = types.get(name);
    return stored === undefined || keepsValues(stored, type)
      ? []
      : [`"${name}" of ${next.table} from ${wordsOf(stored)} to ${wordsOf(type)}`];
  });
}

function tableOf({ resources, destination }: ConnectorSpec, resourceKey: string) {
  const resource = resources.find(({ key }) => key === resourceKey);
  return resource && (destination === undefined || hasTables(destination)) ? targetTable(resource, destination) : null;
}

/** Whether a column of the stored type takes every value of the wanted one, at every kind of database. */
function keepsValues(stored: ColumnType, wanted: ColumnType): boolean {
  if (stored.kind === 'numeric') {
    return isWhole(wanted) || (wanted.kind === 'numeric' && stored.scale >= wanted.scale);
  }
  return stored.kind === 'json' || keepers[stored.kind].includes(wanted.kind);
}

const isWhole = ({ kind }: ColumnType): boolean => kind === 'integer' || kind === 'bigint';

const numbers = ['integer', 'bigint', 'numeric', 'float'];

const keepers: Readonly<Record<Exclude<ColumnType['kind'], 'numeric' | 'json'>, readonly string[]>> = {
  text: ['text', 'timestamptz', 'date', 'uuid'],
  integer: numbers,
  bigint: numbers,
  float: ['float'],
  boolean: ['boolean'],
  timestamptz: ['timestamptz'],
  date: ['date'],
  uuid: ['uuid'],
};

const wordsOf = (type: ColumnType): string =>
  type.kind === 'numeric' ? `numeric(${type.precision},${type.scale})` : type.kind;
