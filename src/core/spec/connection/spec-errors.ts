import { AppError, type Issue, invalid, schemaIssue } from '../../errors.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';

/** `conflict` in a request, `spec_invalid` in a run. */
type Code = 'conflict' | 'spec_invalid';

/** The overrides make the pinned spec invalid; names the first issue. */
export const invalidSpec = (code: Code, [first]: readonly Issue[]): AppError =>
  new AppError(code, `The effective spec is invalid (${first?.message ?? 'no detail'}); correct the overrides first.`);

/** The stored params and secrets break the rules of the spec; names the first issue, which repeats no value. */
export const invalidValues = (code: Code, [first]: readonly Issue[]): AppError =>
  new AppError(code, `The connection's values do not fit its spec: ${first?.path ?? ''} ${first?.message ?? ''}.`);

export function unknownResource({ resources }: Pick<ConnectorSpec, 'resources'>, path: string): AppError {
  const known = resources.map(({ key }) => key).join(', ');
  return invalid('The resource is not valid.', [
    schemaIssue(path, `The spec has no such resource; its resources are ${known}`),
  ]);
}
