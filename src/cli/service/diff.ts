import { withRetypedColumns } from '../../core/destinations/retyped-columns.ts';
import { hasEffect, planUpgrade, type SpecInUse } from '../../core/spec/connection/upgrade-plan.ts';
import { exitCodes, usageError } from '../command-error.ts';
import { type CommandResult, issueLine } from '../output.ts';
import type { Tools } from '../tools.ts';
import { openService, type ServiceArguments } from './service.ts';
import { type NamedSpec, newestPublished, sameKey, specNamed, specOfVersion } from './spec-versions.ts';

export async function diff(
  tools: Tools,
  first: string,
  second: string | undefined,
  args: ServiceArguments,
): Promise<CommandResult> {
  const [from, to] = await pairOf(tools, first, second, args);
  sameKey(from, to);
  const plan = withRetypedColumns(planUpgrade({ before: inUse(from), after: inUse(to), issues: to.issues }), {
    before: from.spec,
    after: to.spec,
  });
  const changed = plan.resources.filter(hasEffect);
  const isEqual = plan.issues.length === 0 && plan.changed.length === 0 && changed.length === 0;
  return {
    json: { from: from.name, to: to.name, plan },
    lines: [
      `${from.name} → ${to.name}: ${isEqual ? 'nothing that a run would notice differs' : words[plan.class]}`,
      ...plan.issues.map((issue) => `  ${issueLine(issue)}`),
      ...(plan.changed.length > 0 ? [`  changed: ${plan.changed.join(', ')}`] : []),
      ...changed.map(
        ({ resourceKey, class: kind, changed: fields, effect }) =>
          `  ${resourceKey} (${kind}${fields.length > 0 ? `; ${fields.join(', ')}` : ''}): ${effect}`,
      ),
      ...(plan.backfillRecommended
        ? ['  A backfill is recommended: until then the rows are those of the earlier version.']
        : []),
    ],
    exitCode: plan.class === 'breaking' ? exitCodes.wrong : exitCodes.ok,
  };
}

const inUse = ({ spec }: NamedSpec): SpecInUse | null => spec && { spec, params: {} };

const words = {
  compatible: 'compatible',
  resets: 'resets: a run of at least one resource starts over',
  breaking: 'breaking: something stops working',
} as const;

/** One file alone is compared with the newest published version of its key. */
async function pairOf(
  tools: Tools,
  first: string,
  second: string | undefined,
  args: ServiceArguments,
): Promise<readonly [NamedSpec, NamedSpec]> {
  const one = await specNamed(tools, first, args);
  if (second !== undefined) return [one, await specNamed(tools, second, args)];
  if (one.spec === null || first.includes('@')) throw usageError('Name two versions, or one file.');
  const service = await openService(tools, args);
  return [await specOfVersion(service, await newestPublished(service, one.spec.metadata.key)), one];
}
