import { secretsCharsMax } from '../../crypto/secret-limit.ts';
import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { ConnectionParam } from '../schema/param-schema.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { patternBudget } from './param-pattern.ts';
import { type HostIssue, type ParamCheck, paramIssue } from './param-value.ts';

export interface ConnectionValues {
  readonly params: unknown;
  readonly secrets: unknown;
}

export type ConnectionCheck =
  | {
      readonly ok: true;
      readonly params: Readonly<Record<string, unknown>>;
      readonly secrets: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly issues: readonly Issue[] };

interface ConnectionCheckOptions {
  /** The egress guard's check of the host of a `url` param; absent if hosts are not checked. */
  readonly hostIssue?: HostIssue;
}

type Side = 'params' | 'secrets';

/** Issues have code `schema` and the path `params.<key>` or `secrets.<key>`; no message repeats a value. */
export function checkConnectionValues(
  spec: Pick<ConnectorSpec, 'connectionParams'>,
  values: ConnectionValues,
  options: ConnectionCheckOptions = {},
): ConnectionCheck {
  const { params, secrets } = values;
  if (!isJsonObject(params)) return { ok: false, issues: [schemaIssue('params', 'expected an object')] };
  if (!isJsonObject(secrets)) return { ok: false, issues: [schemaIssue('secrets', 'expected an object')] };
  const given = { params, secrets };
  const check = { ...options, budget: patternBudget() };
  const taken = spec.connectionParams.map((param) => takeValue(param, given, check));
  const issues = [...taken.flatMap((value) => value.issues), ...unknownKeys(spec.connectionParams, given)];
  if (issues.length > 0) return { ok: false, issues };
  const accepted = { params: {}, secrets: {} };
  for (const { side, entry } of taken) Object.assign(accepted[side], entry);
  if (JSON.stringify(accepted.secrets).length > secretsCharsMax) {
    const message = `expected secrets of at most ${secretsCharsMax} characters in all`;
    return { ok: false, issues: [schemaIssue('secrets', message)] };
  }
  return { ok: true, ...accepted };
}

interface GivenValues {
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

interface TakenValue {
  readonly side: Side;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly issues: readonly Issue[];
}

const sideOf = (param: ConnectionParam): Side => (param.secret ? 'secrets' : 'params');

function takeValue(param: ConnectionParam, given: GivenValues, check: ParamCheck): TakenValue {
  const side = sideOf(param);
  const { key } = param;
  const value = Object.hasOwn(given[side], key) ? given[side][key] : param.default;
  if (value === undefined) {
    const isElsewhere = Object.hasOwn(given[otherSide(side)], key);
    const isMissing = param.required && !isElsewhere;
    return { side, entry: {}, issues: isMissing ? [schemaIssue(`${side}.${key}`, 'is required')] : [] };
  }
  const message = paramIssue(param, value, check);
  return { side, entry: { [key]: value }, issues: message === null ? [] : [schemaIssue(`${side}.${key}`, message)] };
}

const otherSide = (side: Side): Side => (side === 'params' ? 'secrets' : 'params');

function unknownKeys(declared: readonly ConnectionParam[], given: GivenValues): readonly Issue[] {
  const sides = new Map(declared.map((param) => [param.key, sideOf(param)]));
  return (['params', 'secrets'] as const).flatMap((side) =>
    Object.keys(given[side])
      .filter((key) => sides.get(key) !== side)
      .map((key) => schemaIssue(`${side}.${key}`, strayMessage(sides.get(key)))),
  );
}

function strayMessage(side: Side | undefined): string {
  if (side === 'secrets') return 'this value is secret: send it in `secrets`';
  return side === 'params' ? 'this value is not secret: send it in `params`' : 'the spec declares no such value';
}
