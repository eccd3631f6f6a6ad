import type { Issue } from '../../core/errors.ts';
import { checkSpec } from '../../core/spec/check/check.ts';
import { runSpecTests } from '../../core/spec-tests/run-spec-tests.ts';
import { exitCodes } from '../command-error.ts';
import { type CommandResult, counted, issueLine } from '../output.ts';
import { readSpecFile } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { openEvaluator } from './evaluator.ts';

export async function validate(tools: Tools, name: string): Promise<CommandResult> {
  const issues = await issuesOf(tools, name);
  const valid = issues.length === 0;
  return {
    json: { valid, issues },
    lines: valid
      ? [`${name} is valid`]
      : [`${name} is not valid: ${counted(issues.length, 'issue')}`, ...issues.map((issue) => `  ${issueLine(issue)}`)],
    exitCode: valid ? exitCodes.ok : exitCodes.wrong,
  };
}

async function issuesOf(tools: Tools, name: string): Promise<readonly Issue[]> {
  const read = await readSpecFile(tools, name);
  if (!read.ok) return read.issues;
  const { document, located } = read.file;
  const checked = checkSpec(document);
  if (!checked.valid) return located(checked.issues);
  if (checked.spec.tests.length === 0) return [];
  await using evaluator = openEvaluator();
  return located(await runSpecTests(checked.spec, { evaluator }));
}
