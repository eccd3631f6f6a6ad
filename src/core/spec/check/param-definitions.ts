import * as v from 'valibot';
import { type Issue, schemaIssue } from '../../errors.ts';
import { patternBudget, patternIssue } from '../connection/param-pattern.ts';
import { type ParamCheck, paramIssue } from '../connection/param-value.ts';
import { ConnectionParam } from '../schema/param-schema.ts';
import { valuesAt } from './document-paths.ts';

/** Checks the connection params of a spec: defaults fit, patterns compile, secrets have no default. */
export function checkParamDefinitions(document: unknown): readonly Issue[] {
  const check = { budget: patternBudget() };
  return valuesAt(document, 'connectionParams.*').flatMap(({ path, value }) => {
    const parsed = v.safeParse(ConnectionParam, value);
    return parsed.success ? definitionIssues(path, parsed.output, check) : [];
  });
}

function definitionIssues(path: string, param: ConnectionParam, check: ParamCheck): readonly Issue[] {
  const issues: Issue[] = [];
  const report = (key: string, message: string) => issues.push(schemaIssue(`${path}.${key}`, message));
  const badPattern = param.pattern === undefined ? null : patternIssue(param.pattern, check.budget);
  if (badPattern !== null) report('pattern', badPattern);
  if ((param.minLength ?? 0) > (param.maxLength ?? Infinity)) report('maxLength', 'less than `minLength`');
  if ((param.min ?? -Infinity) > (param.max ?? Infinity)) report('max', 'less than `min`');
  if (param.secret && param.default !== undefined) report('default', 'a secret has no default');
  else if (param.default !== undefined && badPattern === null) {
    const issue = paramIssue(param, param.default, check);
    if (issue !== null) report('default', issue);
  }
  return issues;
}
