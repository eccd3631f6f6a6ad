/** The operator's commands for the ring of encryption keys. */

import { countSealed } from '../../db/queries/connections/sealed-values.ts';
import { deleteCanaries } from '../../db/queries/orgs/canary.ts';
import { secretsKeyRing } from '../config/dev-secrets.ts';
import type { KeyRing } from '../config/key-ring.ts';
import { checkKeyRing } from '../control/orgs/key-ring-check.ts';
import { rotateSealedValues, type UnopenedValue } from '../control/orgs/key-rotation.ts';
import { countSealedTexts } from '../control/orgs/text-rotation.ts';
import { createSecretBox } from '../core/crypto/secret-box.ts';
import { createDeps, type Deps } from '../deps.ts';
import { createLog } from '../log.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';
import type { AdminTools, CommandResult } from './command.ts';
import { findPayloadKeys, type KeyedWorkflow, reencryptSchedules, renewEndpointWorkflows } from './payload-keys.ts';

const shownMax = 20;

interface KeyUse {
  readonly id: string;
  /** The first of the ring: it wraps and encrypts new values. */
  readonly current: boolean;
  /** False for a key that is needed but missing. */
  readonly inRing: boolean;
  readonly sealed: Readonly<Record<string, number>>;
  /** Payloads under the key; `null` if Temporal was not reached. */
  readonly workflows: number | null;
  readonly openWorkflows: readonly KeyedWorkflow[];
  readonly schedules: number | null;
  /** Safe to remove if every process has the ring given to this command. */
  readonly removable: boolean;
}

/** `keys status`: the uses of each key. From here on a process starts without those that may be removed. */
export async function showKeys(tools: AdminTools): Promise<CommandResult> {
  await using opened = await openRing(tools);
  const keys = await keyUses(opened);
  const free = keys.filter(({ removable }) => removable).map(({ id }) => id);
  await deleteCanaries(opened.deps.db, free);
  return {
    json: { current: opened.current, keys },
    lines: keys.flatMap(linesOf),
    failed: keys.some(({ inRing }) => !inRing),
  };
}

/**
 * `keys rotate`: wraps every stored value with the first key. Values that fail are reported and left to the next call.
 */
export async function rotateKeys(tools: AdminTools): Promise<CommandResult> {
  await using opened = await openRing(tools);
  const { deps, current: kekId } = opened;
  const { rewrapped, unopened, left } = await rotateSealedValues(deps, {
    kekId,
    progress: (table, count) => tools.progress(`${table}: ${count} wrapped by ${kekId}`),
  });
  const schedules = await orNullWhenAway(() => reencryptSchedules(deps, kekId));
  const renewed = await orNullWhenAway(() => renewEndpointWorkflows(deps, kekId));
  return {
    json: { current: kekId, rewrapped, schedules, renewed, left, unopened },
    lines: [
      ...Object.entries(rewrapped).map(([table, count]) => `${table}  ${count} wrapped by ${kekId}`),
      schedules === null ? `schedules  ${temporalAway}` : `schedules  ${schedules} stored again under ${kekId}`,
      ...(renewed === null ? [] : [`workflows  ${renewed} of endpoints begin anew under ${kekId}`]),
      ...unopened.map(lineOfUnopened),
      left === 0 ? 'Everything is done. `keys status` shows which keys can be removed now' : leftWords(left),
    ],
    failed: left > 0 || schedules === null || renewed === null,
  };
}

const temporalAway =
  'Temporal is unreachable, so the keys that its data need are unknown. Start Temporal, then run this command again';

const leftWords = (left: number): string =>
  `${left} values are still encrypted with other keys: they were in use, or cannot be decrypted. Run this command again`;

const lineOfUnopened = ({ table, orgId, owner, reason }: UnopenedValue): string =>
  `not decrypted: ${table} of ${owner} (${orgId}): ${reason}`;

export interface OpenedRing extends AsyncDisposable {
  readonly deps: Deps;
  readonly ring: KeyRing;
  readonly current: string;
}

/** Throws WrongKeyRingError for a ring that is not the service's: it would report and wrap the wrong values. */
export async function openRing({ db, config }: AdminTools): Promise<OpenedRing> {
  const ring = secretsKeyRing(config);
  const [current] = ring;
  if (!current) throw new Error('SECRETS_KEYS has no key.');
  const log = createLog({ level: 'silent', name: 'admin' });
  // Fails at once if the database is unreachable; the check below would wait for it.
  await countSealed(db);
  await checkKeyRing({ db, secretBox: createSecretBox(ring), log }, new AbortController().signal);
  const deps = createDeps(config, log);
  return { deps, ring, current: current.id, [Symbol.asyncDispose]: () => deps[Symbol.asyncDispose]() };
}

async function keyUses({ deps, ring, current }: OpenedRing): Promise<readonly KeyUse[]> {
  const sealed = [...(await countSealed(deps.db)), ...(await countSealedTexts(deps))];
  const payloads = await orNullWhenAway(() => findPayloadKeys(deps));
  const { workflows, schedules } = payloads ?? {};
  const known = ring.map(({ id }) => id);
  const needed = [...sealed.map(({ kekId }) => kekId), ...(workflows?.keys() ?? []), ...(schedules?.keys() ?? [])];
  return [...new Set([...known, ...needed])].map((id) => {
    const own = sealed.filter(({ kekId }) => kekId === id);
    const open = workflows?.get(id) ?? [];
    const inTemporal = payloads && open.length + (schedules?.get(id) ?? 0);
    return {
      id,
      current: id === current,
      inRing: known.includes(id),
      sealed: Object.fromEntries(own.map(({ table, count }) => [table, count])),
      workflows: payloads && open.length,
      openWorkflows: id === current ? [] : open.slice(0, shownMax),
      schedules: payloads && (schedules?.get(id) ?? 0),
      removable: id !== current && known.includes(id) && own.length === 0 && inTemporal === 0,
    };
  });
}

function linesOf(use: KeyUse): readonly string[] {
  const { id, current, inRing, sealed, workflows, openWorkflows, schedules, removable } = use;
  const needs = removable ? 'may be removed' : inRing ? 'needed' : 'NEEDED, BUT NOT IN SECRETS_KEYS: add it again';
  return [
    `${id}  ${current ? 'current' : needs}`,
    ...Object.entries(sealed).map(([table, count]) => `  ${table}  ${count}`),
    workflows === null ? `  ${temporalAway}` : `  open workflows  ${workflows}, schedules  ${schedules}`,
    ...openWorkflows.map(({ workflowId, freeWhen }) => `    ${workflowId}  until ${freeWhen}`),
  ];
}

async function orNullWhenAway<Value>(ask: () => Promise<Value>): Promise<Value | null> {
  try {
    return await ask();
  } catch (error) {
    if (isTemporalAway(error)) return null;
    throw error;
  }
}
