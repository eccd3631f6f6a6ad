/**
 * The doctor checks everything this machine's configuration refers to, with a remedy for each fault. It changes
 * nothing, so it may run beside a working service.
 */
import { ConfigError } from '../../config/config.ts';
import { secretsKeyRing } from '../../config/dev-secrets.ts';
import { createDeps } from '../../deps.ts';
import { createLog } from '../../log.ts';
import type { AdminTools, CommandResult } from '../command.ts';
import { explainError } from '../explain-error.ts';
import { checkDatabase } from './check-database.ts';
import { checkEgress } from './check-egress.ts';
import { checkKeys } from './check-keys.ts';
import { checkPublicUrl } from './check-public-url.ts';
import { checkTemporal, checkTemporalClock } from './check-temporal.ts';
import { type Finding, found } from './finding.ts';

export const doctorUsage = [
  '  doctor',
  '      Check the configuration, the database, Temporal, the keys and the way out; say what to do about each fault.',
] as const;

/** Errors of `readConfig` are findings too. */
export async function diagnose(readConfig: () => Promise<AdminTools['config']>): Promise<CommandResult> {
  const findings = await findingsOf(readConfig);
  const failed = findings.some(({ status }) => status === 'fault');
  return {
    json: { healthy: !failed, findings },
    lines: [...findings.flatMap(linesOf), failed ? 'There are faults.' : 'No faults.'],
    failed,
  };
}

async function findingsOf(readConfig: () => Promise<AdminTools['config']>): Promise<readonly Finding[]> {
  let config: AdminTools['config'];
  try {
    config = await readConfig();
    secretsKeyRing(config);
  } catch (error) {
    const details = error instanceof ConfigError ? error.messages : [explainError(error)];
    const remedy = 'Correct the environment; .env.example explains every variable.';
    return details.map((detail) => found('fault', 'configuration', { detail, remedy }));
  }
  await using deps = createDeps(config, createLog({ level: 'silent', name: 'doctor' }));
  const [database, temporal, egress] = await Promise.all([
    checkDatabase(deps),
    checkTemporal(deps),
    checkEgress(deps, config),
  ]);
  const isMigrated = database.some(({ check, status }) => check === 'database.migrations' && status === 'ok');
  const hasNamespace = temporal.some(({ check, status }) => check === 'temporal.namespace' && status === 'ok');
  return [
    ...database,
    ...(isMigrated ? await checkKeys(deps, config) : []),
    ...temporal,
    ...(isMigrated && hasNamespace ? [await checkTemporalClock(deps)] : []),
    ...egress,
    checkPublicUrl(config),
  ];
}

const marks = { ok: 'ok     ', warning: 'WARNING', fault: 'FAULT  ', unknown: 'unknown' } as const;

const linesOf = ({ check, status, detail, remedy }: Finding): readonly string[] => [
  `${marks[status]}  ${check}: ${detail}`,
  ...(remedy === null ? [] : [`         ${remedy}`]),
];
