import * as v from 'valibot';
import { targetTable } from '../src/core/destinations/columns.ts';
import type { Destination, TargetTable } from '../src/core/destinations/destination.ts';
import { openDestination } from '../src/core/destinations/registry.ts';
import { AppError } from '../src/core/errors.ts';
import { renderTemplate } from '../src/core/expressions/template.ts';
import { DestinationSpec } from '../src/core/spec/destination-schema.ts';
import type { Deps } from '../src/deps.ts';
import type { RunSetup } from './run-setup.ts';

/** The destination of a run with its templates filled in; nothing is connected yet. Throws `spec_invalid`. */
export async function prepareDestination(
  deps: Pick<Deps, 'egress' | 'evaluator' | 'defaultDestination'>,
  { spec, resource, params, secrets }: RunSetup,
  run: { readonly id: string; readonly startedAt: Date },
): Promise<{ readonly destination: Destination; readonly target: TargetTable }> {
  const declared = spec.destination ?? defaultDestination(deps.defaultDestination);
  const roots = { params, secrets, auth: {}, run: { id: run.id, startedAt: run.startedAt.toISOString() } };
  const filled = await renderTemplate(declared, roots, {
    evaluator: deps.evaluator,
    now: run.startedAt,
    missing: 'omit',
  });
  const options = v.parse(v.looseObject({ kind: v.string() }), filled);
  return {
    destination: openDestination(options, { guard: deps.egress }),
    target: targetTable(resource, declared),
  };
}

function defaultDestination(configured: unknown): DestinationSpec {
  const { success, output } = v.safeParse(DestinationSpec, configured);
  if (success) return output;
  throw new AppError('spec_invalid', 'The spec declares no destination and DEFAULT_DESTINATION is absent or malformed');
}
