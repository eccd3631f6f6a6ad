import type { JsonObject } from '../../core/json/json-object.ts';
import { checkConnectionValues } from '../../core/spec/connection/params.ts';
import type { ConnectionParam } from '../../core/spec/schema/param-schema.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import { parseAssignment } from '../assignments.ts';
import { type CommandError, usageError } from '../command-error.ts';
import { readSecrets, secretSource, type WantedSecret } from '../secret-input.ts';
import type { Tools } from '../tools.ts';

/** The values of a connection that exists only on the command line. */
export interface LocalValues {
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

export interface TypedValues {
  /** `name=value`. */
  readonly params: readonly string[];
  /** `name=-` or `name=env:NAME`. */
  readonly secrets: readonly string[];
  /** `null` without a token obtained elsewhere. */
  readonly accessToken: WantedSecret['source'] | null;
}

/** Secrets are optional: that of the destination is not used here. Throws usage errors. */
export async function readConnectionValues(
  tools: Tools,
  { connectionParams }: Pick<ConnectorSpec, 'connectionParams'>,
  typed: TypedValues,
): Promise<{ readonly values: LocalValues; readonly accessToken: string | null }> {
  const declared = new Map(connectionParams.map((param) => [param.key, param]));
  const params: Record<string, unknown> = {};
  for (const text of typed.params) {
    const { name, value } = parseAssignment('--param', text);
    const param = paramOf(declared, name, '--param');
    if (param.secret) throw isSecret(name);
    params[name] = valueOf(param, value);
  }
  const wanted = typed.secrets.map((text): WantedSecret => {
    const { name, value } = parseAssignment('--secret', text);
    const param = paramOf(declared, name, '--secret');
    if (!param.secret) throw usageError(`${name} is not secret: use --param ${name}=VALUE.`);
    return { name, source: secretSource(`--secret ${name}`, value) };
  });
  // Before the prompt, so that a secret need not be typed twice.
  checkValues(connectionParams, { params, secrets: {} });
  const token = typed.accessToken === null ? [] : [{ name: tokenName, source: typed.accessToken }];
  const read = await readSecrets(tools, [...wanted, ...token]);
  const secrets = Object.fromEntries(
    wanted.map(({ name }) => [name, valueOf(paramOf(declared, name, '--secret'), read.get(name) ?? '')]),
  );
  return { values: checkValues(connectionParams, { params, secrets }), accessToken: read.get(tokenName) ?? null };
}

const tokenName = 'access token';

/** Throws usage errors naming all invalid values. */
function checkValues(
  connectionParams: ConnectorSpec['connectionParams'],
  given: { readonly params: JsonObject; readonly secrets: JsonObject },
): LocalValues {
  const optional = connectionParams.map((param) => (param.secret ? { ...param, required: false } : param));
  const checked = checkConnectionValues({ connectionParams: optional }, given);
  if (checked.ok) return { params: checked.params, secrets: checked.secrets };
  const lines = checked.issues.map(({ path, message }) => {
    const [, key = ''] = path.split('.');
    return message === 'is required' ? `  ${key} is required: --param ${key}=VALUE` : `  ${key}: ${message}`;
  });
  throw usageError(['The values do not fit the connectionParams of the spec:', ...lines].join('\n'));
}

function paramOf(declared: ReadonlyMap<string, ConnectionParam>, name: string, option: string): ConnectionParam {
  const param = declared.get(name);
  if (param) return param;
  const names = [...declared.values()]
    .filter(({ secret }) => secret === (option === '--secret'))
    .map(({ key }) => key)
    .join(', ');
  throw usageError(`The spec has no ${option.slice(2)} "${name}". It has: ${names === '' ? 'none' : names}.`);
}

const isSecret = (name: string): CommandError =>
  usageError(
    `${name} is secret: use --secret ${name}=- to type or pipe it, or --secret ${name}=env:NAME. ` +
      'If the value that you typed is real, replace it: ps and the history of the shell show it.',
  );

/** Text as it is, JSON for every other type; a list of texts may also be separated by commas. */
function valueOf({ type }: ConnectionParam, text: string): unknown {
  if (type === 'string' || type === 'url') return text;
  if (type === 'string_list' && !text.trimStart().startsWith('[')) return text.split(',').map((item) => item.trim());
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
